"""Claims and reports of which it is known what is wrong with them, made from pages and reports by code."""
