"""`local-judge tasks`: research tasks, what is expected of their reports, and what they are about."""
