"""Reasoning quality: deductions from what a report reasons on each question of the task's plan."""
