"""Perturbed reports of reports: the same report with one thing wrong."""
