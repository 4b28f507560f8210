"""One thing in a sentence changed so that its page no longer bears it out."""
