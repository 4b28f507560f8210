"""Stored results for people: terminal tables and progress."""
