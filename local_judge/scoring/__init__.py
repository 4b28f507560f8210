"""Scores with bounds and coverage, and the operations that carry both along."""
