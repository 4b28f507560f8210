"""Agent over a snapshot: a bounded loop over typed tools, for protocols that let the judge search."""
