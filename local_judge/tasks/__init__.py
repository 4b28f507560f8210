"""Research tasks: what a report answers, and what an expert expects of the answer."""
