"""Extraction of text, language, date and passages from the bytes of a page."""
