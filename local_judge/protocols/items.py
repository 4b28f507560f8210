"""Requirements that a report meets or not: what was found of each, and the rate of those that it meets.

    rate = 100 * (sum of the items' values) / (number of items)        an item's value: 1 met, 0 unmet

A requirement about something that the report has not is met. Of several judges, an item's value is the mean of what
those say who answered.

Invariant: each item that was asked stands in the findings exactly once; one without an answer is left out of the rate
and opens its bounds, with 0 and with 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from local_judge.claims.model import Quote
from local_judge.documents.model import Frozen, Span
from local_judge.judge.failures import Failure
from local_judge.protocols.base import Rated
from local_judge.protocols.scores import Score, ScoreNode

SCALE = 100.0

Status = Literal["met", "unmet", "not_applicable", "failed"]
"""`not_applicable`: it is about something that the report has not; it counts as met."""


class Place(Frozen):
    """Where a report breaks a requirement."""

    label: str
    """`Lx` of the block."""
    span: Span
    what: str
    """In a few words."""


class Item(Frozen):
    """One requirement, and what was found."""

    id: str
    text: str
    """As it was asked."""
    status: Status
    by: Literal["judge", "code"] = "judge"
    rationale: str = ""
    places: tuple[Place, ...] = ()
    """Of an item that code decided."""
    quote: Quote | None = None
    """A passage of the report, found there by code; offsets into the report's text."""
    quote_rejected: str | None = None
    """What the judge gave as a quotation that does not occur in the report."""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""

    @property
    def value(self) -> float | None:
        """1 if met, 0 if not, None where it is not known."""
        return None if self.status == "failed" else float(self.status != "unmet")


def rate(judges: Sequence[Sequence[Item]]) -> tuple[Score, tuple[ScoreNode, ...]]:
    """The rate, 0 to 100, and each item by itself.

    Args:
        judges: the same items as each judge has them; one judge at least.
    """
    by_item = list(zip(*judges, strict=True))
    nodes = tuple(ScoreNode(id=same[0].id, label=same[0].text, score=_item(same)) for same in by_item)
    scores = [node.score for node in nodes]
    values = [score.value for score in scores if score.value is not None]
    n_failed = sum(score.n_failed for score in scores)
    n_expected = sum(score.n_expected for score in scores)
    whole = Score(
        value=sum(values) / len(values) if values else None,
        numerator=sum(values) / SCALE if values else None,
        denominator=float(len(values)) if values else None,
        n_expected=n_expected,
        n_failed=n_failed,
        low=sum(score.low or 0.0 for score in scores) / len(scores),
        high=sum(score.high or 0.0 for score in scores) / len(scores),
        note="; ".join(_notes(judges, n_failed, n_expected)),
    )
    return whole, nodes


def _item(same: Sequence[Item]) -> Score:
    values = [item.value for item in same if item.value is not None]
    n_failed = len(same) - len(values)
    return Score(
        value=SCALE * sum(values) / len(values) if values else None,
        n_expected=len(same),
        n_failed=n_failed,
        low=SCALE * sum(values) / len(same),
        high=SCALE * (sum(values) + n_failed) / len(same),
        note="does not apply, counts as met" if all(one.status == "not_applicable" for one in same) else "",
    )


def _notes(judges: Sequence[Sequence[Item]], n_failed: int, n_expected: int) -> list[str]:
    rejected = sum(item.quote_rejected is not None for items in judges for item in items)
    notes = [f"{n_failed} of {n_expected} answers failed"] if n_failed else []
    return notes + ([f"{rejected} quotations do not occur in the report"] if rejected else [])


def rated(metric: str, items: Sequence[Item]) -> tuple[Rated, ...]:
    """What the judge decided; what code decided, judges cannot differ in."""
    return tuple(
        Rated(
            metric=metric,
            item=item.id,
            value=None if item.status == "failed" else item.status,
            scale="nominal",
        )
        for item in items
        if item.by == "judge"
    )
