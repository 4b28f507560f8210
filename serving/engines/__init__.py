"""Engines: ways to ask a model, each imported where it is used: none needs another's libraries."""
