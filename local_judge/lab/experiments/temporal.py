"""Temporal decay: reports on the same matters as of several days, judged by what is known on the last one.

After DREAM (arXiv 2602.18940), the controlled experiment on key-information coverage with knowledge cut-offs.

Invariant: a report states exactly the key information that was known on its day, and of the rest at most that it is
not known; so that the share of a plan's items that it covers can be computed. An item counts as covered by a report in
which the words that the item rests on stand:

    ideal coverage = items whose words stand in the report / all items of the plan, mean over the timelines
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

from local_judge.lab.experiments.data_files import taken
from local_judge.lab.experiments.model import (
    Condition,
    Design,
    Expectation,
    Experiment,
    Trial,
    cited,
    listed,
    texts_digest,
)
from local_judge.lab.experiments.timelines import FILE, KeyItem, Timeline, load_timelines
from local_judge.runs.inputs import RawReport
from local_judge.tasks.model import Checklist, KeyInformation, KeySource, Plan, Reference, Task

PROTOCOLS = ("dream", "race", "liveresearchbench")
SETTINGS = {
    "dream": {"parts": ["key_information"]},
    "liveresearchbench": {"parts": ["coverage"]},
    "deer": {"parts": ["rubric"]},
    "deepresearcheval": {"parts": ["quality"]},
}
PAPER = (0.794, 0.448, 0.223)
"""Key-information coverage, latest knowledge first."""
SOURCE = (
    "DREAM, Fig. 5: over 20 queries of its own, key-information coverage is 79.4, 44.8 and 22.3 as the knowledge "
    "cut-off moves back"
)
LABELS = ("latest", "middle", "oldest")
"""Of three days; of another number they are counted."""


def temporal(n_timelines: int | None = None, data: Path = FILE) -> Experiment:
    """The experiment.

    Args:
        n_timelines: take the first so many; None for all.
        data: a file of timelines.

    Raises:
        ConfigError: there are not so many.
        InputError: the file cannot be used.
    """
    known = load_timelines(data)
    chosen = taken(known, n_timelines, "timelines")
    n_days = len(known[0].days)
    labels = LABELS if n_days == len(LABELS) else [f"day-{n_days - place}" for place in range(n_days)]
    tasks = {timeline.id: _task(timeline) for timeline in chosen}
    trials: list[Trial] = []
    reports: list[RawReport] = []
    for place, label in enumerate(labels):
        for timeline in chosen:
            day = timeline.days[-1 - place]
            name = f"{timeline.id}-{label}"
            missing = tuple(item.question for item in timeline.items if not timeline.known(item, day))
            trials.append(Trial(report=name, condition=label, unit=timeline.id, planted=missing))
            content = _report(timeline, day).encode()
            task = tasks[timeline.id]
            reports.append(RawReport(name, content, task, f"reports/{name}.md", task_id=task.id))
    pages = tuple(page for timeline in known for page in timeline.pages)
    design = Design(
        experiment="temporal",
        texts_sha256=texts_digest(reports, pages),
        seed=None,
        conditions=tuple(
            Condition(id=label, label=label, x=float(place)) for place, label in enumerate(labels)
        ),
        trials=tuple(trials),
        expectations=(),
    )
    today = max(timeline.days[-1] for timeline in known) + timedelta(days=1)
    made = Experiment(design, tuple(reports), pages, PROTOCOLS, SETTINGS, today)
    return made._replace(design=design.model_copy(update={"expectations": expectations(made)}))


def expectations(experiment: Experiment) -> tuple[Expectation, ...]:
    """What scores should do, by the plans and checklists that the reports' tasks have now."""
    conditions = [condition.id for condition in experiment.design.conditions]
    return (
        Expectation(
            protocol="dream",
            path="key_information",
            shape="falls",
            ideal=_ideal(experiment, conditions),
            scale=100.0,
            paper=PAPER if conditions == list(LABELS) else (),
            paper_change=round((PAPER[-1] - PAPER[0]) / PAPER[0], 9),
            source=SOURCE,
        ),
        Expectation(protocol="race", path="overall", shape="falls", scale=100.0),
        Expectation(
            protocol="liveresearchbench",
            path="coverage",
            shape="falls",
            ideal=_checklist_ideal(experiment, conditions),
            scale=100.0,
        ),
    )


def _ideal(experiment: Experiment, conditions: Sequence[str]) -> tuple[float, ...]:
    """The ideal coverage under each condition; nothing where an item of a plan rests on no words."""
    texts = {report.id: _plain(report.content.decode()) for report in experiment.reports}
    shares: dict[str, list[float]] = {condition: [] for condition in conditions}
    for trial, report in zip(experiment.design.trials, experiment.reports, strict=True):
        plan = report.task.plan if report.task else None
        items = plan.key_information if plan else ()
        quotes = [_plain(item.source.quote).rstrip(".!?。！？ ") if item.source else "" for item in items]
        if not quotes or not all(quotes):
            return ()
        shares[trial.condition].append(sum(quote in texts[report.id] for quote in quotes) / len(quotes))
    return tuple(round(math.fsum(own) / len(own), 9) for own in shares.values())


def _checklist_ideal(experiment: Experiment, conditions: Sequence[str]) -> tuple[float, ...]:
    """The same for the checklists, which ask for the timelines' own items."""
    shares: dict[str, list[float]] = {condition: [] for condition in conditions}
    for trial, report in zip(experiment.design.trials, experiment.reports, strict=True):
        assert report.task is not None and report.task.checklist is not None
        n = len(report.task.checklist.items)
        shares[trial.condition].append(1 - len(trial.planted) / n)
    return tuple(round(math.fsum(own) / len(own), 9) for own in shares.values())


def _plain(text: str) -> str:
    """A text without citations, its white space made single blanks."""
    return " ".join(re.sub(r" \[\d+\]", "", text).split())


def _task(timeline: Timeline) -> Task:
    """With the key information as a plan, and as the checklist that another protocol goes by."""
    items = tuple(
        KeyInformation(id=f"k{number}", question=item.question, source=_source(timeline, item))
        for number, item in enumerate(timeline.items, 1)
    )
    return Task(
        id=timeline.id,
        prompt=timeline.request,
        plan=Plan(key_information=items, as_of=timeline.days[-1]),
        checklist=Checklist.of(item.question for item in timeline.items),
        references=(Reference(text=timeline.reference or _chronicle(timeline)),),
    )


def _source(timeline: Timeline, item: KeyItem) -> KeySource:
    page = timeline.source(item)
    published = page.published.isoformat() if page.published else None
    return KeySource(url=page.url, quote=item.statement, published=published)


def _report(timeline: Timeline, day: date) -> str:
    """What is known on a day, a sentence each with its source, and what is said to be open."""
    pages = [page for page in timeline.pages if page.published is not None and page.published <= day]
    known = [
        cited(item.statement, pages.index(timeline.source(item)) + 1)
        for item in timeline.items
        if timeline.known(item, day)
    ]
    unknown = [item.before for item in timeline.items if not timeline.known(item, day) and item.before]
    parts = [f"# Report of {day}\n\n{timeline.opening}", "## What is known\n\n" + " ".join(known)]
    if unknown:
        parts.append("## What is open\n\n" + " ".join(unknown))
    return "\n\n".join([*parts, listed(pages)])


def _chronicle(timeline: Timeline) -> str:
    """All pages in the order of their days: what RACE compares reports with, where no reference is given."""
    dated = sorted(timeline.pages, key=lambda page: str(page.published))
    parts = [f"## {page.published}\n\n{page.text}" for page in dated]
    return "\n\n".join([f"# Chronicle\n\n{timeline.opening}", *parts]) + "\n"
