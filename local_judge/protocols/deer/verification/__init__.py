"""Information verification: Integrity and Sufficiency from the verdicts on every claim."""
