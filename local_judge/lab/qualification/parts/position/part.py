"""Does a judge prefer what stands in a certain place?

Invariant: the two texts of a pair are on one request, and either the same, so that nobody who reads them can prefer
one, or a report and its perturbed report, each once in the first place; who wins follows from the judge's own
numbers by code.

    question=short     the beginnings of two reports; the first wins with P("A")
    question=depth     LiveResearchBench's analysis depth; who wins follows from the totals of one order
    question=race      RACE against a reference report; who wins follows from the overall score of one sheet
    question=options   whether a page states a claim, with Yes named before No and the other way round
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Literal

from local_judge.documents import UnreadableReport, parse_report
from local_judge.documents.clean import clean
from local_judge.documents.words import count_words
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, load_prompt
from local_judge.lab.planting.flaws.flaws import FlawSettings
from local_judge.lab.qualification.figures import Measure, Value, mean_said, share, where
from local_judge.lab.qualification.model import Item, JudgeAnswer, PartName
from local_judge.lab.qualification.part_context import Found, PartContext
from local_judge.lab.qualification.parts.perturbed_pairs import Family, families
from local_judge.lab.qualification.parts.position.games import Pairwise, PositionSettings, by_protocol
from local_judge.lab.qualification.parts.position.options import options_items
from local_judge.runs.inputs import RawReport
from local_judge.runs.store import file_key

template = partial(load_prompt, "local_judge.lab.qualification.parts")

PLACES = ("A", "B")
"""Of the first text and of the second: one token each, whatever the tokenizer."""


class Position:
    """The part."""

    name: PartName = "position"

    def __init__(self, settings: PositionSettings) -> None:
        self.settings = settings

    async def ask(self, context: PartContext) -> Found:
        """Each report beside itself, and beside a perturbed report in both orders; then claims."""
        with_task = [report for report in context.reports if report.task is not None]
        notes = [f"{one.id}: not compared: it has no task" for one in context.reports if one.task is None]
        chosen = with_task[: self.settings.reports]
        items: list[Item] = []
        for name in self.settings.questions:
            texts = [_opening(one, self.settings.words) for one in chosen] if name == "short" else chosen
            flaws = FlawSettings(
                kinds=(self.settings.flaw,), places=1 if name == "short" else 3, seed=context.seed
            )
            found, unplanted = families(texts, flaws)
            notes += [f"{name}: {note}" for note in unplanted]
            if found:
                games = await (
                    _short(found, context.judge) if name == "short" else by_protocol(name, found, context)
                )
                items += [item for one in zip(found, games, strict=True) for item in _items(name, *one)]
        items += await options_items(context, self.settings.claims)
        return Found(tuple(items), tuple(dict.fromkeys(notes)))

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """By question: how the first place does, how often the order decides, how often the report wins."""
        found: list[Measure] = []
        for name in self.settings.questions:
            if any(item.facets["question"] == name for item in items):
                found += [
                    _measure("first", name, "same", mean_said, None),
                    _measure("bias", name, "same", _bias, "less"),
                    _measure("flipped", name, "perturbed", share(lambda item: item.called), "less"),
                    _measure("won", name, "perturbed", mean_said, "more"),
                ]
        if any(item.facets["question"] == "options" for item in items):
            found += [
                _measure("first", "options", "claim", mean_said, None),
                _measure("bias", "options", "claim", _bias, "less"),
                _measure("flipped", "options", "claim", share(lambda item: item.called), "less"),
            ]
        return found


def _measure(
    what: str, name: str, pair: str, value: Value, better: Literal["more", "less"] | None
) -> Measure:
    return Measure(f"position/{what}/{name}", where({"question": name, "pair": pair}), value, better)


def _bias(items: Sequence[Item]) -> float | None:
    """How far the first place is from what it should have: |mean - 0.5|."""
    first = mean_said(items)
    return None if first is None else abs(first - 0.5)


def _opening(report: RawReport, words: int) -> RawReport:
    """A report's beginning without its citations, up to the end of a paragraph; unreadable ones as they are."""
    try:
        document = parse_report(clean(parse_report(report.content)).text)
    except UnreadableReport:
        return report
    n, end = 0, len(document.text)
    for block in document.blocks:
        n += count_words(block.text)
        if block.kind == "paragraph" and n >= words:
            end = block.span.end
            break
    return report._replace(content=document.text[:end].encode())


def _same(family: Family, name: str, told: JudgeAnswer) -> Item:
    return _item(family, name, "same", 0.5, told.value, None, told.failure)


def _perturbed(family: Family, name: str, first: JudgeAnswer, second: JudgeAnswer) -> Item:
    """A report before and behind its perturbed report: what is said is how the report did, over both orders."""
    failure = first.failure or second.failure
    if first.value is None or second.value is None:
        return _item(family, name, "perturbed", 1.0, None, None, failure)
    won, after = first.value, 1 - second.value
    flipped = (won > 0.5) - (won < 0.5) != (after > 0.5) - (after < 0.5)
    return _item(family, name, "perturbed", 1.0, (won + after) / 2, flipped, None)


def _item(
    family: Family,
    name: str,
    pair: str,
    truth: float,
    said: float | None,
    called: bool | None,
    failure: FailureKind | None,
) -> Item:
    report = family.report.id
    return Item(
        id=f"{report}:{name}:{pair}",
        unit=report,
        facets={"question": name, "pair": pair, "language": family.language},
        truth=truth,
        said=said,
        called=called,
        failure=failure,
    )


def pair_prompt(request: str, first: str, second: str) -> Prompt:
    """Which of two texts answers a request better."""
    shared = "\n\n".join((fence(request, "Request:"), fence(first, "Text A:")))
    own = "\n\n".join((fence(second, "Text B:"), template("pair")))
    return Prompt(shared=shared, own=own, prefix_key=f"pair:{file_key(shared)}")


async def _short(found: Sequence[Family], judge: Judge) -> list[list[tuple[JudgeAnswer, JudgeAnswer]]]:
    async def ask(family: Family, first: RawReport, second: RawReport) -> JudgeAnswer:
        request = family.report.task.prompt if family.report.task is not None else ""
        texts = (first.content.decode(), second.content.decode())
        pick = await judge.choose(pair_prompt(request, *texts), PLACES)
        return (
            JudgeAnswer(None, failure=pick.kind)
            if isinstance(pick, Failure)
            else JudgeAnswer(pick.probabilities[PLACES[0]])
        )

    games: list[list[tuple[JudgeAnswer, JudgeAnswer]]] = []
    for family in found:
        own = family.report
        asked = [(own, own), *((own, perturbed) for perturbed in family.perturbed_reports.values())]
        games.append(
            [
                (told[0], told[1])
                for pair in asked
                for told in [await asyncio.gather(ask(family, *pair), ask(family, *pair[::-1]))]
            ]
        )
    return games


def _items(name: Pairwise, family: Family, games: Sequence[tuple[JudgeAnswer, JudgeAnswer]]) -> list[Item]:
    """The report with itself, which is one prompt in both orders, then with its perturbed reports."""
    return [_same(family, name, games[0][0]), *(_perturbed(family, name, *pair) for pair in games[1:])]
