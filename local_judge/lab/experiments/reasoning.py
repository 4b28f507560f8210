"""Reasoning flaws: sound reports, and versions in which some sentences reason incorrectly.

After DREAM (arXiv 2602.18940), the controlled experiment on reasoning quality with flawed variants.

Invariants: each flaw replaces one sentence that occurs exactly once in the sound report. Both versions have the same
request, sentences, sources and headings except for the flaws, so that only the reasoning can change a score.

The score that a perfect judge would give a flawed report is not known, because deductions are a setting: the direction
in each pair counts.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import Field

from local_judge.base.errors import InputError
from local_judge.base.model import Frozen
from local_judge.lab.experiments.model import (
    Condition,
    EntryId,
    Expectation,
    Experiment,
    Line,
    PlainPage,
    Text,
    Trial,
    Version,
    design,
    listed,
    load_entries,
    occurs,
    once,
    packaged,
    taken,
)
from local_judge.tasks.model import Plan, ReasoningQuestion, Reference, Task

ARGUMENT_PAIRS = packaged("arguments.yaml")
"""Ten pairs, the number of the paper."""

FlawKind = Literal[
    "unsupported_inference",
    "ignored_counter_evidence",
    "causal_confusion",
    "scope_overreach",
    "arithmetic_slip",
    "contradiction",
]
"""`causal_confusion`: cause and effect reversed, or a correlation taken for a cause. `scope_overreach`: more cases than
were examined. `contradiction`: against another statement of the report."""


class Flaw(Frozen):
    """One sentence and its flawed version."""

    kind: FlawKind
    """Kind of flaw."""
    sound: Line
    """Sentence of the sound report."""
    flawed: Line
    """Sentence that replaces it."""
    why: Line
    """Explanation of the flaw."""


class Argument(Frozen):
    """One pair of reports."""

    id: EntryId
    """Id of the task."""
    request: Text
    """Request of the task."""
    page: PlainPage
    """Facts that the report reasons from."""
    report: Text
    """The sound report."""
    reference: Text | None = None
    """Report that RACE compares both with; None: RACE scores each by itself."""
    question: Line
    """Question that validates the reasoning, with its plan: what to extract, to verify, and how to compare."""
    extract: Line
    """Text to extract from the report."""
    verify: Line
    """Statements to verify with searches."""
    compare: Line
    """Way of comparing the two."""
    flaws: tuple[Flaw, ...] = Field(min_length=1)
    """Sentences that differ in the flawed report."""

    @property
    def perturbed(self) -> str:
        """The flawed report."""
        text = self.report
        for flaw in self.flaws:
            text = text.replace(flaw.sound, flaw.flawed)
        return text


def load_arguments(path: Path = ARGUMENT_PAIRS) -> tuple[Argument, ...]:
    """Load the pairs of a file, in its order; by default the packaged ones.

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
                raise InputError(f"{path}: {argument.id}: {flaw.flawed!r} does not distinguish the versions")
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
SOURCE = (
    "DREAM, Figure 5: on flawed variants of 10 reports of the authors, the relative changes centre on -40.1 % for "
    "reasoning quality and -9.1 % for RACE's score"
)


def reasoning(n_pairs: int | None = None, data: Path = ARGUMENT_PAIRS) -> Experiment:
    """Return the experiment.

    Args:
        n_pairs: number of pairs, the first ones; None for all.
        data: a file of pairs of reports.

    Raises:
        ConfigError: `n_pairs` is out of range.
        InputError: the file cannot be used.
    """
    known = load_arguments(data)
    versions: list[Version] = []
    for argument in taken(known, n_pairs, "pairs of reports"):
        task = _task(argument)
        flaws = tuple(flaw.flawed for flaw in argument.flaws)
        for condition, body, planted in (
            ("sound", argument.report, ()),
            ("flawed", argument.perturbed, flaws),
        ):
            name = f"{argument.id}-{condition}"
            trial = Trial(report=name, condition=condition, unit=argument.id, planted=planted)
            versions.append(Version(trial, _report(argument, body), task))
    pages = tuple(argument.page for argument in known)
    conditions = [Condition(id=id, label=id, x=x) for id, x in (("sound", 0.0), ("flawed", 1.0))]
    made, reports = design("reasoning", conditions, versions, pages)
    published = data == ARGUMENT_PAIRS
    return Experiment(made, reports, pages, PROTOCOLS, SETTINGS, TODAY, published).expecting(
        [
            Expectation(
                protocol=protocol,
                path=path,
                shape="falls",
                scale=100.0,
                paper_change=change if published else None,
                source=SOURCE if published else "",
            )
            for (protocol, path), change in PAPER_CHANGES.items()
        ]
    )


def _task(argument: Argument) -> Task:
    """Return the task with its plan, so that no plan has to be drafted."""
    question = ReasoningQuestion(
        id="r1", **{name: getattr(argument, name) for name in ("question", "extract", "verify", "compare")}
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
