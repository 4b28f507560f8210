"""Part `position`: does the judge prefer what is in a certain place?

Invariants: the two texts of a pair answer the same request. They are either identical, so that neither can be better,
or a report and a perturbed version, each once in the first place. Code decides who wins from the judge's numbers, by
the protocol's own rule; a game with a missing answer has no winner. The two questions about options differ in the order
of two words alone.

    question=short     the beginnings of two reports; the first wins with P("A")
    question=depth     LiveResearchBench's analysis depth; the totals of one order decide
    question=race      RACE with a reference report; the overall score of one sheet decides
    question=options   whether a page states a claim, with Yes named before No, and No before Yes
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, Literal, cast, get_args

from pydantic import Field

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.yes_no import NEUTRAL, OPTIONS
from local_judge.documents import UnreadableReport, parse_report
from local_judge.documents.clean import clean
from local_judge.documents.words import count_words
from local_judge.judge.judge import ChoiceResult, Judge
from local_judge.lab.labelled.answers import by_page, claim_prompts
from local_judge.lab.planting.flaws.flaws import FlawSettings
from local_judge.lab.qualification.figures import (
    Measure,
    MeasureRow,
    called_share,
    mean_said,
    measures,
    where,
)
from local_judge.lab.qualification.model import Item, JudgeAnswer
from local_judge.lab.qualification.part import Found, Part, PartContext, run_findings
from local_judge.lab.qualification.probes import Family, families
from local_judge.prompts import Prompt, fence, load_prompt
from local_judge.protocols.liveresearchbench import LiveResearchBench, LrbFindings
from local_judge.protocols.liveresearchbench.depth.games import POINTS, Order, decided
from local_judge.protocols.probes import FlawKind
from local_judge.protocols.race.findings import Comparison, RaceFindings
from local_judge.protocols.race.paper import comparison_scores
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.items import file_key
from local_judge.tasks.model import Reference

template = partial(load_prompt, "local_judge.lab.qualification.parts")

Pairwise = Literal["short", "depth", "race"]
Game = tuple[JudgeAnswer, JudgeAnswer]
"""Points of the first place (1 won, 0.5 tied, 0 lost), with the report in the first place and in the second."""

PLACES: Final = ("A", "B")
"""Labels of the first and the second text: one token each with any tokenizer."""
PROTOCOLS: Final = {
    "depth": ("liveresearchbench", {"parts": ["depth"]}),
    "race": ("race", {"criteria": "static", "positions": "both"}),
}
NAMED: Final = "Answer Yes or No."
"""Order of the options in the question of `scored`."""
TURNED: Final = "Answer No or Yes."


class PositionSettings(Frozen):
    """Sizes of the part."""

    questions: tuple[Pairwise, ...] = get_args(Pairwise)
    """Questions to ask."""
    reports: int | None = Field(default=None, ge=1)
    """Number of reports, the first ones; None for all."""
    words: int = Field(default=150, ge=20)
    """Words of each text for `short`, extended to the end of a paragraph."""
    flaw: FlawKind = "reasoning"
    """Flaw of the perturbed reports that reports are compared with."""
    claims: int = Field(default=40, ge=0)
    """Number of planted claims for `options`."""


def _bias(items: Sequence[Item]) -> float | None:
    """Return the distance of the first place from 0.5: |mean - 0.5|."""
    first = mean_said(items)
    return None if first is None else abs(first - 0.5)


SAME: Final[Sequence[MeasureRow]] = (("first", mean_said, None), ("bias", _bias, "less"))
FLIPPED: Final[MeasureRow] = ("flipped", called_share, "less")
WON: Final[MeasureRow] = ("won", mean_said, "more")


class Position(Part[PositionSettings]):
    """The part."""

    name = "position"
    legend = (
        "Does the order of two reports, or of two options, change the answer?\n\n"
        "- `first`: how often the first of two equal reports wins, or its probability; ideally 0.5;\n"
        "- `bias`: distance of `first` from 0.5;\n"
        "- `flipped`: share of the pairs or claims that the order decides;\n"
        "- `won`: share of the pairs in which the report wins against its perturbed version;\n"
        "- `options`: the options Yes and No in both orders."
    )

    figures = r"(first|bias|flipped)/(short|depth|race|options)|won/(short|depth|race)"

    async def ask(self, context: PartContext) -> Found:
        """Compare each report with itself, and with a perturbed version in both orders; then ask about claims."""
        with_task = [report for report in context.reports if report.task is not None]
        notes = [f"{one.id}: not compared: it has no task" for one in context.reports if one.task is None]
        chosen = with_task[: self.settings.reports]
        items: list[Item] = []
        for name in self.settings.questions:
            short = name == "short"
            texts = [_opening(one, self.settings.words) for one in chosen] if short else chosen
            flaws = FlawSettings(kinds=(self.settings.flaw,), places=1 if short else 3, seed=context.seed)
            found, unplanted = families(texts, flaws)
            notes += [f"{name}: {note}" for note in unplanted]
            if found:
                games = await (_short(found, context.judge) if short else _by_protocol(name, found, context))
                for family, own in zip(found, games, strict=True):
                    items += _items(name, family, own)
        items += await _options(context, self.settings.claims)
        return Found(tuple(items), tuple(dict.fromkeys(notes)))

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """Return by question: the result of the first place, how often the order decides, how often the report wins."""
        found: list[Measure] = []
        for name in (*self.settings.questions, "options"):
            if any(item.facets["question"] == name for item in items):
                pairs = {"claim": (*SAME, FLIPPED)}
                if name != "options":
                    pairs = {"same": SAME, "perturbed": (FLIPPED, WON)}
                for pair, rows in pairs.items():
                    found += measures(self.name, f"/{name}", where({"question": name, "pair": pair}), rows)
        return found


def _opening(report: RawReport, words: int) -> RawReport:
    """Return the beginning of a report without citations, up to the end of a paragraph; unreadable ones unchanged."""
    try:
        document = parse_report(clean(report.parse()).text)
    except UnreadableReport:
        return report
    n, end = 0, len(document.text)
    for block in document.blocks:
        n += count_words(block.text)
        if block.kind == "paragraph" and n >= words:
            end = block.span.end
            break
    return report._replace(content=document.text[:end].encode())


def _items(name: Pairwise, family: Family, games: Sequence[Game]) -> list[Item]:
    """Return the item of the report and itself, which is one prompt in both orders, then of its perturbed versions."""

    def item(pair: str, answer: JudgeAnswer, truth: float) -> Item:
        facets = {"question": name, "pair": pair, "language": family.language}
        return answer.item(f"{family.report.id}:{name}:{pair}", family.report.id, facets, truth)

    return [
        item("same", games[0][0], 0.5),
        *(item("perturbed", _over_orders(*game), 1.0) for game in games[1:]),
    ]


def _over_orders(first: JudgeAnswer, second: JudgeAnswer) -> JudgeAnswer:
    """Return the points of a report over both orders, and whether the order decides the game."""
    if first.value is None or second.value is None:
        return JudgeAnswer.failed(first.failure or second.failure)
    won, after = first.value, 1 - second.value
    flipped = (won > 0.5) - (won < 0.5) != (after > 0.5) - (after < 0.5)
    return JudgeAnswer((won + after) / 2, flipped)


def pair_prompt(request: str, first: str, second: str) -> Prompt:
    """Return the question which of two texts answers a request better."""
    shared = "\n\n".join((fence(request, "Request:"), fence(first, "Text A:")))
    own = "\n\n".join((fence(second, "Text B:"), template("pair")))
    return Prompt(shared=shared, own=own, prefix_key=f"pair:{file_key(shared)}")


async def _short(found: Sequence[Family], judge: Judge) -> list[list[Game]]:
    async def ask(family: Family, first: RawReport, second: RawReport) -> JudgeAnswer:
        request = family.report.task.prompt if family.report.task is not None else ""
        texts = (first.content.decode(), second.content.decode())
        pick = await judge.choose(pair_prompt(request, *texts), PLACES)
        failed = isinstance(pick, Failure)
        return JudgeAnswer.failed(pick) if failed else JudgeAnswer(pick.probabilities[PLACES[0]])

    games: list[list[Game]] = []
    for family in found:
        own, both = family.report, list[Game]()
        for other in (own, *family.perturbed.values()):
            first, second = await asyncio.gather(ask(family, own, other), ask(family, other, own))
            both.append((first, second))
        games.append(both)
    return games


async def _by_protocol(name: Pairwise, found: Sequence[Family], context: PartContext) -> list[list[Game]]:
    """Return the games of each report with itself and with its perturbed versions, by the protocol's own question."""
    protocol, settings = PROTOCOLS[name]
    reports: list[RawReport] = []
    for family in found:
        task = family.report.task
        assert task is not None
        others = [family.report, *family.perturbed.values()]
        references = tuple(Reference(text=one.parse().text) for one in others)
        reports.append(family.report._replace(task=task.model_copy(update={"references": references})))
    job = context.job(name, reports, protocol, settings)
    model = RaceFindings if name == "race" else LiveResearchBench.findings_type
    games: list[list[Game]] = []
    for family, (_, findings) in zip(found, await run_findings(job, protocol, model), strict=True):
        if findings is None:
            silent = JudgeAnswer.failed("incomplete")
            games.append([(silent, silent)] * (1 + len(family.perturbed)))
        elif isinstance(findings, RaceFindings):
            games.append(list(_race(findings)))
        else:
            games.append(list(_depth(cast("LrbFindings", findings))))
    return games


def _depth(found: LrbFindings) -> Iterator[Game]:
    def points(order: Order) -> JudgeAnswer:
        if order.difference is None:
            return JudgeAnswer.failed(order.failure or "incomplete")
        won = POINTS[decided(order.difference)]
        return JudgeAnswer(won if order.report_first else 1 - won)

    for pair in found.depth.pairs if found.depth is not None else ():
        by_place = {order.report_first: points(order) for order in pair.orders}
        yield by_place[True], by_place[False]


def _race(found: RaceFindings) -> Iterator[Game]:
    def points(one: Comparison) -> JudgeAnswer:
        value = comparison_scores(one, found).overall.value
        failed = next((item.failure for item in one.scores if item.failure is not None), None)
        if value is None or failed is not None:
            return JudgeAnswer.failed(failed or "incomplete")
        won = 0.5 if math.isclose(value, 50) else float(value > 50)
        return JudgeAnswer(won if one.target_first else 1 - won)

    for number in range(len(found.references)):
        by_place = {one.target_first: points(one) for one in found.comparisons if one.reference == number}
        yield by_place[True], by_place[False]


async def _options(context: PartContext, n: int) -> list[Item]:
    """Ask about claims with both orders of the options, page by page."""
    config = ClaimsConfig(reliability=False)
    choose = partial(context.judge.choose, options=OPTIONS)
    items: list[Item] = []
    for url, planted in by_page(sorted(context.claims, key=lambda one: (one.url or "", one.key))[:n]):
        page = context.snapshot.page(url)
        rows = [one.as_claim() for one in planted]
        asked = [pair for pair in claim_prompts(page, rows, context.snapshot, config) if pair[1]]
        both = (choose(one) for _, found in asked if found for one in (found.prompt, turned(found.prompt)))
        said = await asyncio.gather(*both)
        answers = {
            claim.id: _option(first, second)
            for (claim, _), first, second in zip(asked, said[::2], said[1::2], strict=True)
        }
        items += [
            answers[one.key].item(
                f"{one.key}:options",
                one.document,
                {"question": "options", "pair": "claim", "language": one.facets["language"]},
                0.5,
            )
            for one in planted
            if one.key in answers
        ]
    return items


def turned(prompt: Prompt) -> Prompt:
    """Return the same question with its options in the other order."""
    before, named, after = prompt.own.rpartition(NAMED)
    return Prompt(
        shared=prompt.shared,
        own=before + TURNED + after if named else prompt.own,
        prefix_key=prompt.prefix_key,
    )


def _option(named: ChoiceResult | Failure, other: ChoiceResult | Failure) -> JudgeAnswer:
    """Return the advantage of the option that is named first: 0.5 if the order changes nothing.

    Formula: 0.5 + (P(yes | yes first) - P(yes | no first)) / 2.
    """
    if isinstance(named, Failure):
        return JudgeAnswer.failed(named)
    if isinstance(other, Failure):
        return JudgeAnswer.failed(other)
    first, second = named.probabilities["Yes"], other.probabilities["Yes"]
    return JudgeAnswer(0.5 + (first - second) / 2, (first >= NEUTRAL) != (second >= NEUTRAL))
