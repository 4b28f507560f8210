"""Pairs of reports compared as a protocol compares them.

Invariant: who wins a game follows from the judge's scores by the protocol's own rule; a game of which an answer is
missing has no winner.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from local_judge.documents import parse_report
from local_judge.judge.failures import FailureKind
from local_judge.protocols.liveresearchbench.depth.findings import Order
from local_judge.protocols.liveresearchbench.depth.outcome import POINTS, decided
from local_judge.protocols.liveresearchbench.findings import LrbFindings
from local_judge.protocols.race.findings import RaceFindings, Sheet
from local_judge.protocols.race.paper import sheet_scores
from local_judge.qualification.bench import Bench, carried_out
from local_judge.qualification.parts.position.settings import Pairwise
from local_judge.qualification.parts.twins import Family
from local_judge.runs.config import RunConfig, settled
from local_judge.runs.inputs import RawReport
from local_judge.runs.store import findings_file
from local_judge.tasks.model import Reference


class Told(NamedTuple):
    """Of one pair in one order."""

    first: float | None
    """Whether what stood first won: 1, 0, a half for a tie, or its probability."""
    failure: FailureKind | None = None


_SETTINGS = {
    "depth": ("liveresearchbench", {"parts": ["depth"]}),
    "race": ("race", {"criteria": "static", "positions": "both"}),
}


async def by_protocol(name: Pairwise, found: Sequence[Family], bench: Bench) -> list[list[tuple[Told, Told]]]:
    """Of each report the games with itself, then with its twins: with the report first, then with the other."""
    protocol, settings = _SETTINGS[name]
    reports: list[RawReport] = []
    for family in found:
        task = family.report.task
        assert task is not None
        others = [family.report, *family.twins.values()]
        references = tuple(Reference(text=parse_report(one.content).text) for one in others)
        reports.append(family.report._replace(task=task.model_copy(update={"references": references})))
    config = settled(
        RunConfig(
            protocols=(protocol,), reasks=bench.judge.settings.reasks, settings={protocol: dict(settings)}
        )
    )
    job = bench.job(name, reports, config, None)
    records = await carried_out(job)
    games: list[list[tuple[Told, Told]]] = []
    for family, record in zip(found, records, strict=True):
        file = findings_file(protocol, record.key, None)
        if record.status != "done":
            games.append([(Told(None, "incomplete"), Told(None, "incomplete"))] * (1 + len(family.twins)))
        elif name == "depth":
            games.append(list(_depth(job.store.read_model(file, LrbFindings))))
        else:
            games.append(list(_race(job.store.read_model(file, RaceFindings))))
    return games


def _depth(found: LrbFindings) -> Iterator[tuple[Told, Told]]:
    """Of each pair, how the first place did with the report there, and with the other."""

    def told(order: Order) -> Told:
        if order.difference is None:
            return Told(None, order.failure.kind if order.failure else "incomplete")
        points = POINTS[decided(order.difference)]
        return Told(points if order.report_first else 1 - points)

    for pair in found.depth.pairs if found.depth is not None else ():
        by_place = {order.report_first: told(order) for order in pair.orders}
        yield by_place[True], by_place[False]


def _race(found: RaceFindings) -> Iterator[tuple[Told, Told]]:
    def told(sheet: Sheet) -> Told:
        value = sheet_scores(sheet, found).overall.value
        failed = next((mark.failure for mark in sheet.marks if mark.failure is not None), None)
        if value is None or failed is not None:
            return Told(None, failed.kind if failed else "incomplete")
        points = 0.5 if math.isclose(value, 50) else float(value > 50)
        return Told(points if sheet.target_first else 1 - points)

    for number in range(len(found.references)):
        by_place = {one.target_first: told(one) for one in found.sheets if one.reference == number}
        yield by_place[True], by_place[False]
