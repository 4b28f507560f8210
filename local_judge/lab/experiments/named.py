"""The experiments by name, and with files of the user's joined to their tasks.

Invariant: an option that an experiment does not know is refused, never ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from local_judge.errors import ConfigError
from local_judge.lab.experiments.corruption import CLAIM_PAIRS, RATES, corruption
from local_judge.lab.experiments.model import Experiment, Name
from local_judge.lab.experiments.reasoning import ARGUMENT_PAIRS, reasoning
from local_judge.lab.experiments.temporal import expectations, temporal
from local_judge.lab.experiments.timelines import FILE as TIMELINES
from local_judge.runs.inputs import joined
from local_judge.tasks.files import TaskFiles, joins
from local_judge.tasks.model import Task

FILES = {"corruption": CLAIM_PAIRS, "temporal": TIMELINES, "reasoning": ARGUMENT_PAIRS}
"""The data that come with the package."""


def experiment_named(
    name: Name,
    rates: Sequence[float] | None = None,
    n_entries: int | None = None,
    seed: int | None = None,
    data: Path | None = None,
) -> Experiment:
    """An experiment.

    Args:
        name: which.
        rates: of `corruption`; None for its own.
        n_entries: only the first so many claim pairs, timelines or pairs of reports; None for all.
        seed: of `corruption`; None for 0.
        data: a file of the experiment's form; None for that of the package.

    Raises:
        ConfigError: an option that the experiment does not have, or cannot be made with.
        InputError: `data` cannot be used.
    """
    data = data or FILES[name]
    if name == "corruption":
        return corruption(RATES if rates is None else rates, n_entries, seed or 0, data)
    for option, value in (("--rates", rates), ("--seed", seed)):
        if value is not None:
            raise ConfigError(f"{option}: only the experiment corruption has it, not {name}")
    return temporal(n_entries, data) if name == "temporal" else reasoning(n_entries, data)


def with_files(experiment: Experiment, files: TaskFiles) -> Experiment:
    """The experiment with what files hold for its tasks.

    A file of plans takes the place of all plans: a task that it lacks has none, so that plans of two kinds are never
    mixed.

    Raises:
        InputError: a file cannot be used, or has nothing for any task.
    """
    reports = list(experiment.reports)
    if files.plans is not None:
        bare = {task.id: task.model_copy(update={"plan": None}) for task in tasks_of(experiment)}
        reports = [report._replace(task=bare[report.task.id] if report.task else None) for report in reports]
    for join in joins(files):
        reports = joined(reports, join)
    made = experiment._replace(reports=tuple(reports))
    if made.design.experiment != "temporal":
        return made
    return made._replace(design=made.design.model_copy(update={"expectations": expectations(made)}))


def tasks_of(experiment: Experiment) -> list[Task]:
    """The tasks of its reports, each once."""
    tasks = {report.task.id: report.task for report in experiment.reports if report.task}
    return list(tasks.values())
