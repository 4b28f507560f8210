"""Rubrics: the items that a report is judged against, with their weights and answers.

Invariant: ids of items are unique and may be steps of a score's path; so are the ids of groups.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Self

from pydantic import Field, model_validator

from local_judge.base.model import Frozen

YES_NO = ("no", "yes")
MOST_CHOICES = 10
MOST_WEIGHT = 1_000_000
"""Largest size of a weight; sums and ratios of weights stay finite."""
OTHER = "other"
"""Group of the items without one, where other items have one."""
_NOT_IN_IDS = re.compile(r"[^\w.-]+")


def path_id(name: str) -> str:
    """Return a name as a step of a score's path: `Factual Accuracy` becomes `factual_accuracy`."""
    return _NOT_IN_IDS.sub("_", name).strip("_.").lower()


class Item(Frozen):
    """One requirement of a report, or one fault, if its weight is negative."""

    id: str = Field(min_length=1, max_length=80)
    """Unique in the rubric."""
    text: str = Field(min_length=1)
    weight: float = 1.0
    """Share in the score; negative for a fault, and 0 for an item that is only shown."""
    choices: tuple[str, ...] = Field(default=YES_NO, min_length=2, max_length=MOST_CHOICES)
    """Possible answers, from the worst to the best; their values are equally spaced from 0 to 1."""
    anchors: tuple[str, ...] = ()
    """Meaning of each choice; empty where their names say enough."""
    group: str = ""
    """Name of the part of the rubric; empty if it has none."""

    @model_validator(mode="after")
    def _check_weight(self) -> Self:
        if self.weight and not 1 / MOST_WEIGHT <= abs(self.weight) <= MOST_WEIGHT:
            raise ValueError(f"weight: give 0, or a size from 1/{MOST_WEIGHT:,} to {MOST_WEIGHT:,}")
        return self

    @model_validator(mode="after")
    def _check_choices(self) -> Self:
        if len(set(self.choices)) != len(self.choices) or not all(map(str.strip, self.choices)):
            raise ValueError("choices: give different texts, none of them empty")
        if self.anchors and len(self.anchors) != len(self.choices):
            raise ValueError(f"anchors: give {len(self.choices)}, one for each choice")
        return self

    @property
    def is_yes_no(self) -> bool:
        """The answers are yes and no, without further meaning."""
        return self.choices == YES_NO and not self.anchors

    def value(self, choice: str) -> float:
        """Return the value of a choice, from 0 (worst) to 1 (best)."""
        return self.choices.index(choice) / (len(self.choices) - 1)


class Rubric(Frozen):
    """Items of one task, or of all tasks."""

    items: tuple[Item, ...] = Field(min_length=1)
    """Items in the order of the file."""
    blocked: tuple[str, ...] = ()
    """Addresses of sources that the report must not rest on."""
    task: str | None = None
    """Id of the task; None for all tasks."""
    prompt: str | None = None
    """Text of the task, if the file has it."""

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        groups = [path_id(name or OTHER) for name in self.groups]
        for ids in ([one.id for one in self.items], groups):
            twice = next((one for one, times in Counter(ids).items() if times > 1), None)
            if twice is not None:
                raise ValueError(f"the name {twice!r} stands twice")
        if "" in groups:
            raise ValueError("a group's name has no letter or digit")
        return self

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, in the order of their first items."""
        return tuple(dict.fromkeys(one.group for one in self.items))
