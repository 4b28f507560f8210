"""Construction of tasks: generated, filtered for the need of research, freed of duplicates, ranked by people."""
