"""Local page on which people label the claims of a run."""
