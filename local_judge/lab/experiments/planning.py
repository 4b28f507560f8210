"""Plan creation: plans drafted by the request alone, behind one retrieval, and by an agent, their items rated 1 to 3.

After DREAM (arXiv 2602.18940), Tables 2 and 9. Tasks and pages are those of the temporal experiment, so that beside the
ratings stands what needs no rater: the share of the timelines' own key information that a plan's items rest on.

Invariants: whoever rates is shown the request, all pages of its timeline and the items, and not how they came about;
an item that could not be rated, and a plan that could not be drafted, is counted and opens the bounds.

    rating of a method = mean over the timelines of the mean rating of a plan's items        1 to 3
    covered            = mean over the drafted plans of (own items that some quotation of the plan rests on / own items)
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from indexes.snapshot import Snapshot
from local_judge.errors import InputError, RunError
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.lab.experiments.data_files import taken
from local_judge.lab.experiments.model import Experiment, PlainPage
from local_judge.lab.experiments.named import tasks_of, with_files
from local_judge.lab.experiments.timelines import FILE, Timeline, load_timelines
from local_judge.rows import read_models, write_jsonl
from local_judge.scoring.algebra import mean_of
from local_judge.scoring.node import Score
from local_judge.tasks.drafting import draft_all
from local_judge.tasks.files import TaskFiles
from local_judge.tasks.model import Plan, Task
from local_judge.tasks.plan_asking import TOOLS, GivenRating, PlanSettings, rating_prompt
from local_judge.tasks.plan_draft import plan_drafts
from local_judge.tasks.plan_transcripts import PlanTranscripts
from local_judge.tasks.plans import PLAN_KIND, PlanMethod
from serving.types import Frozen

METHODS: tuple[PlanMethod, ...] = get_args(PlanMethod)
LEAST, MOST = 1, 3
"""Of a rating."""
RATINGS = "ratings.jsonl"
PLANS = "plans.json"
REPLY_TOKENS_PER_ITEM = 120
QUESTIONS = PlanSettings().questions
"""The most reasoning questions of a plan, where reasoning is evaluated."""

Kind = Literal["key_information", "reasoning"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Rating(Frozen):
    """What one rater thinks of one item of a plan."""

    task_id: str
    method: PlanMethod
    item: str
    """Id in its plan: `k<number>` or `r<number>`."""
    question: str = ""
    rater: str
    """Name of a judge, or a person's."""
    rating: Literal[1, 2, 3] | None
    """None where a judge failed."""
    reason: str = ""
    """Or of what kind the failure is."""


class Quality(Frozen):
    """What a rater thinks of the plans by one method."""

    rater: str
    method: PlanMethod
    overall: Score
    """From 1 to 3, over all items, like the next two over those of one kind."""
    key_information: Score
    reasoning: Score


class Drafted(Frozen):
    """The plans by one method, before anybody rates them."""

    method: PlanMethod
    n_tasks: int
    n_drafted: int
    items: float | None
    """Items of key information in a plan, mean over the plans, like the next."""
    questions: float | None
    covered: Score | None
    """Share of the timelines' own items that its quotations rest on, 0 to 1; None for plans without quotations."""


class Undrafted(Frozen):
    """A plan that could not be drafted."""

    task_id: str
    method: PlanMethod
    failure: Failure


class PlanResults(Frozen):
    """The experiment's outcome, as it is kept."""

    drafted: tuple[Drafted, ...]
    undrafted: tuple[Undrafted, ...]
    ratings: tuple[Quality, ...]


def plans_path(out: Path, method: PlanMethod) -> Path:
    """Where the plans by a method are kept, with the agents' transcripts beside them."""
    return out / f"plans.{method}.jsonl"


def plan_settings(experiment: Experiment, method: PlanMethod, questions: int) -> PlanSettings:
    """How an experiment has plans drafted: as of its day, where its pages have dates."""
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
    """Draft plans for the tasks that have none in the file at `path`; what failed.

    Raises:
        InputError: the file cannot be read or written.
        IndexesError, LedgerError, EngineError: what concerns all tasks alike.
    """
    bare = [task.model_copy(update={"plan": None}) for task in tasks]
    drafts = plan_drafts(snapshot, settings, PlanTranscripts(path).keep)
    return await draft_all(drafts, bare, PLAN_KIND.file(path), judge, done)


async def with_drafted(
    experiment: Experiment, judge: Judge, snapshot: Snapshot, out: Path, method: PlanMethod
) -> Experiment:
    """The experiment with plans that `judge` drafts, kept in `out`.

    Raises:
        RunError: a plan could not be drafted.
    """
    path = plans_path(out, method)
    questions = 0 if experiment.design.experiment == "temporal" else QUESTIONS
    settings = plan_settings(experiment, method, questions)
    tasks = tasks_of(experiment)
    failed = await draft_plans(judge, snapshot, tasks, path, settings)
    if failed:
        task, failure = failed[0]
        raise RunError(
            f"{len(failed)} of {len(tasks)} plans could not be drafted (task {task.id}: {failure.kind}: "
            f"{failure.detail}); the same command asks again, and --topics takes fewer tasks"
        )
    return with_files(experiment, TaskFiles(plans=path))


async def compare_plans(
    judges: Mapping[str, Judge],
    snapshot: Snapshot,
    experiment: Experiment,
    out: Path,
    people: Sequence[Rating] = (),
    data: Path = FILE,
    done: Callable[[], None] = lambda: None,
) -> PlanResults:
    """Draft plans by all methods and have them rated.

    Args:
        judges: the first drafts; all rate.
        snapshot: of the experiment's pages.
        experiment: the temporal one, of which tasks and pages are taken.
        out: where plans, transcripts and ratings are kept.
        people: ratings that count beside the judges'.
        data: the file of timelines that the experiment was made of.
        done: told of each plan that is drafted or has failed.

    Raises:
        InputError: a file cannot be read or written, or a person rated an item that there is not.
    """
    tasks = tasks_of(experiment)
    timelines = taken(load_timelines(data), len(tasks), "timelines")
    drafter = next(iter(judges.values()))
    plans: dict[tuple[str, PlanMethod], Plan] = {}
    undrafted: list[Undrafted] = []
    for method in METHODS:
        path = plans_path(out, method)
        settings = plan_settings(experiment, method, QUESTIONS)
        failed = await draft_plans(drafter, snapshot, tasks, path, settings, done)
        undrafted += [Undrafted(task_id=task.id, method=method, failure=failure) for task, failure in failed]
        plans |= {
            (task_id, method): row.content
            for task_id, row in PLAN_KIND.file(path).rows().items()
            if row.content
        }
    asked = [
        _rate(judge, name, method, task, timeline, plans[task.id, method])
        for name, judge in judges.items()
        for method in METHODS
        for task, timeline in zip(tasks, timelines, strict=True)
        if (task.id, method) in plans
    ]
    ratings = [rating for own in await asyncio.gather(*asked) for rating in own]
    write_jsonl(out / RATINGS, ratings)
    _check_people(people, plans)
    return results_of(plans, [*ratings, *people], timelines, undrafted)


async def _rate(
    judge: Judge, name: str, method: PlanMethod, task: Task, timeline: Timeline, plan: Plan
) -> list[Rating]:
    items = items_of(plan)
    pages = [_page(page) for page in timeline.pages]
    answers = await judge.ask_items(
        lambda wanted: rating_prompt(task, pages, timeline.days[-1], [items[place] for place in wanted]),
        GivenRating,
        len(items),
        names=[item for item, _ in items],
        max_tokens=len(items) * REPLY_TOKENS_PER_ITEM,
    )
    return [
        Rating(
            task_id=task.id,
            method=method,
            item=item,
            question=question,
            rater=name,
            rating=None if isinstance(answer, Failure) else answer.value.rating,
            reason=answer.kind if isinstance(answer, Failure) else answer.value.reason,
        )
        for (item, question), answer in zip(items, answers, strict=True)
    ]


def items_of(plan: Plan) -> list[tuple[str, str]]:
    """Ids and texts of a plan's items, key information first."""
    return [(one.id, one.question) for one in (*plan.key_information, *plan.reasoning)]


def _page(page: PlainPage) -> str:
    return f"address: {page.url}\ntitle: {page.title}\npublished: {page.published}\n\n{page.text}"


def load_ratings(path: Path) -> list[Rating]:
    """Ratings by people: rows as in `ratings.jsonl`, of which `question` and `reason` may be left out.

    Raises:
        InputError: the file cannot be read, a row is malformed or has no rating, or one item is rated twice.
    """
    ratings: list[Rating] = []
    seen: set[tuple[str, str, str, str]] = set()
    for place, one in read_models(path, Rating):
        key = (one.task_id, one.method, one.item, one.rater)
        if one.rating is None:
            raise InputError(f"{place}: needs a rating from {LEAST} to {MOST}")
        if key in seen:
            raise InputError(f"{place}: {one.rater!r} rates {one.item} of task {one.task_id!r} twice")
        seen.add(key)
        ratings.append(one)
    return ratings


def _check_people(people: Sequence[Rating], plans: Mapping[tuple[str, PlanMethod], Plan]) -> None:
    known = {(*key, item) for key, plan in plans.items() for item, _ in items_of(plan)}
    for one in people:
        if (one.task_id, one.method, one.item) not in known:
            raise InputError(
                f"ratings by {one.rater!r}: the plan by {one.method} of task {one.task_id!r} has no item {one.item!r}"
            )


def results_of(
    plans: Mapping[tuple[str, PlanMethod], Plan],
    ratings: Sequence[Rating],
    timelines: Sequence[Timeline],
    undrafted: Sequence[Undrafted] = (),
) -> PlanResults:
    """The tables of plans and their ratings, methods in the order of `METHODS`, raters in that of their rows."""
    drafted = tuple(_drafted(plans, method, timelines) for method in METHODS)
    raters = dict.fromkeys(one.rater for one in ratings)
    qualities = tuple(
        _quality(plans, [one for one in ratings if one.rater == rater], rater, method, timelines)
        for rater in raters
        for method in METHODS
    )
    return PlanResults(drafted=drafted, undrafted=tuple(undrafted), ratings=qualities)


def _drafted(
    plans: Mapping[tuple[str, PlanMethod], Plan], method: PlanMethod, timelines: Sequence[Timeline]
) -> Drafted:
    own = [plans.get((timeline.id, method)) for timeline in timelines]
    found = [plan for plan in own if plan is not None]
    covered = [_covered(plan, timeline) for plan, timeline in zip(own, timelines, strict=True)]
    return Drafted(
        method=method,
        n_tasks=len(timelines),
        n_drafted=len(found),
        items=_mean(len(plan.key_information) for plan in found),
        questions=_mean(len(plan.reasoning) for plan in found),
        covered=None if method == "request" else mean_of(covered),
    )


def _covered(plan: Plan | None, timeline: Timeline) -> Score:
    """Share of a timeline's items whose statement overlaps, in the page's text, with words that the plan rests on."""
    if plan is None:
        return Score(value=None, n_expected=1, n_failed=1, low=0.0, high=1.0, note="no plan")
    quotes = [one.source.quote for one in plan.key_information if one.source and one.source.quote]
    hit = [
        any(quote in item.statement or item.statement.rstrip(".") in quote for quote in quotes)
        for item in timeline.items
    ]
    share = sum(hit) / len(hit)
    return Score(
        value=share, numerator=sum(hit), denominator=len(hit), n_expected=len(hit), low=share, high=share
    )


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return round(math.fsum(listed) / len(listed), 9) if listed else None


def _quality(
    plans: Mapping[tuple[str, PlanMethod], Plan],
    ratings: Sequence[Rating],
    rater: str,
    method: PlanMethod,
    timelines: Sequence[Timeline],
) -> Quality:
    given = {(one.task_id, one.item): one.rating for one in ratings if one.method == method}

    def mean(*kinds: Kind) -> Score:
        return mean_of([_of_plan(plans.get((one.id, method)), one.id, kinds, given) for one in timelines])

    return Quality(
        rater=rater,
        method=method,
        overall=mean(*KINDS),
        key_information=mean("key_information"),
        reasoning=mean("reasoning"),
    )


def _of_plan(
    plan: Plan | None, task_id: str, kinds: Sequence[Kind], given: Mapping[tuple[str, str], int | None]
) -> Score:
    """The mean rating of a plan's items of some kinds; what is not rated may be anything from 1 to 3."""
    if plan is None:
        return Score(value=None, n_expected=1, n_failed=1, low=LEAST, high=MOST, note="no plan")
    ids = [
        *(one.id for one in plan.key_information if "key_information" in kinds),
        *(one.id for one in plan.reasoning if "reasoning" in kinds),
    ]
    rated = [rating for item in ids if (rating := given.get((task_id, item))) is not None]
    missing = len(ids) - len(rated)
    if not ids:
        return Score(value=None, n_undefined=1, note="no such items")
    return Score(
        value=sum(rated) / len(rated) if rated else None,
        numerator=float(sum(rated)),
        denominator=float(len(rated)),
        n_expected=len(ids),
        n_failed=missing,
        low=(sum(rated) + LEAST * missing) / len(ids),
        high=(sum(rated) + MOST * missing) / len(ids),
    )
