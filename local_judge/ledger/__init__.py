"""Requests to judges, the store of their replies, and calibrations."""
