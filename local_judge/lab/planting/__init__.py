"""Claims and reports with known errors, made by code from pages and reports."""
