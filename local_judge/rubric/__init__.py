"""Items of a rubric, and the answers of a judge to them about a report."""
