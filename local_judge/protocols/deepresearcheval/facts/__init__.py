"""Active fact-checking: what a report states, checked against what a search finds."""
