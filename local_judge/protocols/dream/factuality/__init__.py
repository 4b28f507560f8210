"""Factuality: a report's most salient claims against the results of a search, whatever the report cites."""
