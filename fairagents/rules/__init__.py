"""Social-choice rules."""
