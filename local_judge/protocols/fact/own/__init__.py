"""FACT's own flow: extract statements with their citations, take repeats out, judge support page by page."""
