"""Generators for tables."""
