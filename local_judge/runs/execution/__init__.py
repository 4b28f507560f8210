"""Execution of runs: judges, jobs, imports."""
