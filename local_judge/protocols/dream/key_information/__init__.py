"""Key-information coverage: the items of the task's plan that a report says."""
