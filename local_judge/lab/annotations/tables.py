"""Terminal tables of a judge's scores against annotations, one for each part.

Invariant: every share has its counts, and a share that does not exist is a dash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import get_args

from rich.console import Group, RenderableType
from rich.table import Table

from local_judge.base.output import NONE
from local_judge.claims.model import ClaimType
from local_judge.lab.annotations.backtracking import Coverage, SetScores
from local_judge.lab.annotations.evaluate import ReportScores
from local_judge.lab.annotations.extraction import ExtractionScores
from local_judge.lab.tables import figure, measures_table
from local_judge.stats.rates import Rate
from local_judge.terminal import plain_table, safe


def report_tables(scores: ReportScores) -> RenderableType:
    """Return the tables of all parts that were measured."""
    return Group(*_tables(scores))


def _tables(scores: ReportScores) -> Iterator[RenderableType]:
    if scores.extraction is not None:
        measure = f"minimum {scores.similarity} similarity {scores.threshold:g}"
        yield _extraction(scores.extraction, measure, scores.recall_judge)
        yield _classes(scores.extraction["all"])
    if scores.backtracking is not None:
        for classes, rows in scores.backtracking.items():
            yield _backtracking(classes, rows)
    if scores.coverage is not None:
        yield _coverage(scores.coverage)


def _rate(rate: Rate | None) -> str:
    return NONE if rate is None else f"{figure(rate.value)} ({rate.n}/{rate.of})"


_EXTRACTION: Sequence[tuple[str, Callable[[ExtractionScores], str]]] = (
    ("sentences read", lambda one: str(one.sentences)),
    ("sentences failed", lambda one: str(one.sentences_failed)),
    ("paragraphs read whole", lambda one: str(one.paragraphs)),
    ("claims per paragraph, annotated", lambda one: figure(one.gold_density)),
    ("claims per paragraph, extracted", lambda one: figure(one.density)),
    ("recall, judged by {judge}", lambda one: _rate(one.recall_judged)),
    ("claims without an answer of {judge}", lambda one: str(one.recall_failed)),
    ("recall", lambda one: _rate(one.recall)),
    ("precision", lambda one: _rate(one.precision)),
    ("F1", lambda one: figure(one.f1)),
    ("similarity of matched claims", lambda one: figure(one.similarity)),
    ("six classes: macro F1", lambda one: figure(one.macro_f1)),
    ("six classes: micro F1", lambda one: figure(one.micro_f1)),
    ("A, B, C against D, E, F: F1", lambda one: figure(one.verifiable.f1)),
    ("A, B, C against D, E, F: accuracy", lambda one: _rate(one.verifiable.accuracy)),
)
"""Rows of the table of extraction; those of `{judge}` need a recall judge."""


def _extraction(by_language: Mapping[str, ExtractionScores], measure: str, recall_judge: str | None) -> Table:
    judged = recall_judge is not None and any(one.recall_judged is not None for one in by_language.values())
    rows = [
        (name.replace("{judge}", safe(recall_judge or "", 30)), cell)
        for name, cell in _EXTRACTION
        if judged or "{judge}" not in name
    ]
    return measures_table(f"extraction ({measure})", rows, dict(by_language))


def _classes(scores: ExtractionScores) -> Table:
    given = [str(name) for name in get_args(ClaimType)]
    title = "classes of matched claims: annotated by line, given by column"
    table = plain_table(title, [""], [*given, "recall", "F1"])
    for name, tally in scores.confusion.items():
        one = scores.classes[name]
        table.add_row(name, *(str(tally[other] or "") for other in given), figure(one.recall), figure(one.f1))
    return table


def _backtracking(classes: str, rows: Sequence[SetScores]) -> Table:
    columns = ("Jaccard", "precision", "recall", "micro Jaccard", "micro precision", "micro recall")
    table = plain_table(f"back-tracking of {classes}", [""], ["claims", "empty", *columns])
    for row in rows:
        figures = [getattr(row, name.lower().replace(" ", "_")) for name in columns]
        table.add_row(row.method, str(row.claims), str(row.empty), *map(figure, figures))
    return table


def _coverage(rows: Sequence[Coverage]) -> Table:
    table = plain_table("claims of class A, B, C with a source", [""], ["cited", "readable"])
    for row in rows:
        table.add_row(row.method, _rate(row.cited), _rate(row.readable))
    return table
