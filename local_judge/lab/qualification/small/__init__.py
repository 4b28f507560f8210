"""A small set of reports with their tasks and pages, for who has none of his own at hand."""
