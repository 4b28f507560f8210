"""`local-judge snapshot`: frozen copies of web pages."""
