"""Qualification of judges: ask about planted items, measure, and compare with thresholds."""
