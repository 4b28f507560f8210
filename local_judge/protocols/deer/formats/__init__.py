"""The published project's files: its folders read, its result files read and written."""
