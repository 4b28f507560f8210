"""Sample: a short report with planted alterations, its pages, and the results of a judge."""
