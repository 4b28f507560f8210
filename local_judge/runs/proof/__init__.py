"""Bundles and audits of finished runs."""
