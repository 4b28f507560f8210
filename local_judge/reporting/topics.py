"""Topics of tasks, as a terminal table and as JSON.

Invariant: a share is printed with its count; names from files are printed as plain text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from local_judge.base.errors import plain
from local_judge.base.output import NONE, Table, count, shorten
from local_judge.tasks.topics import TopicAgreement, TopicCounts


def topic_table(corpora: Sequence[TopicCounts]) -> Table:
    """Return counts and shares by topic with files side by side, and for two files the difference of shares."""
    table = Table()
    table.add_column("topic", number=False)
    for name in _names(corpora):
        table.add_column(name)
        table.add_column("share")
    if len(corpora) == 2:
        table.add_column("difference")
    for name in dict.fromkeys(name for corpus in corpora for name in corpus.counts):
        cells: list[str] = []
        for corpus in corpora:
            cells += [str(corpus.counts.get(name, 0)), _percent(corpus.share(name))]
        if len(corpora) == 2:
            one, other = (corpus.share(name) for corpus in corpora)
            cells.append(NONE if one is None or other is None else f"{100 * (other - one):+.1f}")
        table.add_row(shorten(name, 40), *cells)
    table.add_section()
    totals = [cell for corpus in corpora for cell in (str(corpus.n), "")]
    table.add_row("all", *totals, *([""] if len(corpora) == 2 else []), bold=True)
    return table


def topic_notes(
    corpora: Sequence[TopicCounts], apart: float | None, agreement: TopicAgreement | None
) -> list[str]:
    """Return the notes below the table, one line each, without control characters."""
    names = [plain(name) for name in _names(corpora)]
    notes = [
        f"{name}: {count(corpus.n_without, 'task')} without a topic, in no share"
        for name, corpus in zip(names, corpora, strict=True)
        if corpus.n_without
    ]
    if len(corpora) == 2:
        value = NONE if apart is None else f"{apart:.3f}"
        notes.append(f"total variation distance, 1/2 sum |p - q|: {value}")
    if agreement is not None:
        kappa = NONE if agreement.kappa.value is None else f"{agreement.kappa.value:.3f}"
        notes.append(
            f"{names[0]}: the topic given is the judge's in {agreement.n_same} of "
            f"{count(agreement.n, 'task')} ({_percent(agreement.accuracy)}), Cohen's kappa {kappa}"
        )
    return notes


def topics_json(
    corpora: Sequence[TopicCounts], apart: float | None, agreement: TopicAgreement | None
) -> dict[str, Any]:
    """Return all results as plain data."""
    return {
        "files": [
            {
                "file": str(corpus.path),
                "n": corpus.n,
                "without_topic": corpus.n_without,
                "counts": corpus.counts,
                "shares": {name: corpus.share(name) for name in corpus.counts},
            }
            for corpus in corpora
        ],
        "total_variation": apart,
        "agreement": agreement
        and {
            "n": agreement.n,
            "same": agreement.n_same,
            "accuracy": agreement.accuracy,
            "kappa": agreement.kappa.value,
            "differ": [
                {"id": identity, "given": given, "judge": judged}
                for identity, given, judged in agreement.differ
            ],
        },
    }


def _names(corpora: Sequence[TopicCounts]) -> list[str]:
    """Return the files' names, or their paths if two have the same name."""
    names = [corpus.path.name for corpus in corpora]
    return names if len(set(names)) == len(names) else [str(corpus.path) for corpus in corpora]


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.1f}%"
