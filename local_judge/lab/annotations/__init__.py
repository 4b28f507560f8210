"""Annotated reports, and the measures of a judge against them."""
