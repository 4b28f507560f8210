"""Expert rubric: 101 items that a judge, or a count, scores on the report and its task."""
