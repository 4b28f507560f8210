"""Fixtures of tests on tasks."""

from .plan_pages import dated_web

__all__ = ["dated_web"]
