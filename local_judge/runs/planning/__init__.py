"""Inputs and settings of runs."""
