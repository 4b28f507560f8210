"""Citation integrity: how many checkable claims carry a citation, and how many of those it supports."""
