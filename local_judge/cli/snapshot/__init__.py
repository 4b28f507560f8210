"""`local-judge snapshot`: the frozen web."""
