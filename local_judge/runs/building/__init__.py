"""Builds of tasks: their directory, and what the commands on it do."""
