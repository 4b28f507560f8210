"""Analysis depth: a report compared with another on the same task, in both orders."""
