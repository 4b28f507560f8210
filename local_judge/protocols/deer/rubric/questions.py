"""Which questions are asked, in which calls.

Invariants: each item is asked in exactly one call; a criterion is never split between calls; the calls of one report
differ only behind the report, the references, the request and the guidance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from local_judge.protocols.deer.names import JUDGED, RUBRIC
from local_judge.protocols.deer.rubric.model import Criterion, Dimension, Item, Path, Rubric, Subdimension
from local_judge.protocols.deer.settings import DeerSettings

CALLS: tuple[tuple[str, ...], ...] = (*((name,) for name in RUBRIC[:4]), RUBRIC[4:])
"""Dimensions that are asked about together: five calls, as in the published code."""

GUIDED_UPSTREAM = frozenset(RUBRIC[:3])


class Question(NamedTuple):
    """One thing to be scored."""

    path: Path
    id: str
    """Its key in the reply."""
    item: Item | None = None
    """None where a dimension or the report is scored as a whole."""
    subdimension: Subdimension | None = None
    criterion: Criterion | None = None

    @property
    def text(self) -> str:
        """What is asked, in the rubric's words; empty where it has none."""
        return self.item.text if self.item else ""


Group = tuple[Question, ...]
"""Questions that stay together: a criterion's, or a single one."""


class Call(NamedTuple):
    """What is asked at once."""

    groups: tuple[Group, ...]
    subject: str
    """What is scored where it has no items."""
    guided: bool
    """Whether the guidance is shown."""

    @property
    def questions(self) -> list[Question]:
        """All of them, in order."""
        return [question for group in self.groups for question in group]


def calls_for(rubric: Rubric, settings: DeerSettings, guidance: bool) -> list[Call]:
    """The calls about one report.

    Args:
        rubric: the texts.
        settings: mode, who is guided, how much a call may ask.
        guidance: whether the task has guidance.
    """
    if settings.mode == "vanilla":
        subject = "how good an answer to the request it is."
        return [Call(((Question((), "report"),),), subject, guidance and settings.guidance == "paper")]
    by_id = {dimension.id: dimension for dimension in rubric.dimensions}
    calls: list[Call] = []
    for names in CALLS:
        dimensions = [by_id[name] for name in names]
        guided = guidance and is_guided(names[0], settings)
        if settings.mode == "dimensions":
            calls += [_whole(dimension, guided) for dimension in dimensions if dimension.id in JUDGED]
        else:
            groups = [group for dimension in dimensions for group in _groups(dimension)]
            calls += [Call(part, "", guided) for part in packed(groups, settings.items_per_call)]
    return calls


def is_guided(dimension: str, settings: DeerSettings) -> bool:
    """Whether questions of this dimension are asked with the guidance, where there is one."""
    if settings.guidance == "upstream":
        return dimension in GUIDED_UPSTREAM
    return settings.guidance == "paper"


def dimensions_of(call: Call) -> tuple[str, ...]:
    """The dimensions that a call asks about; none where the report is scored as a whole."""
    return tuple(dict.fromkeys(question.path[0] for question in call.questions if question.path))


def packed(groups: Sequence[Group], limit: int) -> list[tuple[Group, ...]]:
    """Consecutive groups of at most `limit` questions together; a group that is longer stands alone."""
    parts: list[list[Group]] = []
    n = 0
    for group in groups:
        if not parts or n + len(group) > limit:
            parts.append([])
            n = 0
        parts[-1].append(group)
        n += len(group)
    return [tuple(part) for part in parts]


def _whole(dimension: Dimension, guided: bool) -> Call:
    subject = f"one dimension, {dimension.label}: {dimension.description}"
    return Call(((Question((dimension.id,), dimension.id),),), subject, guided)


def _groups(dimension: Dimension) -> Iterator[Group]:
    for part in dimension.subdimensions:
        for criterion in part.criteria:
            yield tuple(
                Question(
                    (dimension.id, part.id, criterion.id, item.id),
                    f"{part.id}.{criterion.id}.{item.id}",
                    item,
                    part,
                    criterion,
                )
                for item in criterion.items
            )
