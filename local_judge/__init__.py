"""Scores long, cited research reports with open-weight judges against a frozen copy of the web."""

__version__ = "0.1.0"
