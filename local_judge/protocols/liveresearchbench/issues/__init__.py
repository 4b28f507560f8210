"""Factual and logical consistency, and citation association: issues found, checked, counted."""
