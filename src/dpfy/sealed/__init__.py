"""The sealed generator: one file, digests, and the way from it to rows."""
