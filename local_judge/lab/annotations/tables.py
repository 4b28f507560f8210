"""Tables of a judge's measures against annotations, one for each part.

Invariant: every share stands with its counts, and a share that does not exist is a dash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from rich.console import Group, RenderableType
from rich.table import Table

from local_judge.claims.model import ClaimType, Label
from local_judge.lab.annotations.backtracking import SetScores
from local_judge.lab.annotations.coverage import Coverage
from local_judge.lab.annotations.evaluate import VerifierScores
from local_judge.lab.annotations.extraction import ExtractionScores
from local_judge.lab.annotations.figures import Binary
from local_judge.lab.annotations.verification import LanguageScores, VerificationScores
from local_judge.stats.rates import Rate
from local_judge.terminal import NONE, count, safe


def verifier_tables(scores: VerifierScores) -> RenderableType:
    """All parts that were measured."""
    return Group(*_tables(scores))


def _tables(scores: VerifierScores) -> Iterator[RenderableType]:
    if scores.extraction is not None:
        measure = f"{scores.similarity} similarity from {scores.threshold:g} on"
        yield _extraction(scores.extraction, measure, scores.recall_judge)
        yield _classes(scores.extraction["all"])
    if scores.backtracking is not None:
        for classes, rows in scores.backtracking.items():
            yield _backtracking(classes, rows)
    if scores.verification is not None:
        yield _verification(scores.verification)
        yield _kinds(scores.verification)
        yield _labels(scores.verification)
    if scores.coverage is not None:
        yield _coverage(scores.coverage)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right")
    return table


def figure(value: float | None) -> str:
    """To three places, or a dash."""
    return NONE if value is None else f"{value:.3f}"


def _rate(rate: Rate) -> str:
    return f"{figure(rate.value)} ({rate.n}/{rate.of})"


def _interval(rate: Rate) -> str:
    if rate.low is None or rate.high is None:
        return NONE
    return f"{rate.low:.3f} to {rate.high:.3f}"


def _extraction(by_language: Mapping[str, ExtractionScores], measure: str, recall_judge: str | None) -> Table:
    table = _table(f"extraction ({measure})", "", *by_language)
    several = list(by_language.values())
    rows: list[tuple[str, list[str]]] = [
        ("sentences read", [str(one.sentences) for one in several]),
        ("sentences failed", [str(one.sentences_failed) for one in several]),
        ("paragraphs read whole", [str(one.paragraphs) for one in several]),
        ("claims per paragraph, annotated", [figure(one.gold_density) for one in several]),
        ("claims per paragraph, extracted", [figure(one.density) for one in several]),
        *_recall_judged(several, recall_judge),
        ("recall", [_rate(one.recall) for one in several]),
        ("precision", [_rate(one.precision) for one in several]),
        ("F1", [figure(one.f1) for one in several]),
        ("similarity of matched claims", [figure(one.similarity) for one in several]),
        ("six classes: macro F1", [figure(one.macro_f1) for one in several]),
        ("six classes: micro F1", [figure(one.micro_f1) for one in several]),
        ("six classes as judged: macro F1", [figure(one.macro_f1_judged) for one in several]),
        ("six classes as judged: micro F1", [figure(one.micro_f1_judged) for one in several]),
        ("A, B, C against D, E, F: F1", [figure(one.verifiable.f1) for one in several]),
        ("A, B, C against D, E, F: accuracy", [_rate(one.verifiable.accuracy) for one in several]),
    ]
    for name, cells in rows:
        table.add_row(name, *cells)
    return table


def _recall_judged(several: Sequence[ExtractionScores], name: str | None) -> Iterator[tuple[str, list[str]]]:
    """The rows of the recall judge, where one was asked."""
    judged = [one.recall_judged for one in several if one.recall_judged is not None]
    if name is not None and judged:
        yield f"recall, judged by {safe(name, 30)}", [_rate(rate) for rate in judged]
        yield "claims that it did not answer for", [str(one.recall_failed) for one in several]


def _classes(scores: ExtractionScores) -> Table:
    given = [str(name) for name in get_args(ClaimType)]
    table = _table(
        "classes of matched claims: annotated by line, given by column", "", *given, "recall", "F1"
    )
    for name, tally in scores.confusion.items():
        one = scores.classes[name]
        table.add_row(name, *(str(tally[other] or "") for other in given), figure(one.recall), figure(one.f1))
    return table


def _backtracking(classes: str, rows: Sequence[SetScores]) -> Table:
    columns = ("Jaccard", "precision", "recall", "micro Jaccard", "micro precision", "micro recall")
    table = _table(f"back-tracking of {classes}", "", "claims", "empty", *columns)
    for row in rows:
        figures = (row.jaccard, row.precision, row.recall)
        micro = (row.micro_jaccard, row.micro_precision, row.micro_recall)
        table.add_row(row.method, str(row.claims), str(row.empty), *map(figure, (*figures, *micro)))
    return table


def _verification(scores: VerificationScores) -> Table:
    title = (
        f"verification of {count(scores.pairs, 'pair')} ({scores.failed} failed, {scores.unread} not read); "
        "positive: supported"
    )
    columns = ("accuracy", "95 %", "precision", "recall", "F1", "balanced accuracy")
    table = _table(title, "", *columns)
    groups: dict[str, VerificationScores | LanguageScores] = {"": scores}
    groups |= {f"{language}: ": one for language, one in scores.by_language.items()}
    for name, one in groups.items():
        _verification_row(table, f"{name}original", one.original)
        # Nothing is positive among altered claims: only the share that is right says something.
        _verification_row(table, f"{name}altered", one.altered, only_accuracy=True)
        _verification_row(table, f"{name}both", one.both)
    return table


def _verification_row(table: Table, name: str, one: Binary, only_accuracy: bool = False) -> None:
    figures = (one.precision, one.recall, one.f1, one.balanced_accuracy)
    cells = (figure(None if only_accuracy else value) for value in figures)
    table.add_row(name, _rate(one.accuracy), _interval(one.accuracy), *cells)


def _kinds(scores: VerificationScores) -> Table:
    table = _table("altered claims that are not called supported", "", "share", "95 %")
    for kind, rate in scores.by_kind.items():
        table.add_row(kind, _rate(rate), _interval(rate))
    return table


def _labels(scores: VerificationScores) -> Table:
    given = [str(name) for name in get_args(Label)]
    table = _table("labels: annotated by line, given by column", "", *given)
    for label, tally in scores.labels.items():
        table.add_row(label, *(str(tally.get(other, "")) for other in given))
    return table


def _coverage(rows: Sequence[Coverage]) -> Table:
    table = _table("claims of class A, B, C with a source", "", "cited", "readable")
    for row in rows:
        table.add_row(row.method, _rate(row.cited), _rate(row.readable))
    return table
