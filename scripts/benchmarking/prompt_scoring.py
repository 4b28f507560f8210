"""Scores of a report as a whole, by our prompts.

    vanilla           request, article, instructions; an analysis of some sentences, then the score
    vanilla_expected  the same without analysis: the expected value over the scale's numbers, in one token

Invariant: both ways see the same articles, cleaned by code: reports, and perturbed reports with one flaw each
(`planting.flaws`). Flaws that are in citations alone are left out, since cleaning takes the citations away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from local_judge.base.failures import FailureKind
from local_judge.demo.outcome import sample_folder as demo_folder
from local_judge.documents import Document, parse_report
from local_judge.judge.judge import Judge
from local_judge.judge.schemas import json_schema
from local_judge.lab.annotations.load import sample_folder as annotated_folder
from local_judge.lab.planting.flaws.flaws import FlawSettings, PerturbedReport, perturbed_reports
from local_judge.protocols.probes import FlawKind
from local_judge.protocols.race.asking import Articles, Question, Scored, number_prompt, prompt
from local_judge.protocols.race.findings import TOP, Scoring
from local_judge.protocols.race.judging import judge_race
from local_judge.protocols.race.settings import RaceSettings
from local_judge.tasks.load import load_tasks
from local_judge.tasks.model import Task
from scripts.benchmarking.planted import share
from scripts.benchmarking.prompt_rows import digest_of

KINDS: tuple[FlawKind, ...] = ("contradiction", "dropped", "reasoning", "padding")
_REQUESTS = {
    "en2-school-lunch": (
        "Osterley County has served free lunches in its primary schools for five years. Report for other counties what "
        "the programme has done for pupils and farms, what it has cost, and what is not known."
    ),
    "en1-shore-power": (
        "The port of Kestrel Bay supplies berthed ships with electricity. Report for other ports what was built, how "
        "much it is used, what it has done to the air, and what it costs."
    ),
}


class Case(NamedTuple):
    """An article to score."""

    id: str
    report: str
    """Id of the original report; its own id for an original."""
    document: Document
    request: str


def cases(n_reports: int, seed: int) -> list[Case]:
    """Return the first `n_reports` packaged reports, each followed by its perturbed reports."""
    demo = demo_folder()
    task = next(iter(load_tasks(demo / "tasks.jsonl").values()))
    texts = [("demo", task.prompt, (demo / "report.md").read_bytes())]
    for name, request in _REQUESTS.items():
        texts.append((name, request, (annotated_folder() / f"{name}.md").read_bytes()))
    found: list[Case] = []
    for name, request, content in texts[:n_reports]:
        document = parse_report(content)
        found.append(Case(name, name, document, request))
        for made in perturbed_reports(name, document, FlawSettings(kinds=KINDS, seed=seed)):
            if isinstance(made, PerturbedReport):
                found.append(Case(made.flaw.id, name, made.document, request))
    return found


async def _score(case: Case, judge: Judge, scoring: Scoring) -> float | FailureKind:
    settings = RaceSettings(mode="vanilla", scoring=scoring)
    task = Task(id=case.report, prompt=case.request)
    findings = await judge_race(case.id, case.document, task, judge, settings)
    mark = findings.comparisons[0].scores[0]
    if mark.failure is not None or mark.target is None:
        return mark.failure.kind if mark.failure else "malformed"
    return mark.target


class Way(NamedTuple):
    """One way to score."""

    scoring: Scoring
    digest: Callable[[], str]


def _question() -> Question:
    """About texts that never change."""
    return Question("Request.", None, Articles("Article.", None, first_is_shared=False), "shared", "English")


WAYS: Final[Mapping[str, Way]] = {
    "vanilla": Way("sampled", lambda: digest_of([prompt(_question(), [])], [json_schema(Scored)])),
    "vanilla_expected": Way(
        "expected",
        lambda: digest_of(
            [number_prompt(_question(), None, "")], [tuple(str(number) for number in range(int(TOP) + 1))]
        ),
    ),
}


async def scored(way: Way, asked: Sequence[Case], judge: Judge) -> list[float | FailureKind]:
    """Return the score of each article, or why it has none."""
    return list(await asyncio.gather(*(_score(one, judge, way.scoring) for one in asked)))


def scoring_figures(asked: Sequence[Case], scores: Sequence[float | FailureKind]) -> dict[str, Any]:
    """Return the shares of perturbed reports scored below, level with and above their reports, and the mean fall."""
    by_id = {case.id: score for case, score in zip(asked, scores, strict=True)}
    falls: list[float] = []
    for case in asked:
        whole, flawed = by_id[case.report], by_id[case.id]
        if case.id != case.report and isinstance(whole, float) and isinstance(flawed, float):
            falls.append(whole - flawed)
    n = sum(isinstance(score, float) for score in scores)
    return {
        "n": n,
        "failed": len(scores) - n,
        "failure_kinds": sorted({score for score in scores if isinstance(score, str)}),
        "perturbed": len(falls),
        "below": share(sum(fall > 0 for fall in falls), len(falls)),
        "level": share(sum(fall == 0 for fall in falls), len(falls)),
        "above": share(sum(fall < 0 for fall in falls), len(falls)),
        "fall": round(sum(falls) / len(falls), 4) if falls else None,
    }
