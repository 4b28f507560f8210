"""Engines: ways to ask a model. Each is imported where it is used, so that none needs another's dependencies."""
