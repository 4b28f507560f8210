"""Reasoning flaws: sound reports and twins in which some sentences reason wrongly.

After DREAM (arXiv 2602.18940), the controlled experiment on reasoning quality with flawed variants.

Invariant: the twins have the same request, sentences, sources and headings but for the flaws, so that nothing but the
reasoning can move a score.

How far a perfect judge would mark a flawed twin down is nowhere said, since what a deduction takes is a setting: what
counts is the direction in each pair.
"""

from __future__ import annotations

from datetime import date

from local_judge.errors import ConfigError
from local_judge.experiments.arguments import Argument, load_arguments
from local_judge.experiments.model import Condition, Design, Expectation, Experiment, Trial
from local_judge.runs.inputs import RawReport
from local_judge.tasks.model import Plan, ReasoningQuestion, Task

TODAY = date(2026, 1, 1)
PROTOCOLS = ("dream",)
SETTINGS = {
    "dream": {"parts": ["reasoning"]},
    "deer": {"parts": ["rubric"]},
    "liveresearchbench": {"parts": ["consistency"]},
    "deepresearcheval": {"parts": ["quality"]},
}
PAPER = (None, 0.4)
SOURCE = "DREAM: reasoning quality falls to about 40 on flawed variants, of its own reports"


def reasoning(n_pairs: int | None = None) -> Experiment:
    """The experiment.

    Args:
        n_pairs: take the first so many; None for all.

    Raises:
        ConfigError: there are not so many.
    """
    known = load_arguments()
    if n_pairs is not None and not 1 <= n_pairs <= len(known):
        raise ConfigError(
            f"--topics {n_pairs}: there are {len(known)} pairs of reports; take 1 to {len(known)}"
        )
    trials: list[Trial] = []
    reports: list[RawReport] = []
    for argument in known[:n_pairs]:
        task = _task(argument)
        for condition, body in (("sound", argument.report), ("flawed", argument.twin)):
            name = f"{argument.id}-{condition}"
            flaws = tuple(flaw.flawed for flaw in argument.flaws) if condition == "flawed" else ()
            trials.append(Trial(report=name, condition=condition, unit=argument.id, planted=flaws))
            text = _report(argument, body)
            reports.append(RawReport(name, text.encode(), task, f"reports/{name}.md", task_id=task.id))
    design = Design(
        experiment="reasoning",
        seed=None,
        conditions=(
            Condition(id="sound", label="sound", x=0.0),
            Condition(id="flawed", label="flawed", x=1.0),
        ),
        trials=tuple(trials),
        expectations=(
            Expectation(
                protocol="dream",
                path="reasoning",
                shape="falls",
                scale=100.0,
                paper=PAPER,
                approximate=True,
                source=SOURCE,
            ),
        ),
    )
    pages = tuple(argument.page for argument in known)
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
    return Task(id=argument.id, prompt=argument.request, plan=Plan(reasoning=(question,)))


def _report(argument: Argument, body: str) -> str:
    page = argument.page
    return (
        f"# Report\n\nThis report reasons from figures that were published [1].\n\n## Reasoning\n\n{body}\n\n"
        f"## References\n\n[1] {page.title}. {page.url}\n"
    )
