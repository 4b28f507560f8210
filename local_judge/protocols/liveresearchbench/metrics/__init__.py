"""Metrics of LiveResearchBench: every metric defined in a module of this package is part of the protocol."""
