"""Presentation and organisation: ten checks."""
