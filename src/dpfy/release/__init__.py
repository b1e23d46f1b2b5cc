"""What may leave, and what is said about it: statement and gate."""
