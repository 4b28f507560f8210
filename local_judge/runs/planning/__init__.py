"""What a run evaluates and by which settings."""
