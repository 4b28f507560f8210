"""Factuality: a report's most salient claims against what a search finds, whatever the report cites."""
