"""Citations of a report: marks, links, addresses and lists of references, which `documents.clean` removes."""
