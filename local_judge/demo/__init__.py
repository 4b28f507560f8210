"""The sample: a short report with planted alterations, its pages, and what a judge made of them."""
