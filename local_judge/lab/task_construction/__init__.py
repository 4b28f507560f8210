"""Construction of tasks: generation, filters for the need of research, removal of duplicates, ranking by people."""
