"""Adaptive point-wise quality: general and task-specific dimensions, each by weighted criteria."""
