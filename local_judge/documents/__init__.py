"""A report's text -> `Document`: blocks, sentences (Lx.Sy), citations, references, language."""
