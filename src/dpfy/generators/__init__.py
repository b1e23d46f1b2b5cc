"""Generator families: a protocol, a registry, and one folder for each family."""
