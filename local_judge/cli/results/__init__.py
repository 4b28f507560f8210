"""`local-judge results`: rankings, agreement, statistics and profiles of finished runs."""
