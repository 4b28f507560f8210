"""Perturbed reports: a report with one flaw added."""
