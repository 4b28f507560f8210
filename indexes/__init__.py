"""The frozen web: pages imported once, kept with digests, searched offline.

Knows nothing of judges, reports or scores, and can be used alone.
"""
