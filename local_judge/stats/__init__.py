"""Statistics of scores, of people and of judges: pure functions of numbers."""
