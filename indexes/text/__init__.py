"""From the bytes of a page to its text, language, date and passages."""
