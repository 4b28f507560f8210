"""How many claims of class A, B and C have a source to be checked against, with and without back-tracking.

Invariant: all rows of one kind of claims have the same denominator: classes are taken before back-tracking, which by
the `upstream` rule changes them. A claim of class F has no source by its definition and is in no denominator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from indexes.model import SourceStatus
from local_judge.claims.backtrack import Rule
from local_judge.claims.build import urls_of
from local_judge.lab.annotations.extraction import ReadReport
from local_judge.lab.annotations.model import VERIFIABLE, follow
from local_judge.stats.rates import Rate, rate
from serving.types import Frozen


class Coverage(Frozen):
    """One way to find the sources of claims."""

    method: str
    cited: Rate
    """Claims of class A, B or C that lean on at least one URL."""
    readable: Rate
    """Those that lean on at least one page that can be read."""


def coverage(reports: Sequence[ReadReport], statuses: Mapping[str, SourceStatus]) -> tuple[Coverage, ...]:
    """Annotated claims, then extracted ones.

    Args:
        reports: with what was extracted.
        statuses: status of each URL that the reports cite; one that is not in it cannot be read.
    """
    rows = [_row("annotated, own citations", _annotated(reports, ("A",)), statuses)]
    rows.append(_row("annotated, back-tracked", _annotated(reports, ("A", "B", "C")), statuses))
    rows.append(_row("extracted, own citations", _extracted(reports, None), statuses))
    rows += [
        _row(f"extracted, back-tracked ({rule})", _extracted(reports, rule), statuses)
        for rule in get_args(Rule)
    ]
    return tuple(rows)


def _annotated(reports: Sequence[ReadReport], cited: Sequence[str]) -> list[tuple[str, ...]]:
    """URLs of each verifiable claim, none for the classes that are not in `cited`."""
    return [
        tuple(url for key in claim.citations if (url := one.report.url(key)) is not None)
        if claim.type in cited
        else ()
        for one in reports
        for claim in one.gold
        if claim.type in VERIFIABLE
    ]


def _extracted(reports: Sequence[ReadReport], rule: Rule | None) -> list[tuple[str, ...]]:
    urls: list[tuple[str, ...]] = []
    for one in reports:
        document = one.report.document
        after = one.extracted if rule is None else follow(one.extracted, document, rule)
        urls += [
            urls_of(claim, document)
            for claim, before in zip(after, one.extracted, strict=True)
            if before.type in VERIFIABLE
        ]
    return urls


def _row(method: str, claims: Sequence[tuple[str, ...]], statuses: Mapping[str, SourceStatus]) -> Coverage:
    readable = sum(any(statuses.get(url) == "ok" for url in urls) for urls in claims)
    return Coverage(
        method=method,
        cited=rate(sum(bool(urls) for urls in claims), len(claims)),
        readable=rate(readable, len(claims)),
    )
