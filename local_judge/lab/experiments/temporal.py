"""Temporal decay: reports on the same request as of several days, judged by what is known on the last day.

After DREAM (arXiv 2602.18940), the controlled experiment on key-information coverage with knowledge cut-offs. A
timeline is a request about events over years, with dated pages and the key information of each page.

Invariants: each piece of key information occurs word for word in exactly one page of its timeline, and is known from
the day of that page; a report of an earlier day has another sentence about it. Every day adds some key information; all
timelines of a file have the same number of days. A report states exactly the key information that was known on its day,
and says of the rest at most that it is not known, so that the share of a plan's items that it covers can be computed.
An item counts as covered by a report that contains the words that the item rests on:

    ideal coverage = items whose words occur in the report / all items of the plan, mean over the timelines
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from local_judge.base.errors import InputError
from local_judge.base.model import Frozen
from local_judge.base.rows import read_models
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
    cited,
    design,
    listed,
    load_entries,
    occurs,
    once,
    packaged,
    relative_change,
    taken,
)
from local_judge.runs.planning.inputs import RawReport
from local_judge.tasks.model import Checklist, KeyInformation, KeySource, Plan, Reference, Task

TIMELINES = packaged("timelines.yaml")
"""20 requests, the number of the paper, with three days each."""


PUBLISHED = packaged("dream_table_4.jsonl")
"""Topics and scores of DREAM, Table 4."""

Scores = tuple[float, float, float]


class PublishedQuery(Frozen):
    """One row of DREAM, Table 4: scores of reports by the knowledge of three days, the latest first, 0 to 100."""

    id: int
    """Number in the table."""
    topic: str
    """Name of the query in the table, which does not print its text."""
    comprehensiveness: Scores
    """RACE."""
    insight: Scores
    """RACE."""
    key_information: Scores
    """Key-information coverage."""


PublishedScore = Literal["comprehensiveness", "insight", "key_information"]
_RACE: tuple[PublishedScore, ...] = ("comprehensiveness", "insight")


def load_published() -> tuple[PublishedQuery, ...]:
    """Load DREAM, Table 4."""
    return tuple(row for _, row in read_models(PUBLISHED, PublishedQuery))


def _published(name: PublishedScore) -> dict[str, Any]:
    """Return the fields of an expectation with the paper's means, to the two decimals of its last row."""
    rows: list[Scores] = [getattr(row, name) for row in load_published()]
    exact = [[Decimal(str(score)) for score in scores] for scores in rows]
    means = [sum(column, Decimal()) / len(rows) for column in zip(*exact, strict=True)]
    return {
        "paper": tuple(float(mean.quantize(Decimal("0.01"), ROUND_HALF_UP) / 100) for mean in means),
        "paper_change": relative_change((scores[0], scores[-1]) for scores in rows),
        "source": SOURCE,
    }


class KeyItem(Frozen):
    """One piece of key information."""

    question: Line
    """Question that a report answers with yes if it states the item."""
    statement: Line
    """One sentence that occurs word for word in exactly one page. The item is known from that page's day."""
    before: Line | None = None
    """Sentence of reports from before the item is known; None for no sentence."""


class Timeline(Frozen):
    """One request with dated pages and key information."""

    id: EntryId
    """Id of the task."""
    request: Text
    """Request of the task."""
    opening: Line
    """First sentence of every report."""
    pages: tuple[PlainPage, ...] = Field(min_length=2)
    """Pages of two days or more; all timelines of a file have the same number of days."""
    items: tuple[KeyItem, ...] = Field(min_length=1)
    """Key information; some items become known on each day."""
    reference: Text | None = None
    """Report that RACE compares with; None for a chronicle of all pages."""

    def source(self, item: KeyItem) -> PlainPage:
        """Return the page that states an item."""
        return next(page for page in self.pages if item.statement in page.text)

    def known(self, item: KeyItem, day: date) -> bool:
        """Check whether an item was known on a day."""
        return _day(self.source(item)) <= day

    @property
    def days(self) -> list[date]:
        """Days on which its pages were published, in order."""
        return sorted({_day(page) for page in self.pages})


def load_timelines(path: Path = TIMELINES) -> tuple[Timeline, ...]:
    """Load the timelines of a file, in its order; by default the packaged ones.

    Raises:
        InputError: the file is malformed, or its entries do not fit each other.
    """
    timelines = load_entries(path, Timeline)
    once(path, "id", [one.id for one in timelines])
    once(path, "url", [page.url for one in timelines for page in one.pages])
    for one in timelines:
        once(path, f"{one.id}: question", [item.question for item in one.items])
        for page in one.pages:
            if page.published is None:
                raise InputError(f"{path}: {one.id}: {page.url} has no `published`")
        for item in one.items:
            occurs(path, one.id, item.statement, *(page.text for page in one.pages))
        if len(one.days) < 2:
            raise InputError(f"{path}: {one.id}: needs pages of at least two days")
        if len(one.days) != len(timelines[0].days):
            raise InputError(
                f"{path}: {one.id}: has pages of {len(one.days)} days, {timelines[0].id} of "
                f"{len(timelines[0].days)}; all need the same number"
            )
        if {_day(one.source(item)) for item in one.items} != set(one.days):
            raise InputError(f"{path}: {one.id}: a day adds no key information")
    return timelines


def _day(page: PlainPage) -> date:
    assert page.published is not None
    return page.published


PROTOCOLS = ("dream", "race", "liveresearchbench")
SETTINGS = {
    "dream": {"parts": ["key_information"]},
    "liveresearchbench": {"parts": ["coverage"]},
    "deer": {"parts": ["rubric"]},
    "deepresearcheval": {"parts": ["quality"]},
}
SOURCE = (
    "DREAM, Table 4: means over 20 queries of the authors as of December 2025, January 2025 and January 2024; relative "
    "changes are means over the queries"
)
LABELS = ("latest", "middle", "oldest")
"""Labels of three days; other numbers of days are counted."""


def temporal(n_timelines: int | None = None, data: Path = TIMELINES) -> Experiment:
    """Return the experiment.

    Args:
        n_timelines: number of timelines, the first ones; None for all.
        data: a file of timelines.

    Raises:
        ConfigError: `n_timelines` is out of range.
        InputError: the file cannot be used.
    """
    known = load_timelines(data)
    chosen = taken(known, n_timelines, "timelines")
    n_days = len(known[0].days)
    labels = LABELS if n_days == len(LABELS) else [f"day-{n_days - place}" for place in range(n_days)]
    tasks = {timeline.id: _task(timeline) for timeline in chosen}
    versions: list[Version] = []
    for place, label in enumerate(labels):
        for timeline in chosen:
            day = timeline.days[-1 - place]
            missing = tuple(item.question for item in timeline.items if not timeline.known(item, day))
            name = f"{timeline.id}-{label}"
            trial = Trial(report=name, condition=label, unit=timeline.id, planted=missing)
            versions.append(Version(trial, _report(timeline, day), tasks[timeline.id]))
    pages = tuple(page for timeline in known for page in timeline.pages)
    conditions = [Condition(id=label, label=label, x=float(place)) for place, label in enumerate(labels)]
    made, reports = design("temporal", conditions, versions, pages)
    today = max(timeline.days[-1] for timeline in known) + timedelta(days=1)
    experiment = Experiment(made, reports, pages, PROTOCOLS, SETTINGS, today, published=data == TIMELINES)
    return experiment.expecting(expectations(experiment))


def expectations(experiment: Experiment) -> list[Expectation]:
    """Return the expectations that follow from the current plans and checklists of the reports' tasks.

    RACE has no direction: in the paper comprehensiveness and insight hardly change in the first year (DREAM, Table 4).
    """

    def published(name: PublishedScore) -> dict[str, Any]:
        return _published(name) if experiment.published else {}

    def falls(
        protocol: str, path: str, share: Callable[[Trial, RawReport], float | None], **figures: Any
    ) -> Expectation:
        ideal = _ideal(experiment, share)
        return Expectation(protocol=protocol, path=path, shape="falls", scale=100.0, **ideal, **figures)

    return [
        falls("dream", "key_information", _plan_share, **published("key_information")),
        falls("liveresearchbench", "coverage", _checklist_share),
        *(
            Expectation(protocol="race", path=path, shape=None, scale=100.0, **figures)
            for path in _RACE
            if (figures := published(path))
        ),
    ]


def _ideal(experiment: Experiment, share: Callable[[Trial, RawReport], float | None]) -> dict[str, Any]:
    """Return the mean share of covered items under each condition, and its change; empty if a share is not known."""
    shares: dict[str, list[float]] = {condition.id: [] for condition in experiment.design.conditions}
    for trial, report in zip(experiment.design.trials, experiment.reports, strict=True):
        found = share(trial, report)
        if found is None:
            return {}
        shares[trial.condition].append(found)
    columns = list(shares.values())
    return {
        "ideal": tuple(round(math.fsum(own) / len(own), 9) for own in columns),
        "ideal_change": relative_change(zip(columns[0], columns[-1], strict=True)),
    }


def _plan_share(trial: Trial, report: RawReport) -> float | None:
    """Return the share of the plan's items that a report covers; None if an item rests on no words."""
    plan = report.task.plan if report.task else None
    items = plan.key_information if plan else ()
    quotes = [_plain(item.source.quote).rstrip(".!?。！？ ") if item.source else "" for item in items]
    text = _plain(report.content.decode())
    return sum(quote in text for quote in quotes) / len(quotes) if quotes and all(quotes) else None


def _checklist_share(trial: Trial, report: RawReport) -> float:
    """Return the same share for the checklist, which asks for the timeline's own items."""
    assert report.task is not None and report.task.checklist is not None
    return 1 - len(trial.planted) / len(report.task.checklist.items)


def _plain(text: str) -> str:
    """Remove citations, and replace white space by single blanks."""
    return " ".join(re.sub(r" \[\d+\]", "", text).split())


def _task(timeline: Timeline) -> Task:
    """Return the task with the key information as a plan, and as a checklist for another protocol."""
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
    return KeySource(url=page.url, quote=item.statement, published=_day(page).isoformat())


def _report(timeline: Timeline, day: date) -> str:
    """Return a report with a cited sentence for each item known on a day, and the sentences about open items."""
    pages = [page for page in timeline.pages if _day(page) <= day]
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
    """Return all pages in the order of their days, which RACE compares with if no reference is given."""
    dated = sorted(timeline.pages, key=lambda page: str(page.published))
    parts = [f"## {page.published}\n\n{page.text}" for page in dated]
    return "\n\n".join([f"# Chronicle\n\n{timeline.opening}", *parts]) + "\n"
