"""A run as one web page that opens from disk, or as a folder with the same page."""
