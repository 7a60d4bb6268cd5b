"""Turns verdicts into what people read."""
