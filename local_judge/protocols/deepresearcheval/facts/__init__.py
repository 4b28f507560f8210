"""Active fact-checking: statements of a report checked against a search."""
