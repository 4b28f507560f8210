"""Terminal tables of a benchmark of verifiers: each set with all verifiers side by side, and published ones.

Invariant: a published figure has its source and stands apart, since it is about other claims of the same set, or about
a benchmark's whole selection of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table

from local_judge.base.errors import plain
from local_judge.base.model import Frozen
from local_judge.base.output import NONE, count
from local_judge.base.rows import read_models
from local_judge.lab.labelled.load import AGGREFACT
from local_judge.lab.tables import add_measures, figure
from local_judge.lab.verifier_benchmark.answers import OVERLAP, Cost
from local_judge.lab.verifier_benchmark.evidence import EvidenceFigures
from local_judge.lab.verifier_benchmark.measure import ComparedVerifiers, SetFigures
from local_judge.reporting.summary import estimate_text
from local_judge.stats.calibration.assess import Assessment
from local_judge.terminal import plain_table, safe


class Published(Frozen):
    """Figures of another verifier on claims of a set."""

    verifier: str
    set: str
    """Name of the set as `_set_of` returns it."""
    balanced_accuracy: float
    auc: float | None = None
    items: str = f"{AGGREFACT}'s selection"
    """Claims of the set that the figures are about."""
    source: str


@cache
def published() -> tuple[Published, ...]:
    """Return the packaged figures of other verifiers."""
    path = Path(str(files("local_judge.lab.verifier_benchmark"))) / "published.jsonl"
    return tuple(row for _, row in read_models(path, Published))


_ALIASES = {"factcheck-gpt": "factcheck"}
"""Names of sets in LLM-AggreFact that differ from ours in more than capitals."""


_SELECTED = {"wice": 358, "expertqa": 3702, "factcheck": 1566}
"""Number of claims of each set in the test split of LLM-AggreFact (Tang et al., 2024)."""


def _set_of(name: str) -> str:
    """Return the name of a set in the published figures."""
    return _ALIASES.get(name.lower(), name.lower())


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
_OF_COST: Sequence[tuple[str, Callable[[Cost], str]]] = (
    ("calls per claim", lambda cost: figure(cost.calls, ",.1f")),
    ("prompt tokens per claim", lambda cost: figure(cost.prompt_tokens, ",.1f")),
    ("computed prompt tokens per claim", lambda cost: figure(cost.computed_tokens, ",.1f")),
    ("generated tokens per claim", lambda cost: figure(cost.generated_tokens, ",.1f")),
)


def benchmark_tables(
    found: Sequence[SetFigures],
    evidence: Sequence[EvidenceFigures],
    compared: Sequence[ComparedVerifiers] = (),
    details: bool = False,
) -> RenderableType:
    """Return one table for each set, with the verifiers as columns.

    Args:
        found: figures of all verifiers and sets.
        evidence: recall of the verifiers' evidence.
        compared: each two verifiers on each set.
        details: also return figures by label, length, words in the evidence and language, and the labels given.
    """
    return Group(*_tables(found, evidence, compared, details))


def _tables(
    found: Sequence[SetFigures],
    evidence: Sequence[EvidenceFigures],
    compared: Sequence[ComparedVerifiers],
    details: bool,
) -> Iterator[RenderableType]:
    for name in dict.fromkeys(one.set for one in found):
        own = [one for one in found if one.set == name]
        yield _set_table(name, own)
        pairs = [one for one in compared if one.set == name]
        if pairs:
            yield _compared(name, pairs)
        others = [one for one in published() if one.set == _set_of(name)]
        about = f"{safe(name)}: published figures{', partial as unsupported' if own[0].left_out else ''}, on"
        same = [one for one in others if own[0].benchmark and one.items.startswith(own[0].benchmark)]
        if same:
            yield _published(f"{about} {_selection(own[0])}", same)
        if len(same) < len(others):
            rest = [one for one in others if one not in same]
            yield _published(f"{about} other claims of the set", rest)
        shown = [one for one in evidence if one.set == name]
        if shown:
            yield _evidence(name, shown)
        if details:
            for one in own:
                yield from _details(one)


def _selection(one: SetFigures) -> str:
    """Say which claims the benchmark's published figures are about, and how many rows in its form are measured."""
    return (
        f"the {_SELECTED[_set_of(one.set)]:,} claims of the benchmark's test split ({one.n:,} measured here)"
    )


def _set_table(name: str, own: Sequence[SetFigures]) -> Table:
    title = f"{safe(name)}: {counted(own[0])}; positive: supported"
    table = plain_table(title, [""], [safe(one.verifier) for one in own])
    for label, cell in _OF_VERDICTS:
        table.add_row(label, *(NONE if one.figures is None else cell(one.figures) for one in own))
    raw = [one.figures if one.probabilities else None for one in own]
    add_measures(table, [("ECE", lambda found: estimate_text(found.ece))], raw)
    add_measures(table, [("macro F1 of three labels", estimate_text)], [one.three_way_f1 for one in own])
    for kind, fits in (
        ("fitted to this set", [one.fitted for one in own]),
        ("fitted to the others", [one.transferred for one in own]),
    ):
        add_measures(table, [(f"{label}, {kind}", cell) for label, cell in _OF_FITS], fits)
    quotations = [one.quotations and one.quotations.value for one in own]
    add_measures(table, [("quotations from supporting sentences", figure)], quotations)
    costs = [one.cost for one in own]
    known = [row for row in _OF_COST if any(cost is not None and row[1](cost) != NONE for cost in costs)]
    add_measures(table, known, costs)
    if any(one.failed for one in own):
        table.add_row("claims failed", *(str(one.failed) for one in own))
    return table


def counted(one: SetFigures) -> str:
    """Return the number of claims behind the figures of a set, and of those that are in none."""
    rest = {"partial left out": one.left_out, "failed": one.failed, "unread": one.unread}
    n = count(one.n - sum(rest.values()), "claim")
    return ", ".join([n, *(f"{number:,} {what}" for what, number in rest.items() if number)])


def _compared(name: str, pairs: Sequence[ComparedVerifiers]) -> Table:
    table = plain_table(
        f"{safe(name)}: verifiers on the claims that both answered; differences are second - first",
        ["first", "second"],
        ["claims", "right", "only first right", "only second right", "balanced accuracy"],
    )
    for one in pairs:
        found = one.found
        table.add_row(
            *map(safe, one.verifiers),
            str(found.n),
            " and ".join(map(str, found.right)),
            *map(str, found.only),
            estimate_text(found.balanced_difference, sign="+"),
        )
    return table


def _evidence(name: str, shown: Sequence[EvidenceFigures]) -> Table:
    title = f"{safe(name)}: sentences that people say prove a claim, in the evidence for {count(shown[0].n, 'claim')}"
    table = plain_table(
        title, ["verifier"], ["sentence recall", "whole sets", "tokens", "nearest sentence", "nearest two"]
    )
    for one in shown:
        table.add_row(
            safe(one.verifier),
            f"{one.sentence_recall:.3f}",
            f"{one.whole_sets.value:.3f}",
            f"{one.tokens:,.0f}",
            figure(one.first.value),
            figure(one.nearest.value),
        )
    return table


def _published(title: str, others: Sequence[Published]) -> Table:
    table = plain_table(title, ["verifier"], ["AUC", "balanced accuracy"])
    table.add_column("claims")
    table.add_column("source")
    for one in sorted(others, key=lambda one: -one.balanced_accuracy):
        table.add_row(
            one.verifier, figure(one.auc, ".2f"), figure(one.balanced_accuracy), one.items, one.source
        )
    return table


def _details(one: SetFigures) -> Iterator[Table]:
    where = f"{safe(one.set)}, {safe(one.verifier)}"
    if one.groups:
        rates = ["supported called unsupported", "AUC", "balanced accuracy"]
        heads = ["claims", "median P(yes)", "called supported", *rates]
        table = plain_table(f"{where}: by property of the claims", [""], heads)
        for facet, groups in one.groups.items():
            for name, group in groups.items():
                cells = (NONE, NONE, NONE)
                if (own := group.figures) is not None:
                    cells = tuple(map(estimate_text, (own.called_wrong, own.auc, own.balanced_accuracy)))
                called = estimate_text(group.called_supported)
                middle = figure(group.median, ".2f")
                table.add_row(f"{facet}: {safe(name)}", str(group.n), middle, called, *cells)
        yield table
    if one.confusion:
        given = sorted({label for row in one.confusion.values() for label in row})
        table = plain_table(f"{where}: labels of people by line, of the judge by column", [""], given)
        for gold, row in one.confusion.items():
            table.add_row(gold, *(str(row.get(label, "")) for label in given))
        yield table


def benchmark_notes(found: Sequence[SetFigures], evidence: Sequence[EvidenceFigures]) -> Iterator[str]:
    """Yield why figures are missing or low, without control characters and without markup."""
    for name, n in dict.fromkeys((plain(one.set), one.absent) for one in evidence if one.absent):
        yield f"{name}: {count(n, 'claim')} with `supporting` text that does not occur on its page"
    for one in found:
        where = plain(f"{one.set}, {one.verifier}")
        if one.seen:
            claims = f"{count(one.seen, 'claim')} of the fit to the others"
            yield f"{where}: left out: {claims}, because this set has the same claim and text"
        if one.figures is None and one.failed + one.unread < one.n:
            yield f"{where}: no AUC or balanced accuracy: all claims with a verdict are of one kind"
        if one.why_not_fitted and one.verifier == OVERLAP and one.figures is not None:
            yield f"{where}: the threshold is 0.5, since none can be fitted: {one.why_not_fitted}"
        elif one.why_not_fitted:
            yield f"{where}: nothing fitted to this set: {one.why_not_fitted}"
        if one.why_not_transferred:
            yield f"{where}: nothing fitted to the other sets: {one.why_not_transferred}"
