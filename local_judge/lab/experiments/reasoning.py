"""Reasoning flaws: sound reports and versions in which some sentences reason wrongly.

After DREAM (arXiv 2602.18940), the controlled experiment on reasoning quality with flawed variants.

Invariants: each flaw takes the place of one sentence that stands in the sound report exactly once; both versions have
the same request, sentences, sources and headings but for the flaws, so that nothing but the reasoning can move a score.

How far a perfect judge would mark a flawed report down is nowhere said, since what a deduction takes is a setting: what
counts is the direction in each pair.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import Field

from local_judge.errors import InputError
from local_judge.lab.experiments.data_files import (
    EntryId,
    Line,
    Said,
    load_entries,
    occurs,
    once,
    packaged,
    taken,
)
from local_judge.lab.experiments.model import (
    Condition,
    Design,
    Expectation,
    Experiment,
    PlainPage,
    Trial,
    listed,
    texts_digest,
)
from local_judge.runs.inputs import RawReport
from local_judge.tasks.model import Plan, ReasoningQuestion, Reference, Task
from serving.types import Frozen

ARGUMENT_PAIRS = packaged("arguments.yaml")
"""Ten pairs, as many as the paper has."""

FlawKind = Literal[
    "unsupported_inference",
    "ignored_counter_evidence",
    "causal_confusion",
    "scope_overreach",
    "arithmetic_slip",
    "contradiction",
]
"""`causal_confusion`: cause and effect turned round, or a correlation taken for a cause. `scope_overreach`: more cases
than were looked at. `contradiction`: against what the report itself says."""


class Flaw(Frozen):
    """One sentence made wrong."""

    kind: FlawKind
    sound: Line
    flawed: Line
    why: Line
    """What is wrong with it."""


class Argument(Frozen):
    """One pair."""

    id: EntryId
    request: Said
    page: PlainPage
    """What there is to reason from."""
    report: Said
    """The sound one."""
    reference: Said | None = None
    """A report that RACE compares both with; None: it scores each by itself."""
    question: Line
    """By which the reasoning is validated, with the plan: what to extract, to verify, and how to compare."""
    extract: Line
    verify: Line
    compare: Line
    flaws: tuple[Flaw, ...] = Field(min_length=1)

    @property
    def perturbed(self) -> str:
        """The flawed report."""
        text = self.report
        for flaw in self.flaws:
            text = text.replace(flaw.sound, flaw.flawed)
        return text


def load_arguments(path: Path = ARGUMENT_PAIRS) -> tuple[Argument, ...]:
    """The pairs of a file, in its order; by default those that come with the package.

    Raises:
        InputError: the file is malformed, or its entries do not fit each other.
    """
    arguments = load_entries(path, Argument)
    once(path, "id", [argument.id for argument in arguments])
    once(path, "url", [argument.page.url for argument in arguments])
    for argument in arguments:
        for flaw in argument.flaws:
            occurs(path, argument.id, flaw.sound, argument.report)
            occurs(path, argument.id, flaw.flawed, argument.perturbed)
            if flaw.flawed in argument.report or flaw.sound in argument.perturbed:
                raise InputError(f"{path}: {argument.id}: {flaw.flawed!r} does not set the versions apart")
    return arguments


TODAY = date(2026, 1, 1)
PROTOCOLS = ("dream", "race")
SETTINGS = {
    "dream": {"parts": ["reasoning"]},
    "deer": {"parts": ["rubric"]},
    "liveresearchbench": {"parts": ["consistency"]},
    "deepresearcheval": {"parts": ["quality"]},
}
PAPER_CHANGES = {("dream", "reasoning"): -0.401, ("race", "overall"): -0.091}
SOURCE = "DREAM, Table 4: on flawed variants of 10 reports reasoning quality falls by 40.1 %, RACE's score by 9.1 %"


def reasoning(n_pairs: int | None = None, data: Path = ARGUMENT_PAIRS) -> Experiment:
    """The experiment.

    Args:
        n_pairs: take the first so many; None for all.
        data: a file of pairs of reports.

    Raises:
        ConfigError: there are not so many.
        InputError: the file cannot be used.
    """
    known = load_arguments(data)
    trials: list[Trial] = []
    reports: list[RawReport] = []
    for argument in taken(known, n_pairs, "pairs of reports"):
        task = _task(argument)
        for condition, body in (("sound", argument.report), ("flawed", argument.perturbed)):
            name = f"{argument.id}-{condition}"
            flaws = tuple(flaw.flawed for flaw in argument.flaws) if condition == "flawed" else ()
            trials.append(Trial(report=name, condition=condition, unit=argument.id, planted=flaws))
            text = _report(argument, body)
            reports.append(RawReport(name, text.encode(), task, f"reports/{name}.md", task_id=task.id))
    pages = tuple(argument.page for argument in known)
    design = Design(
        experiment="reasoning",
        texts_sha256=texts_digest(reports, pages),
        seed=None,
        conditions=(
            Condition(id="sound", label="sound", x=0.0),
            Condition(id="flawed", label="flawed", x=1.0),
        ),
        trials=tuple(trials),
        expectations=tuple(
            Expectation(
                protocol=protocol, path=path, shape="falls", scale=100.0, paper_change=change, source=SOURCE
            )
            for (protocol, path), change in PAPER_CHANGES.items()
        ),
    )
    return Experiment(design, tuple(reports), pages, PROTOCOLS, SETTINGS, TODAY)


def _task(argument: Argument) -> Task:
    """With its plan, so that none has to be drafted."""
    question = ReasoningQuestion(
        id="r1",
        question=argument.question,
        extract=argument.extract,
        verify=argument.verify,
        compare=argument.compare,
    )
    return Task(
        id=argument.id,
        prompt=argument.request,
        plan=Plan(reasoning=(question,)),
        references=() if argument.reference is None else (Reference(text=argument.reference),),
    )


def _report(argument: Argument, body: str) -> str:
    return (
        "# Report\n\nThis report reasons from figures that were published [1].\n\n"
        f"## Reasoning\n\n{body}\n\n{listed([argument.page])}"
    )
