"""What of a report is citation: marks, links, addresses, lists of references. `documents.clean` takes it out."""
