"""A rubric file as a protocol: weighted share of its items, by group and in total.

    score = 100 * sum(w v) / sum(w over w > 0)        v: value of an item's answer, from 0 to 1; w: weight

A fault (w < 0) takes away: without a fault the score is from 0 to 100, else it may be below 0. Of a part with faults
alone, the denominator is sum(|w|), and the score is from -100 to 0. An item that is void earns nothing.

Invariant: findings hold the items with their texts, weights and groups, so that scores need no rubric file.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from local_judge.base.errors import ConfigError
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.protocols.base import BaseProtocol, Case, Decision, EvalContext, Findings, PathSetting, View
from local_judge.rubric.answers import ItemRow
from local_judge.rubric.items import OTHER, Rubric, path_id
from local_judge.rubric.judging import ItemAnswer, Method, judge_items, repeated_items
from local_judge.rubric.load import load_rubrics
from local_judge.scoring.algebra import answers, difference, exactly, failures_of, rising, weighted
from local_judge.scoring.node import WHOLE, Place, Profile, Scale, Score, ScoreNode, node, noted
from local_judge.tasks.model import Task

TOP = 100.0


class RubricSettings(Frozen):
    """Rubric, and the way in which its items are asked."""

    file: Annotated[str | None, PathSetting()] = Field(default=None, min_length=1)
    """Rubric: a TOML, JSON or JSONL file."""
    method: Method = "scored"
    """`scored`: probabilities, one item a call. `explained`: quotations and rationales, several items a call."""
    items_per_call: int = Field(default=10, ge=1, le=50)
    """Items per call of `explained`."""
    draws: int = Field(default=1, ge=1, le=20)
    """Number of answers to each item: each draw has the choices (`scored`) or the items (`explained`) in another
    order."""


class RubricAnswers(Findings):
    """Answers of one judge to the items of a rubric about one report."""

    method: Method
    """Way in which the items were asked."""
    task: str | None = None
    """Id of the task whose rubric it is; None for a rubric of all tasks."""
    answers: tuple[ItemAnswer, ...]
    """Answers in the order of the rubric."""
    repeated: tuple[str, ...] = ()
    """Ids of items whose text stands in the report word by word."""

    @property
    def n_failed(self) -> int:
        """Answers that are missing, of all draws."""
        return sum(one.values.count(None) for one in self.answers)


class RubricProtocol(BaseProtocol[RubricSettings, RubricAnswers]):
    """Weighted share of a rubric's items."""

    name = "rubric"
    version = "1"
    settings_type = RubricSettings
    findings_type = RubricAnswers
    places: ClassVar[Mapping[str, Place]] = {"overall": Place(aside=WHOLE)}

    @cached_property
    def _rubrics(self) -> tuple[Rubric, ...]:
        if self.settings.file is None:
            raise ConfigError("rubric: no rubric; give --rubric FILE")
        return load_rubrics(Path(self.settings.file))

    def _rubric(self, task: Task | None) -> Rubric | None:
        """Return the rubric of all tasks, that of the task's id, or that of its text."""
        if self._rubrics[0].task is None:
            return self._rubrics[0]
        if task is None:
            return None
        by_id = (one for one in self._rubrics if one.task == task.id)
        by_text = (one for one in self._rubrics if one.prompt and one.prompt.strip() == task.prompt.strip())
        return next(chain(by_id, by_text), None)

    def missing_inputs(self, task: Task | None) -> str | None:
        """Name the task or its rubric, if the file has a rubric for each task."""
        if self._rubric(task) is not None:
            return None
        file = self.settings.file
        if task is None:
            return f"no task, and {file} has a rubric for each task; give --tasks"
        return f"its task {task.id!r} has no rubric in {file}"

    def data_digest(self) -> str | None:
        """Digest of the rubrics."""
        return hashlib.sha256("".join(one.model_dump_json() for one in self._rubrics).encode()).hexdigest()

    async def examine(self, case: Case, context: EvalContext) -> RubricAnswers:
        """Ask for the answers to all items.

        Raises:
            ConfigError: the report's task has no rubric.
        """
        rubric = self._rubric(case.task)
        if rubric is None:
            raise ConfigError(f"rubric: report {case.id!r}: {self.missing_inputs(case.task)}")
        found = await judge_items(
            case.report,
            context.judge,
            rubric,
            request=case.task.prompt if case.task else None,
            **self.settings.model_dump(exclude={"file"}),
        )
        return RubricAnswers(
            case=case.id,
            document=case.report.id,
            method=self.settings.method,
            task=rubric.task,
            answers=found,
            repeated=repeated_items(case.report, rubric.items),
        )

    def score(self, judges: Sequence[RubricAnswers], profile: Profile) -> tuple[ScoreNode, ...]:
        """Return the weighted share of all items, with those of the groups and the values of the items."""
        same = [tuple(one) for one in zip(*(found.answers for found in judges), strict=True)]
        of_task = judges[0].task is not None
        items = [(one[0].item, _item(one, of_task)) for one in same]
        parts = [(item.weight, part.score) for item, part in items]
        whole = weighted_share(parts)
        void = sum(_is_void(one) for one in same)
        said = f"{count(void, 'item')} void: a blocked source is cited" if void else ""
        names = dict.fromkeys(item.group for item, _ in items)
        children = tuple(part for _, part in items)
        if any(names):
            children = tuple(
                node(
                    path_id(name or OTHER),
                    name or OTHER,
                    weighted_share([(item.weight, part.score) for item, part in items if item.group == name]),
                    (part for item, part in items if item.group == name),
                )
                for name in names
            )
        worst = weighted_share([(item.weight, exactly(0.0 if item.weight > 0 else TOP)) for item, _ in items])
        scale = Scale(low=min(worst.value or 0.0, 0.0))
        return (node("overall", "Rubric", noted(whole, failures_of(whole), said), children, scale=scale),)

    def decisions(self, findings: RubricAnswers) -> Iterator[Decision]:
        """Yield the value of each item."""
        for one in findings.answers:
            group = path_id(one.item.group or OTHER)
            yield Decision(metric=group, item=one.item.id, value=one.value, scale="interval")

    def items(self, findings: RubricAnswers) -> Iterator[ItemRow]:
        """Yield each item with its value, from 0 to 1."""
        for one in findings.answers:
            row = one.row(path_id(one.item.group or OTHER), one.item.id, one.value, one.item.text)
            yield row._replace(rationale=f"void: cites {one.void}" if one.void else row.rationale)

    def view(self, findings: RubricAnswers, paper: Sequence[ScoreNode], items: bool) -> View:
        """Return a line on the items."""
        line = f"rubric: {count(len(findings.answers), 'item')}, {findings.method}"
        if findings.repeated:
            line += f"; the report repeats the text of {count(len(findings.repeated), 'item')} word by word"
        return super().view(findings, paper, items)._replace(lines=(line,))


def _is_void(same: Sequence[ItemAnswer]) -> bool:
    """Check whether an item is void by the answer of a judge."""
    return any(one.void is not None for one in same)


def _item(same: Sequence[ItemAnswer], of_task: bool) -> ScoreNode:
    """Return the mean value of an item, from 0 to 100, over all judges and draws."""
    values = [None if value is None else TOP * value for one in same for value in one.counted]
    fault = "a fault: takes away" if same[0].item.weight < 0 else ""
    score = answers(values, 0.0, TOP, "void: a blocked source is cited" if _is_void(same) else fault)
    scale = Scale(better="lower") if fault else None
    return node(same[0].item.id, same[0].item.text, score, of_task=of_task, scale=scale)


def weighted_share(parts: Sequence[tuple[float, Score]]) -> Score:
    """Return 100 times sum(w v) / sum(w over w > 0), of weights and scores from 0 to 100."""
    gains = [(weight, score) for weight, score in parts if weight > 0]
    faults = [(-weight, difference(exactly(TOP), score)) for weight, score in parts if weight < 0]
    earned, avoided = weighted(gains, unit=TOP), weighted(faults, unit=TOP)
    if not faults:
        return earned
    base = math.fsum(weight for weight, _ in gains or faults)
    lost = math.fsum(weight for weight, _ in faults) / base

    def net(avoided: float, earned: float = 0.0) -> float:
        return earned - lost * (TOP - avoided)

    whole = rising(net, [avoided, earned] if gains else [avoided], 0.0, TOP)
    # Without an answer to any fault the faults are left out, and the counts say how much is known.
    value = earned.value if gains and avoided.value is None else whole.value
    return whole.model_copy(update={"value": value, "known": None})
