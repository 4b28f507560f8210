"""Runs: inputs, order of evaluation, and the directory that keeps the results."""
