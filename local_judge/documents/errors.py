"""Errors of reading reports.

    DocumentError
    └── UnreadableReport   the bytes or text given are no report: empty, binary, not UTF-8, too large

Invariant: every message is one line, fit to be shown to a user. A report that is merely poor (no
citations, a list of references only, an unknown language) is no error: it parses, and `Document.notes`
says what it lacks.
"""

from __future__ import annotations


class DocumentError(Exception):
    """Root of all errors of this package."""


class UnreadableReport(DocumentError):
    """Nothing that could be parsed as a report."""
