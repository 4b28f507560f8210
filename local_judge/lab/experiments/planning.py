"""Plan creation: plans drafted from the request alone, with one retrieval, and by an agent; their items rated 1 to 3.

After DREAM, section 4.1 and Tables 2 and 8 (arXiv 2602.18940). Tasks and pages are those of the temporal experiment, so
that the ratings can be compared with a figure that needs no rater: the share of the timelines' own key information that
the items of a plan rest on.

Invariants: a rater is shown the request, all pages of its timeline and the items, and not how the items were drafted.
An item that could not be rated, and a plan that could not be drafted, is counted and widens the bounds.

    rating of a method = mean over the timelines of the mean over a plan's items of (rating - 1) / 2      0 to 1
    covered            = mean over the drafted plans of (own items that some quotation of the plan rests on / own items)
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from indexes.snapshot import Snapshot
from local_judge.base.errors import InputError, RunError
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.base.rows import read_models, write_jsonl
from local_judge.judge.judge import Judge
from local_judge.lab.experiments.model import Experiment, PlainPage, taken
from local_judge.lab.experiments.run import with_files
from local_judge.lab.experiments.temporal import TIMELINES, Timeline, load_timelines
from local_judge.scoring.algebra import answers, mean_of
from local_judge.scoring.node import Score
from local_judge.tasks.drafting import draft_all
from local_judge.tasks.files import TaskFiles
from local_judge.tasks.model import Plan, Task
from local_judge.tasks.plan_asking import (
    AXES,
    TOOLS,
    Axis,
    Grade,
    KeyRating,
    PlanSettings,
    ReasoningRating,
    Rubric,
    plan_rubric,
    rating_prompt,
)
from local_judge.tasks.plan_draft import plan_drafts
from local_judge.tasks.plans import PLAN_KIND, PlanMethod, PlanTranscripts

METHODS: tuple[PlanMethod, ...] = get_args(PlanMethod)
LEAST, MOST = 1, 3
"""Range of a rating."""
RATINGS = "ratings.jsonl"
PLANS = "plans.json"
REPLY_TOKENS_PER_ITEM = 120
QUESTIONS = PlanSettings().questions
"""Maximum number of reasoning questions of a plan, where reasoning is evaluated."""

Kind = Literal["key_information", "reasoning"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Plans = Mapping[tuple[str, PlanMethod], Plan]
"""Drafted plans by task id and method."""


class Rating(Frozen):
    """Rating of one item of a plan by one rater."""

    task_id: str
    """Id of the timeline."""
    method: PlanMethod
    """Source of the plan."""
    item: str
    """Id in its plan: `k<number>` or `r<number>`."""
    question: str = ""
    """Text of the item."""
    rater: str
    """Name of a judge or a person."""
    relevance: Grade | None = None
    """Ratings of the aspects; None if a judge failed."""
    verifiability: Grade | None = None
    clarity: Grade | None = None
    validation: Grade | None = None
    """Reasoning questions only."""
    reason: str = ""
    """Reason for the ratings, or the kind of the failure."""


class Quality(Frozen):
    """Ratings of one kind of items of the plans by one method, by one rater: means from 0 to 1."""

    rater: str
    method: PlanMethod
    kind: Kind
    relevance: Score
    verifiability: Score
    clarity: Score
    validation: Score | None
    """Reasoning questions only."""
    average: Score
    """Mean of the aspects."""


class Drafted(Frozen):
    """The plans by one method, before they are rated."""

    method: PlanMethod
    n_tasks: int
    n_drafted: int
    items: float | None
    """Mean number of items of key information in a plan."""
    questions: float | None
    """Mean number of reasoning questions in a plan."""
    covered: Score | None
    """Share of the timelines' own items that its quotations rest on, 0 to 1; None for plans without quotations."""


class Undrafted(Frozen):
    """A plan that could not be drafted."""

    task_id: str
    method: PlanMethod
    failure: Failure


class PlanResults(Frozen):
    """Result of the experiment, as it is stored."""

    drafted: tuple[Drafted, ...]
    undrafted: tuple[Undrafted, ...]
    ratings: tuple[Quality, ...]


def plans_path(out: Path, method: PlanMethod) -> Path:
    """Return the file of the plans by a method; the agents' transcripts are beside it."""
    return out / f"plans.{method}.jsonl"


def plan_settings(experiment: Experiment, method: PlanMethod, questions: int) -> PlanSettings:
    """Return the settings of drafting: as of the experiment's day if its pages have dates."""
    dated = all(page.published for page in experiment.pages)
    tools = TOOLS.model_copy(update={"as_of": experiment.today if dated else None})
    return PlanSettings(method=method, tools=tools, questions=questions)


async def draft_plans(
    judge: Judge,
    snapshot: Snapshot,
    tasks: Sequence[Task],
    path: Path,
    settings: PlanSettings,
    done: Callable[[], None] = lambda: None,
) -> list[tuple[Task, Failure]]:
    """Draft plans for the tasks that have none in the file at `path`, and return the failures.

    Raises:
        InputError: the file cannot be read or written.
        IndexesError, LedgerError, EngineError: an error that concerns all tasks.
    """
    bare = [task.model_copy(update={"plan": None}) for task in tasks]
    drafts = plan_drafts(snapshot, settings, PlanTranscripts(path).keep)
    return await draft_all(drafts, bare, PLAN_KIND.file(path), judge, done)


async def with_drafted(
    experiment: Experiment, judge: Judge, snapshot: Snapshot, out: Path, method: PlanMethod
) -> Experiment:
    """Return the experiment with plans that `judge` drafts, stored in `out`.

    Raises:
        RunError: a plan could not be drafted.
    """
    path = plans_path(out, method)
    questions = 0 if experiment.design.experiment == "temporal" else QUESTIONS
    settings = plan_settings(experiment, method, questions)
    failed = await draft_plans(judge, snapshot, experiment.tasks, path, settings)
    if failed:
        task, failure = failed[0]
        raise RunError(
            f"{len(failed)} of {len(experiment.tasks)} plans could not be drafted (task {task.id}: {failure.kind}: "
            f"{failure.detail}); repeat the command to try again, or use --topics for fewer tasks"
        )
    return with_files(experiment, TaskFiles(plans=path))


async def compare_plans(
    judges: Mapping[str, Judge],
    snapshot: Snapshot,
    experiment: Experiment,
    out: Path,
    people: Sequence[Rating] = (),
    data: Path = TIMELINES,
    rubric: Rubric | None = None,
    done: Callable[[], None] = lambda: None,
) -> PlanResults:
    """Draft plans by all methods, and have them rated.

    Args:
        judges: the first one drafts; all rate.
        snapshot: snapshot of the experiment's pages.
        experiment: the temporal experiment, for its tasks and pages.
        out: directory of plans, transcripts and ratings.
        people: ratings by people, in addition to the judges'.
        data: the file of timelines that the experiment was made from.
        rubric: meaning of the aspects; None for that of the package.
        done: called after each plan that is drafted or has failed.

    Raises:
        InputError: a file cannot be read or written, or a person rated an item that does not exist.
    """
    tasks = experiment.tasks
    timelines = taken(load_timelines(data), len(tasks), "timelines")
    drafter = next(iter(judges.values()))
    plans: dict[tuple[str, PlanMethod], Plan] = {}
    undrafted: list[Undrafted] = []
    for method in METHODS:
        path = plans_path(out, method)
        settings = plan_settings(experiment, method, QUESTIONS)
        failed = await draft_plans(drafter, snapshot, tasks, path, settings, done)
        undrafted += [Undrafted(task_id=task.id, method=method, failure=failure) for task, failure in failed]
        rows = PLAN_KIND.file(path).rows()
        plans |= {(task_id, method): row.content for task_id, row in rows.items() if row.content}
    asked = [
        _rate(judge, name, method, task, timeline, plans[task.id, method], rubric or plan_rubric())
        for name, judge in judges.items()
        for method in METHODS
        for task, timeline in zip(tasks, timelines, strict=True)
        if (task.id, method) in plans
    ]
    ratings = [rating for own in await asyncio.gather(*asked) for rating in own]
    write_jsonl(out / RATINGS, ratings)
    for one in people:
        plan = plans.get((one.task_id, one.method))
        if plan is None or one.item not in dict(items_of(plan)):
            raise InputError(
                f"ratings by {one.rater!r}: the plan by {one.method} of task {one.task_id!r} has no item {one.item!r}"
            )
    return results_of(plans, [*ratings, *people], timelines, undrafted)


async def _rate(
    judge: Judge,
    name: str,
    method: PlanMethod,
    task: Task,
    timeline: Timeline,
    plan: Plan,
    rubric: Rubric,
) -> list[Rating]:
    items = items_of(plan)
    pages = [_page(page) for page in timeline.pages]
    found = await judge.ask_items(
        lambda wanted: rating_prompt(
            task, pages, timeline.days[-1], [items[place] for place in wanted], rubric
        ),
        [KeyRating] * len(plan.key_information) + [ReasoningRating] * len(plan.reasoning),
        len(items),
        names=[item for item, _ in items],
        max_tokens=len(items) * REPLY_TOKENS_PER_ITEM,
    )
    return [
        Rating.model_validate(
            {"task_id": task.id, "method": method, "item": item, "question": question, "rater": name}
            | ({"reason": answer.kind} if isinstance(answer, Failure) else dict(answer.value))
        )
        for (item, question), answer in zip(items, found, strict=True)
    ]


def items_of(plan: Plan, kinds: Sequence[Kind] = KINDS) -> list[tuple[str, str]]:
    """Return ids and texts of a plan's items of some kinds, key information first, questions with their plan."""
    asked = {"key_information": [(one.id, one.question) for one in plan.key_information]}
    asked["reasoning"] = [
        (one.id, f"{one.question} Extract: {one.extract} Verify: {one.verify} Compare: {one.compare}")
        for one in plan.reasoning
    ]
    return [item for kind in KINDS if kind in kinds for item in asked[kind]]


def axes_of(kind: Kind) -> tuple[Axis, ...]:
    """Return the aspects in which items of a kind are rated."""
    return AXES if kind == "reasoning" else AXES[:-1]


def _page(page: PlainPage) -> str:
    return f"address: {page.url}\ntitle: {page.title}\npublished: {page.published}\n\n{page.text}"


def load_ratings(path: Path) -> list[Rating]:
    """Load ratings by people: rows as in `ratings.jsonl`; `question` and `reason` are optional.

    Raises:
        InputError: the file cannot be read, a row is malformed or lacks a rating, or one item is rated twice.
    """
    ratings: list[Rating] = []
    seen: set[tuple[str, str, str, str]] = set()
    for place, one in read_models(path, Rating):
        key = (one.task_id, one.method, one.item, one.rater)
        for axis in axes_of("reasoning" if one.item.startswith("r") else "key_information"):
            if getattr(one, axis) is None:
                raise InputError(f"{place}: {axis} is missing; it is a rating from {LEAST} to {MOST}")
        if key in seen:
            raise InputError(f"{place}: {one.rater!r} rates {one.item} of task {one.task_id!r} twice")
        seen.add(key)
        ratings.append(one)
    return ratings


def results_of(
    plans: Plans,
    ratings: Sequence[Rating],
    timelines: Sequence[Timeline],
    undrafted: Sequence[Undrafted] = (),
) -> PlanResults:
    """Return the tables of plans and ratings: methods in the order of `METHODS`, raters in that of their rows."""
    return PlanResults(
        drafted=tuple(_drafted(plans, method, timelines) for method in METHODS),
        undrafted=tuple(undrafted),
        ratings=tuple(
            _quality(plans, [one for one in ratings if one.rater == rater], rater, method, kind, timelines)
            for rater in dict.fromkeys(one.rater for one in ratings)
            for kind in KINDS
            for method in METHODS
        ),
    )


def _drafted(plans: Plans, method: PlanMethod, timelines: Sequence[Timeline]) -> Drafted:
    own = [plans.get((timeline.id, method)) for timeline in timelines]
    found = [plan for plan in own if plan is not None]
    covered = [_covered(plan, timeline) for plan, timeline in zip(own, timelines, strict=True)]
    return Drafted(
        method=method,
        n_tasks=len(timelines),
        n_drafted=len(found),
        items=_mean([len(plan.key_information) for plan in found]),
        questions=_mean([len(plan.reasoning) for plan in found]),
        covered=None if method == "request" else mean_of(covered),
    )


def _no_plan(low: float, high: float) -> Score:
    return Score(value=None, n_expected=1, n_failed=1, low=low, high=high, note="no plan")


def _covered(plan: Plan | None, timeline: Timeline) -> Score:
    """Return the share of a timeline's items whose statement overlaps with a quotation of the plan in the page."""
    if plan is None:
        return _no_plan(0, 1)
    quotes = [one.source.quote for one in plan.key_information if one.source and one.source.quote]
    hit = [
        any(quote in item.statement or item.statement.rstrip(".") in quote for quote in quotes)
        for item in timeline.items
    ]
    n, share = len(hit), sum(hit) / len(hit)
    return Score(value=share, numerator=sum(hit), denominator=n, n_expected=n, low=share, high=share)


def _mean(values: Sequence[float]) -> float | None:
    return round(math.fsum(values) / len(values), 9) if values else None


def _quality(
    plans: Plans,
    ratings: Sequence[Rating],
    rater: str,
    method: PlanMethod,
    kind: Kind,
    timelines: Sequence[Timeline],
) -> Quality:
    rows = {(one.task_id, one.item): one for one in ratings if one.method == method}
    axes = {
        axis: mean_of([_of_plan(plans.get((one.id, method)), one.id, kind, axis, rows) for one in timelines])
        for axis in axes_of(kind)
    }
    average = mean_of(list(axes.values()))
    return Quality.model_validate(
        {"rater": rater, "method": method, "kind": kind, "validation": None, **axes, "average": average}
    )


def _of_plan(
    plan: Plan | None, task_id: str, kind: Kind, axis: Axis, rows: Mapping[tuple[str, str], Rating]
) -> Score:
    """Return the mean rating of a plan's items in one aspect; a missing rating may be anything from 0 to 1."""
    if plan is None:
        return _no_plan(0, 1)
    rated = [rows.get((task_id, item)) for item, _ in items_of(plan, [kind])]
    if not rated:
        return Score(value=None, n_undefined=1, note="no such items")
    grades: list[int | None] = [None if one is None else getattr(one, axis) for one in rated]
    shares = [None if grade is None else (grade - LEAST) / (MOST - LEAST) for grade in grades]
    known = [share for share in shares if share is not None]
    counts = {"numerator": math.fsum(known), "denominator": float(len(known))}
    return answers(shares, 0.0, 1.0).model_copy(update=counts)
