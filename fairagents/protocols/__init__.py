"""Protocols: who is asked when, and when to stop."""
