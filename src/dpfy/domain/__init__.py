"""Domains: the public cells of each column, how they are discovered, and the way to codes and back."""
