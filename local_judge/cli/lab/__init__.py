"""`local-judge lab`: experiments that examine judges and protocols."""
