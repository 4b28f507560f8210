"""Numbers of finished runs, for tables and comparisons."""
