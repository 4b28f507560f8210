"""Checklists: requirements that a report meets or not, as metrics.

    rate = 100 * (sum of the items' values) / (number of items)        an item's value: 1 met, 0 unmet

A requirement about something that the report does not have is met. The value of an item from several judges is
the mean over those that answered.

Invariant: each item that was asked is in the findings exactly once; one without an answer is left out of the rate
and opens its bounds, with 0 and with 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal, TypeVar

from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.documents.model import Span
from local_judge.protocols.base import Decision
from local_judge.protocols.metric import Metric, MetricFindings, mean_over_judges_of
from local_judge.rubric.answers import ItemRow, JudgedItem
from local_judge.scoring.algebra import answers, failures_of, weighted
from local_judge.scoring.node import Profile, Score, ScoreNode, noted

SCALE = 100.0

Status = Literal["met", "unmet", "not_applicable", "failed"]
"""`not_applicable`: it is about something that the report has not; it counts as met."""


class Location(Frozen):
    """A place at which a report breaks a requirement."""

    label: str
    """`Lx` of the block."""
    span: Span
    what: str
    """Description in a few words."""


class Item(JudgedItem):
    """One requirement with its status and the reasons for it."""

    id: str
    """Id of the item."""
    status: Status
    """Status of the item; `not_applicable` counts as met."""
    by: Literal["judge", "code"] = "judge"
    """Decision by the judge or by code."""
    places: tuple[Location, ...] = ()
    """Places that break the requirement, for an item that code decided."""

    @property
    def value(self) -> float | None:
        """1 if met, 0 if not, None where it is not known."""
        return None if self.status == "failed" else float(self.status != "unmet")


class ItemFindings(MetricFindings):
    """The items of one report, in the order of the checklist."""

    items: tuple[Item, ...]

    @property
    def n_failed(self) -> int:
        """Items without an answer."""
        return sum(item.status == "failed" for item in self.items)


S = TypeVar("S", bound=Frozen)
F = TypeVar("F", bound=ItemFindings)


class ChecklistMetric(Metric[S, F]):
    """A metric that is the rate of a checklist's items."""

    findings_type = ItemFindings
    missing_as_unmet: ClassVar[bool] = False
    """An item without an answer counts as unmet by `upstream`, as one that the judge forgot does in published
    code; then several judges' rates are averaged, not their answers."""
    of_task: ClassVar[bool] = False
    """The items are those of the report's task."""

    def score(self, judges: Sequence[F], profile: Profile) -> ScoreNode:
        """Return the rate, 0 to 100, and each item by itself."""
        if profile == "upstream" and self.missing_as_unmet:
            return mean_over_judges_of(lambda one: self._rate([one], missing_as_unmet=True), judges)
        return self._rate(judges, missing_as_unmet=False)

    def _rate(self, judges: Sequence[F], missing_as_unmet: bool) -> ScoreNode:
        whole, items = rate([found.items for found in judges], of_task=self.of_task)
        if missing_as_unmet:
            whole = _as_unmet(whole)
        return self.node(noted(whole, self.note(judges)), items)

    def note(self, judges: Sequence[F]) -> str:
        """Return a note on this checklist; empty by default."""
        return ""

    def decisions(self, findings: F) -> Iterable[Decision]:
        """Return the decisions of the judge; those of code are the same for all judges."""
        return decisions_on(self.id, findings.items)

    def items(self, findings: F) -> Iterable[ItemRow]:
        """Yield each requirement with its status, those that code decided too."""
        for one in findings.items:
            row = one.row(self.id, one.id, None if one.status == "failed" else one.status)
            places = [f"{place.label}: {place.what}" for place in one.places]
            details = (*(["by code"] if one.by == "code" else []), *(places if row.rationale else ()))
            yield row._replace(rationale=row.rationale or "; ".join(places), details=details)

    def lines(self, findings: F) -> Iterable[str]:
        """Numbers of items by status."""
        yield f"{self.id}: {statuses(findings.items)}"


def rate(judges: Sequence[Sequence[Item]], *, of_task: bool = False) -> tuple[Score, tuple[ScoreNode, ...]]:
    """Return the rate, 0 to 100, and each item by itself.

    Args:
        judges: the same items as each judge has them; one judge at least.
        of_task: the items are those of the report's task.
    """
    nodes = tuple(
        ScoreNode(id=same[0].id, label=same[0].text, score=_item(same), of_task=of_task)
        for same in zip(*judges, strict=True)
    )
    whole = weighted([(1.0, node.score) for node in nodes], unit=SCALE)
    rejected = sum(item.quote_rejected is not None for items in judges for item in items)
    note = f"{rejected} quotations do not occur in the report" if rejected else ""
    return noted(whole, failures_of(whole), note), nodes


def _as_unmet(rate: Score) -> Score:
    """Return a rate in which what is missing counts as unmet; without any answer there is none."""
    if not rate.n_failed or rate.value is None or rate.numerator is None:
        return rate
    value = rate.numerator / rate.n_expected * SCALE
    counted = rate.model_copy(update={"value": value, "denominator": rate.n_expected, "low": value})
    return noted(counted, "the published code counts them as 0")


def _item(same: Sequence[Item]) -> Score:
    return answers(
        [None if item.value is None else SCALE * item.value for item in same],
        0.0,
        SCALE,
        "does not apply, counts as met" if all(one.status == "not_applicable" for one in same) else "",
    )


def decisions_on(metric: str, items: Iterable[Item]) -> tuple[Decision, ...]:
    """Return the decisions of the judge on some items; those of code are left out."""
    return tuple(
        Decision(
            metric=metric,
            item=item.id,
            value=None if item.status == "failed" else item.status,
            scale="nominal",
        )
        for item in items
        if item.by == "judge"
    )


def statuses(items: Sequence[Item]) -> str:
    """Numbers of items by status, and of rejected quotations."""
    names = ("met", "unmet", "not_applicable", "failed")
    counts = {name: sum(item.status == name for item in items) for name in names}
    parts = [f"{n} {name.replace('_', ' ')}" for name, n in counts.items() if n]
    rejected = sum(item.quote_rejected is not None for item in items)
    return ", ".join(parts) + (f"; {count(rejected, 'quotation')} not in the report" if rejected else "")
