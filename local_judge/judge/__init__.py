"""Asking an open-weight model: prompts in, validated answers or failures out, every reply kept."""
