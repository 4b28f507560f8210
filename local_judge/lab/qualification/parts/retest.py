"""Does a judge say the same when it is asked again?

Invariant: the second question differs from the first in nothing that an answer should depend on: the order of the
claims in a batch, or the seed of a draw. What has no answer one of the two times is a failure.

    question=grouped   labels of a page's claims in one call, and of the same claims in reverse order
    question=score     RACE's score of a report as a whole, written by the judge, in two draws

Greedy decoding gives two draws that are the same. Where the judge's preset has no temperature, one is set for the
score, and a note says so: it is what a sampled score would be worth.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from pydantic import Field

from local_judge.claims.config import ClaimsConfig
from local_judge.judge.failures import FailureKind
from local_judge.judge.judge import Judge
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.figures import Measure, share, where
from local_judge.lab.qualification.model import Item, PartName
from local_judge.lab.qualification.part_context import Found, PartContext, run_part
from local_judge.protocols.race.findings import TOP, RaceFindings
from local_judge.runs.store import findings_file
from local_judge.runs.verify import ClaimRow, verify_rows
from local_judge.stats.agreement.icc import icc_1_1
from local_judge.stats.agreement.kappa import cohen_kappa
from serving.types import Frozen


class RetestSettings(Frozen):
    """How much is asked."""

    claims: int = Field(default=60, ge=0)
    """Planted claims on pages that have two of them at least."""
    reports: int | None = Field(default=None, ge=0)
    """The first so many; None for all."""
    temperature: float = Field(default=0.7, gt=0)
    """Of the draws, where the judge's preset has none."""


class Retest:
    """The part."""

    name: PartName = "retest"

    def __init__(self, settings: RetestSettings) -> None:
        self.settings = settings

    async def ask(self, context: PartContext) -> Found:
        """Claims forwards and backwards, then reports in two draws."""
        items = await _grouped(context, _on_shared_pages(context.claims, self.settings.claims))
        scores, notes = await self._scores(context)
        return Found((*items, *scores), notes)

    async def _scores(self, context: PartContext) -> tuple[list[Item], tuple[str, ...]]:
        reports = [one for one in context.reports if one.task is not None][: self.settings.reports]
        if not reports:
            return [], ()
        judge, notes = context.judge, ()
        if judge.settings.sampling.temperature == 0:
            judge = _sampling(judge, self.settings.temperature)
            notes = (
                f"score: the preset samples nothing; drawn at a temperature of {self.settings.temperature:g}",
            )
        settings = {"mode": "vanilla", "scoring": "sampled", "draws": 2}
        job = dataclasses.replace(
            context.job("score", reports, "race", settings), held={context.judge_spec.name: judge}
        )
        records = await run_part(job)
        if judge is not context.judge:
            context.judge.meter.add(judge.meter)
        items: list[Item] = []
        for record in records:
            done = record.status == "done"
            file = findings_file("race", record.key, None)
            items.append(_score(record.id, job.store.read_model(file, RaceFindings) if done else None))
        return items, notes

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """Agreement of labels, with and beyond chance; difference of scores, and how much of it is the reports' own."""
        grouped, score = where({"question": "grouped"}), where({"question": "score"})
        found = [
            Measure("retest/agreement/grouped", grouped, share(lambda item: item.called), "more"),
            Measure("retest/kappa/grouped", grouped, _kappa, "more"),
            Measure("retest/difference/score", score, _difference, "less"),
            Measure("retest/icc/score", score, _icc, "more"),
        ]
        return [one for one in found if any(map(one.of, items))]


def _sampling(judge: Judge, temperature: float) -> Judge:
    """The same judge with the same ledger, that draws."""
    sampling = judge.settings.sampling.model_copy(update={"temperature": temperature})
    settings = judge.settings.model_copy(update={"sampling": sampling})
    return Judge(judge.engine, judge.ledger, settings, judge.calibrations)


def _on_shared_pages(claims: Sequence[PlantedClaim], n: int) -> list[PlantedClaim]:
    """At most `n` claims, page by page: alone in its call, a claim has no order."""
    by_page: dict[str, list[PlantedClaim]] = {}
    for one in claims:
        by_page.setdefault(one.text_digest, []).append(one)
    chosen: list[PlantedClaim] = []
    for page in sorted(by_page):
        own = by_page[page][: n - len(chosen)]
        if len(own) > 1:
            chosen += own
    return chosen


async def _grouped(context: PartContext, claims: Sequence[PlantedClaim]) -> list[Item]:
    config = ClaimsConfig(method="grouped", form="terse", reliability=False)
    rows = [ClaimRow(id=one.id, claim=one.claim, url=one.url) for one in claims]
    forwards = await verify_rows(rows, context.snapshot, context.judge, config)
    backwards = (await verify_rows(rows[::-1], context.snapshot, context.judge, config))[::-1]
    items: list[Item] = []
    for claim, first, second in zip(claims, forwards, backwards, strict=True):
        failure = first.failure or second.failure
        answers: dict[str, str] = {}
        same = None
        if first.label is not None and second.label is not None:
            answers = {"first": first.label, "second": second.label}
            same = first.label == second.label
        items.append(
            Item(
                id=f"{claim.id}:grouped",
                unit=claim.text_digest,
                facets={"question": "grouped", "language": claim.language, **answers},
                truth=1.0,
                said=None if same is None else float(same),
                called=same,
                failure=failure.kind if failure else None,
            )
        )
    return items


def _score(report: str, found: RaceFindings | None) -> Item:
    """What is said is the second score less the first, in parts of the scale."""
    marks = [one.scores[0] for one in found.comparisons] if found is not None else []
    scores = [mark.target for mark in marks if mark.target is not None]
    if len(scores) < 2:
        failures: list[FailureKind] = [mark.failure.kind for mark in marks if mark.failure is not None]
        facets = {"question": "score"}
        return Item(
            id=f"{report}:score",
            unit=report,
            facets=facets,
            truth=0.0,
            failure=failures[0] if failures else "incomplete",
        )
    return Item(
        id=f"{report}:score",
        unit=report,
        facets={"question": "score", "first": repr(scores[0]), "second": repr(scores[1])},
        truth=0.0,
        said=(scores[1] - scores[0]) / TOP,
    )


def _difference(items: Sequence[Item]) -> float | None:
    return math.fsum(abs(item.said or 0.0) for item in items) / len(items) if items else None


def _kappa(items: Sequence[Item]) -> float | None:
    """Cohen's kappa of the labels; none where all are one and the same."""
    labels = sorted({item.facets[which] for item in items for which in ("first", "second")})
    first, second = ([labels.index(item.facets[which]) for item in items] for which in ("first", "second"))
    return cohen_kappa(first, second, "unweighted").value


def _icc(items: Sequence[Item]) -> float | None:
    """ICC(1,1) of the two draws; none with fewer than two reports, or where all scores are one and the same."""
    rows = [(float(item.facets["first"]), float(item.facets["second"])) for item in items]
    return icc_1_1(rows).value if len(rows) > 1 else None
