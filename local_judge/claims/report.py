"""The report as every protocol shows it to a judge.

Invariant: all prompts about one report open with the same bytes, whoever asks, so that a server computes them once.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from local_judge.documents.model import Document
from local_judge.judge.layout import fence


class SharedReport(NamedTuple):
    """The block that opens a prompt about a report, and the name of that prefix."""

    shared: str
    prefix_key: str


def shared_report(document: Document, shown: Collection[int] | None = None) -> SharedReport:
    """The labelled report, fenced. `shown`: indexes of the blocks whose sentences are shown; None for all."""
    part = "" if shown is None else f":{min(shown)}-{max(shown)}"
    return SharedReport(fence(document.labelled(shown), "Report:"), f"report:{document.id}{part}")
