"""Alterations of one detail in a sentence, after which its page no longer supports it."""
