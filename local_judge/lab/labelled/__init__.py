"""Claims whose truth is known: one model, its readers, and the answers of judges."""
