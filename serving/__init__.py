"""Running an open-weight model: presets, weights, servers, and engines that can be asked.

Knows nothing of reports, claims or scores, and can be used alone.
"""
