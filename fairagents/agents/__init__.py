"""Policies: what turns a brief into a vote."""
