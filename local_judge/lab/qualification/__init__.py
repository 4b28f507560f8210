"""What a judge is worth: asked about planted things, measured, and held against thresholds."""
