"""Expert rubric: 101 items that a judge scores on the report and its task."""
