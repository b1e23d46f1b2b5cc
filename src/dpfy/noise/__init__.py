"""Cryptographic randomness and the noise drawn from it."""
