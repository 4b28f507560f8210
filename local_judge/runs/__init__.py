"""What to evaluate, in what order, and where it is kept."""
