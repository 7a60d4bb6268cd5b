"""Evaluators of individual and collective outcomes."""
