"""The verifier measured against people's annotations: the annotated reports, and what is counted on them."""
