"""Terminal tables of a benchmark of verifiers: each set with all verifiers side by side, and published ones.

Invariant: a published figure has its source and stands apart, since it is about other claims of the same set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table

from local_judge.lab.verifier_benchmark.evidence import EvidenceFigures
from local_judge.lab.verifier_benchmark.measure import Cost, SetFigures
from local_judge.reporting.summary import estimate_text
from local_judge.rows import read_models
from local_judge.stats.calibration.assess import Assessment
from local_judge.terminal import NONE, count, plain_table, safe
from serving.types import Frozen


class Published(Frozen):
    """Figures of another verifier on claims of a set."""

    verifier: str
    set: str
    """Name of the set, in lower case."""
    balanced_accuracy: float
    auc: float | None = None
    items: str = "LLM-AggreFact's selection"
    """Claims of the set that the figures are about: none of them are those of our tables."""
    source: str


@cache
def published() -> tuple[Published, ...]:
    """Return the packaged figures of other verifiers."""
    path = Path(str(files("local_judge.lab.verifier_benchmark"))) / "published.jsonl"
    return tuple(row for _, row in read_models(path, Published))


_OF_VERDICTS: Sequence[tuple[str, Callable[[Assessment], str]]] = (
    ("AUC", lambda found: estimate_text(found.auc)),
    ("balanced accuracy", lambda found: estimate_text(found.balanced_accuracy)),
    ("F1 of supported", lambda found: estimate_text(found.f1)),
    ("supported claims called unsupported", lambda found: estimate_text(found.called_wrong)),
    ("unsupported claims caught", lambda found: estimate_text(found.caught)),
)
_OF_FITS: Sequence[tuple[str, Callable[[Assessment], str]]] = (
    ("balanced accuracy", lambda found: estimate_text(found.balanced_accuracy)),
    ("supported called unsupported", lambda found: estimate_text(found.called_wrong)),
    ("ECE", lambda found: estimate_text(found.ece)),
)
_OF_COST: Sequence[tuple[str, Callable[[Cost], float | None]]] = (
    ("calls", lambda cost: cost.calls),
    ("prompt tokens", lambda cost: cost.prompt_tokens),
    ("computed prompt tokens", lambda cost: cost.computed_tokens),
    ("generated tokens", lambda cost: cost.generated_tokens),
    ("seconds", lambda cost: cost.seconds),
)


def benchmark_tables(
    found: Sequence[SetFigures], evidence: Sequence[EvidenceFigures], details: bool = False
) -> RenderableType:
    """Return one table for each set, with the verifiers as columns.

    Args:
        found: figures of all verifiers and sets.
        evidence: recall of the verifiers' evidence.
        details: also return figures by length and language, and the labels given.
    """
    return Group(*_tables(found, evidence, details))


def _tables(
    found: Sequence[SetFigures], evidence: Sequence[EvidenceFigures], details: bool
) -> Iterator[RenderableType]:
    for name in dict.fromkeys(one.set for one in found):
        own = [one for one in found if one.set == name]
        yield _set_table(name, own)
        others = [one for one in published() if one.set == name.lower()]
        if others:
            yield _published(name, others)
        shown = [one for one in evidence if one.set == name]
        if shown:
            yield _evidence(name, shown)
        if details:
            for one in own:
                yield from _details(one)


def _set_table(name: str, own: Sequence[SetFigures]) -> Table:
    title = f"{safe(name)}: {count(own[0].n, 'claim')}; positive: supported"
    table = plain_table(title, [""], [safe(one.verifier) for one in own])
    for label, cell in _OF_VERDICTS:
        table.add_row(label, *(NONE if one.figures is None else cell(one.figures) for one in own))
    raw = [one.figures if one.probabilities else None for one in own]
    if any(raw):
        table.add_row("ECE", *(NONE if one is None else estimate_text(one.ece) for one in raw))
    if any(one.three_way_f1 is not None for one in own):
        table.add_row(
            "macro F1 of three labels",
            *(NONE if one.three_way_f1 is None else estimate_text(one.three_way_f1) for one in own),
        )
    for kind, fit in (("fitted to this set", "fitted"), ("fitted to the others", "transferred")):
        fits: list[Assessment | None] = [getattr(one, fit) for one in own]
        for label, cell in _OF_FITS if any(fits) else ():
            table.add_row(f"{label}, {kind}", *(NONE if one is None else cell(one) for one in fits))
    if any(one.quotations for one in own):
        cells = (NONE if one.quotations is None else f"{one.quotations.value:.3f}" for one in own)
        table.add_row("quotations from supporting sentences", *cells)
    for label, figure in _OF_COST:
        values = [None if one.cost is None else figure(one.cost) for one in own]
        if any(value is not None for value in values):
            cells = (NONE if value is None else f"{value:,.1f}" for value in values)
            table.add_row(f"{label} per claim", *cells)
    for label in ("failed", "unread"):
        if any(getattr(one, label) for one in own):
            table.add_row(f"claims {label}", *(str(getattr(one, label)) for one in own))
    return table


def _evidence(name: str, shown: Sequence[EvidenceFigures]) -> Table:
    title = f"{safe(name)}: sentences that people say prove a claim, in the evidence for {count(shown[0].n, 'claim')}"
    table = plain_table(
        title, ["verifier"], ["sentence recall", "whole sets", "tokens", "quotation", "nearest sentences"]
    )
    for one in shown:
        table.add_row(
            safe(one.verifier),
            f"{one.sentence_recall:.3f}",
            f"{one.whole_sets.value:.3f}",
            f"{one.tokens:,.0f}",
            *(NONE if found.value is None else f"{found.value:.3f}" for found in (one.first, one.nearest)),
        )
    return table


def _published(name: str, others: Sequence[Published]) -> Table:
    title = f"{safe(name)}: published figures, on other claims of the set"
    table = plain_table(title, ["verifier"], ["AUC", "balanced accuracy"])
    table.add_column("claims")
    table.add_column("source")
    for one in sorted(others, key=lambda one: -one.balanced_accuracy):
        auc = NONE if one.auc is None else f"{one.auc:.2f}"
        table.add_row(one.verifier, auc, f"{one.balanced_accuracy:.3f}", one.items, one.source)
    return table


def _details(one: SetFigures) -> Iterator[Table]:
    where = f"{safe(one.set)}, {safe(one.verifier)}"
    if one.groups:
        heads = ["claims", "called supported", "AUC", "balanced accuracy"]
        table = plain_table(f"{where}: by label, length and language", [""], heads)
        for group in one.groups:
            cells = (NONE, NONE)
            if group.figures is not None:
                cells = (estimate_text(group.figures.auc), estimate_text(group.figures.balanced_accuracy))
            called = estimate_text(group.called_supported)
            table.add_row(f"{group.by}: {safe(group.group)}", str(group.n), called, *cells)
        yield table
    if one.confusion:
        given = sorted({label for row in one.confusion.values() for label in row})
        table = plain_table(f"{where}: labels of people by line, of the judge by column", [""], given)
        for gold, row in one.confusion.items():
            table.add_row(gold, *(str(row.get(label, "")) for label in given))
        yield table


def benchmark_notes(found: Sequence[SetFigures]) -> Iterator[str]:
    """Yield why figures are missing."""
    for one in found:
        where = f"{one.set}, {one.verifier}"
        if one.why_not_fitted:
            yield f"{where}: nothing fitted to this set: {one.why_not_fitted}"
        if one.why_not_transferred:
            yield f"{where}: nothing fitted to the other sets: {one.why_not_transferred}"
