"""An agent that reads a snapshot: a bounded loop over typed tools, for protocols that let the evaluator search."""
