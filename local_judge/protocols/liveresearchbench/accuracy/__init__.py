"""Citation accuracy: a rubric tree over the cited pages."""
