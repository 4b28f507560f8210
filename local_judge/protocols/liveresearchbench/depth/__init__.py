"""Analysis depth: a report and another on the same task compared, in both orders."""
