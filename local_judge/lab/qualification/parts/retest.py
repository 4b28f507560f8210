"""Part `retest`: does the judge give the same answer when it is asked again?

Invariant: the second question differs from the first only in what an answer should not depend on: the order of the
claims in a batch, or the seed of a draw. An item that lacks one of its two answers is a failure.

    question=grouped   labels of a page's claims in one call, and of the same claims in reverse order
    question=score     RACE's score of a report as a whole, written by the judge, in two draws

Two draws of greedy decoding are the same. If the judge's preset has temperature 0, the score is drawn at another
temperature and a note says so: the figure then describes a sampled score.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from pydantic import Field

from local_judge.base.failures import FailureKind
from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig
from local_judge.judge.judge import Judge
from local_judge.lab.labelled.answers import ask_verdicts
from local_judge.lab.labelled.model import LabelledClaim, LabelledSet
from local_judge.lab.qualification.figures import Measure, MeasureRow, called_share, measures, where
from local_judge.lab.qualification.model import Item, JudgeAnswer
from local_judge.lab.qualification.part import Found, Part, PartContext, run_findings
from local_judge.protocols.race.findings import TOP, RaceFindings
from local_judge.stats.agreement.chance import cohen_kappa
from local_judge.stats.agreement.icc import icc_1_1


class RetestSettings(Frozen):
    """Sizes of the part."""

    claims: int = Field(default=60, ge=0)
    """Number of planted claims, on pages with at least two of them."""
    reports: int | None = Field(default=None, ge=0)
    """Number of reports, the first ones; None for all."""
    temperature: float = Field(default=0.7, gt=0)
    """Temperature of the draws if the judge's preset has 0."""


class Retest(Part[RetestSettings]):
    """The part."""

    name = "retest"
    legend = (
        "The judge answers the same questions again, with a change that should not matter.\n\n"
        "- `grouped`: the claims of a page in reverse order; `agreement` and `kappa` compare the labels;\n"
        "- `score`: a second draw; `difference` is a share of the scale, and `icc` compares the scores."
    )

    figures = r"(agreement|kappa)/grouped|(difference|icc)/score"

    async def ask(self, context: PartContext) -> Found:
        """Verify claims in both orders, then score reports in two draws."""
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
                f"score: the preset has temperature 0; drawn at temperature {self.settings.temperature:g}",
            )
        settings = {"mode": "vanilla", "scoring": "sampled", "draws": 2}
        job = dataclasses.replace(
            context.job("score", reports, "race", settings), held={context.judge_spec.name: judge}
        )
        scores = await run_findings(job, "race", RaceFindings)
        if judge is not context.judge:
            context.judge.meter.add(judge.meter)
        return [_score(id, found) for id, found in scores], notes

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """Return the agreement of labels, and the difference and reliability of scores."""
        rows: dict[str, tuple[MeasureRow, ...]] = {
            "grouped": (("agreement", called_share, "more"), ("kappa", _kappa, "more")),
            "score": (("difference", _difference, "less"), ("icc", _icc, "more")),
        }
        return [
            measure
            for question, own in rows.items()
            for measure in measures(self.name, f"/{question}", where({"question": question}), own)
            if any(map(measure.of, items))
        ]


def _sampling(judge: Judge, temperature: float) -> Judge:
    """Return the same judge with the same ledger and another temperature."""
    sampling = judge.settings.sampling.model_copy(update={"temperature": temperature})
    settings = judge.settings.model_copy(update={"sampling": sampling})
    return Judge(judge.engine, judge.ledger, settings, judge.calibrations)


def _on_shared_pages(claims: Sequence[LabelledClaim], n: int) -> list[LabelledClaim]:
    """Return at most `n` claims page by page, without pages that have one: a single claim has no order."""
    by_page: dict[str, list[LabelledClaim]] = {}
    for one in claims:
        by_page.setdefault(one.document, []).append(one)
    chosen: list[LabelledClaim] = []
    for page in sorted(by_page):
        own = by_page[page][: n - len(chosen)]
        if len(own) > 1:
            chosen += own
    return chosen


async def _grouped(context: PartContext, claims: Sequence[LabelledClaim]) -> list[Item]:
    config = ClaimsConfig(method="grouped", form="terse", reliability=False)
    forwards, backwards = [
        await ask_verdicts([LabelledSet(order, context.snapshot)], context.judge, config)
        for order in (claims, claims[::-1])
    ]
    items: list[Item] = []
    for claim, first, second in zip(claims, forwards, backwards[::-1], strict=True):
        facets = {"question": "grouped", "language": claim.facets["language"]}
        answer = JudgeAnswer.failed(first.failure or second.failure)
        if first.label is not None and second.label is not None:
            facets |= {"first": first.label, "second": second.label}
            same = first.label == second.label
            answer = JudgeAnswer(float(same), same)
        items.append(answer.item(f"{claim.key}:grouped", claim.document, facets, 1.0))
    return items


def _score(report: str, found: RaceFindings | None) -> Item:
    """Return the item of a report: the second score minus the first, as a share of the scale."""
    marks = [one.scores[0] for one in found.comparisons] if found is not None else []
    scores = [mark.target for mark in marks if mark.target is not None]
    facets = {"question": "score"}
    if len(scores) < 2:
        failures: list[FailureKind] = [mark.failure.kind for mark in marks if mark.failure is not None]
        answer = JudgeAnswer.failed(failures[0] if failures else "incomplete")
    else:
        facets |= {"first": repr(scores[0]), "second": repr(scores[1])}
        answer = JudgeAnswer((scores[1] - scores[0]) / TOP)
    return answer.item(f"{report}:score", report, facets, 0.0)


def _difference(items: Sequence[Item]) -> float | None:
    return math.fsum(abs(item.said or 0.0) for item in items) / len(items) if items else None


def _kappa(items: Sequence[Item]) -> float | None:
    """Return Cohen's kappa of the labels; None if all labels are the same."""
    labels = sorted({item.facets[which] for item in items for which in ("first", "second")})
    first, second = ([labels.index(item.facets[which]) for item in items] for which in ("first", "second"))
    return cohen_kappa(first, second, "unweighted").value


def _icc(items: Sequence[Item]) -> float | None:
    """Return ICC(1,1) of the two draws; None for fewer than two reports, or if all scores are the same."""
    rows = [(float(item.facets["first"]), float(item.facets["second"])) for item in items]
    return icc_1_1(rows).value if len(rows) > 1 else None
