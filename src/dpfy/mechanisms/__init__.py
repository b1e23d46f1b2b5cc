"""Mechanisms: each stands next to the event that accounts for it."""
