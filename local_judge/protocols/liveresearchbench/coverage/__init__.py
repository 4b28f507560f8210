"""Coverage: the task's checklist, item by item."""
