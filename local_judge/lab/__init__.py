"""Tools that examine judges: qualification, planted claims, annotated reports, experiments, and new tasks.

Invariant: nothing on the path of `run`, `show`, `export` and `snapshot` imports this package.
"""
