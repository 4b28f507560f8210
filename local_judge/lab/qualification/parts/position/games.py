"""Pairs of reports compared as a protocol compares them, and how many are.

Invariants: whatever changes an answer is a field of the settings; who wins a game follows from the judge's scores by
the protocol's own rule; a game of which an answer is missing has no winner.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, cast

from pydantic import Field

from local_judge.documents import parse_report
from local_judge.lab.qualification.model import JudgeAnswer
from local_judge.lab.qualification.part_context import PartContext, run_part
from local_judge.lab.qualification.parts.perturbed_pairs import Family
from local_judge.protocols.liveresearchbench import LiveResearchBench, LrbFindings
from local_judge.protocols.liveresearchbench.depth.games import POINTS, Order, decided
from local_judge.protocols.probes import FlawKind
from local_judge.protocols.race.findings import Comparison, RaceFindings
from local_judge.protocols.race.paper import comparison_scores
from local_judge.runs.inputs import RawReport
from local_judge.runs.store import findings_file
from local_judge.tasks.model import Reference
from serving.types import Frozen

Pairwise = Literal["short", "depth", "race"]


class PositionSettings(Frozen):
    """How much is asked."""

    questions: tuple[Pairwise, ...] = ("short", "depth", "race")
    reports: int | None = Field(default=None, ge=1)
    """The first so many; None for all."""
    words: int = Field(default=150, ge=20)
    """`short`: so many words of each, or a little more, to the end of a paragraph."""
    flaw: FlawKind = "reasoning"
    """Of the perturbed reports that reports are compared with."""
    claims: int = Field(default=40, ge=0)
    """Planted claims that are asked about with the options named in both orders."""


_SETTINGS = {
    "depth": ("liveresearchbench", {"parts": ["depth"]}),
    "race": ("race", {"criteria": "static", "positions": "both"}),
}


async def by_protocol(
    name: Pairwise, found: Sequence[Family], context: PartContext
) -> list[list[tuple[JudgeAnswer, JudgeAnswer]]]:
    """Of each report the games with itself and its perturbed reports: with the report first, then second."""
    protocol, settings = _SETTINGS[name]
    reports: list[RawReport] = []
    for family in found:
        task = family.report.task
        assert task is not None
        others = [family.report, *family.perturbed_reports.values()]
        references = tuple(Reference(text=parse_report(one.content).text) for one in others)
        reports.append(family.report._replace(task=task.model_copy(update={"references": references})))
    job = context.job(name, reports, protocol, settings)
    records = await run_part(job)
    silent = JudgeAnswer(None, failure="incomplete")
    games: list[list[tuple[JudgeAnswer, JudgeAnswer]]] = []
    for family, record in zip(found, records, strict=True):
        file = findings_file(protocol, record.key, None)
        if record.status != "done":
            games.append([(silent, silent)] * (1 + len(family.perturbed_reports)))
        elif name == "depth":
            stored = job.store.read_model(file, LiveResearchBench.findings_type)
            games.append(list(_depth(cast("LrbFindings", stored))))
        else:
            games.append(list(_race(job.store.read_model(file, RaceFindings))))
    return games


def _depth(found: LrbFindings) -> Iterator[tuple[JudgeAnswer, JudgeAnswer]]:
    """Of each pair, how the first place did with the report there, and with the other."""

    def told(order: Order) -> JudgeAnswer:
        if order.difference is None:
            return JudgeAnswer(None, failure=order.failure.kind if order.failure else "incomplete")
        points = POINTS[decided(order.difference)]
        return JudgeAnswer(points if order.report_first else 1 - points)

    for pair in found.depth.pairs if found.depth is not None else ():
        by_place = {order.report_first: told(order) for order in pair.orders}
        yield by_place[True], by_place[False]


def _race(found: RaceFindings) -> Iterator[tuple[JudgeAnswer, JudgeAnswer]]:
    def told(one: Comparison) -> JudgeAnswer:
        value = comparison_scores(one, found).overall.value
        failed = next((item.failure for item in one.scores if item.failure is not None), None)
        if value is None or failed is not None:
            return JudgeAnswer(None, failure=failed.kind if failed else "incomplete")
        points = 0.5 if math.isclose(value, 50) else float(value > 50)
        return JudgeAnswer(points if one.target_first else 1 - points)

    for number in range(len(found.references)):
        by_place = {one.target_first: told(one) for one in found.comparisons if one.reference == number}
        yield by_place[True], by_place[False]
