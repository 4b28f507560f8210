"""`local-judge results agree`: agreement of scores with human ratings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

from local_judge.base.errors import ConfigError
from local_judge.cli.modified import AllowModified, marked, print_found, print_marks
from local_judge.cli.options import (
    SCORE,
    AsJson,
    OneOfJudges,
    ProfileName,
    Resamples,
    RunsDiffer,
    Seed,
    SomeProtocol,
    protocol_and_score,
    refuse,
)
from local_judge.cli.output import print_json
from local_judge.lab.experiments.plan_agreement import has_plan_ratings, load_plan_ratings, rated_aspects
from local_judge.lab.experiments.planning import RATINGS
from local_judge.reporting.agreement import (
    Agreement,
    Compared,
    agreement_json,
    agreement_notes,
    agreement_table,
    difference_table,
    judges_table,
    n_judges,
)
from local_judge.reporting.item_agreement import item_agreement, item_json, item_notes, item_tables
from local_judge.runs.results.item_labels import (
    LabelledMetric,
    LabelledRuns,
    has_item_labels,
    label_items,
    load_item_labels,
)
from local_judge.runs.results.joining import Differ, join_runs
from local_judge.runs.results.ratings import Joined, join, load_ratings, ratings_of_run
from local_judge.runs.results.scored import method_reports, protocol_of
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import Profile
from local_judge.stats.agreement.annotators import agreement_of_people
from local_judge.stats.agreement.method import agreement_of_method, difference_of_methods
from local_judge.stats.agreement.ratings import Ties, over_judges
from local_judge.stats.estimate import DRAWS
from local_judge.terminal import stdout


def agree(
    ratings: Annotated[
        Path, typer.Argument(help="People's ratings of reports, or labels of items: CSV or JSONL. Or a run.")
    ],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    protocol: SomeProtocol = None,
    profile: ProfileName = "paper",
    score: Annotated[str, SCORE] = "overall",
    judge: OneOfJudges = None,
    differ: RunsDiffer = None,
    ties: Annotated[
        Ties,
        typer.Option("--ties", help="Treatment of ties in pairwise rates; see docs/guides/agreement.md."),
    ] = "strict",
    rating: Annotated[
        str | None,
        typer.Option(
            "--rating",
            metavar="[PROTOCOL:]PATH",
            help="Score that serves as rating, if RATINGS is a run.",
        ),
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option("--same", metavar="LABEL,LABEL", help="Labels of items that count as one; repeatable."),
    ] = None,
    unfiltered: Annotated[
        bool,
        typer.Option("--unfiltered", help="Also use tasks on which raters disagree for correlations."),
    ] = False,
    seed: Seed = 0,
    resamples: Resamples = DRAWS,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Compare the scores of runs with human ratings, or the answers to items with human labels.

    Ratings give pairwise agreement, correlation and reliability; labels the share of items on which judges agree. Runs
    of one judge without a report in common, such as a run for each system, count as one.
    """
    of_reports = {"--unfiltered": unfiltered, "--ties": ties != "strict"}
    if rating is not None or ratings.is_dir():
        if rating is None or not ratings.is_dir():
            raise ConfigError(
                "--rating: names the score of a run that serves as RATINGS; give both or neither"
            )
        refuse({"--same": bool(same), "--unfiltered": unfiltered}, "scores as ratings")
    elif has_plan_ratings(ratings):
        refuse(of_reports | {"--same": bool(same)}, "ratings of plans")
        _agree_on_plans(ratings, runs, seed, resamples, as_json)
        return
    elif has_item_labels(ratings):
        refuse(of_reports, "labels")
        _agree_on_items(ratings, runs, protocol, profile, judge, differ, same, seed, resamples, as_json)
        return
    else:
        refuse({"--same": bool(same)}, "ratings")
    protocol, named = protocol_and_score(protocol, score)
    score = named or score
    if rating is None:
        rated = load_ratings(ratings)
    else:
        protocol_of_rating, path = protocol_and_score(None, rating)
        rated = ratings_of_run(ratings, protocol_of_rating, profile, path or rating)
    filtered = rating is None and not unfiltered
    protocols = [protocol_of(RunStore(run), protocol) for run in runs]
    joining = join_runs(runs, judge, differ)
    scores = [(one, method_reports(one, protocol, profile, score)) for one in joining.methods]
    joined = join(rated, scores)
    found = _agreement(joined, rated.n_empty, joining.reason, ties, filtered, seed, resamples)
    if as_json:
        said = {"protocols": protocols, "profile": profile, "score": score, "judge": judge, "rating": rating}
        print_json(marked(said | agreement_json(found)))
        return
    print_marks()
    console = stdout()
    raters = "human ratings" if rating is None else f"{rating} as ratings"
    what = f"{', '.join(dict.fromkeys(protocols))}: {score} ({profile} profile)"
    console.print(agreement_table(found, f"agreement with {raters}, {what}"))
    for table in (judges_table(found.over_judges, n_judges(found)), difference_table(found)):
        if table.lines:
            console.print(table)
    for line in agreement_notes(found):
        console.print(line)


def _agree_on_plans(path: Path, runs: Sequence[Path], seed: int, resamples: int, as_json: bool) -> None:
    """Compare people's ratings of the items of plans with those of judges, and with each other."""
    judges = [one for run in runs for one in load_plan_ratings(run / RATINGS)]
    aspects = rated_aspects(load_plan_ratings(path), judges, seed=seed, draws=resamples)
    names = tuple(dict.fromkeys(one.rater for one in judges))
    metrics = tuple(
        LabelledMetric(
            one.aspect,
            one.items,
            tuple(name for name in names if any(name in item.judges for item in one.items)),
            {},
            (),
        )
        for one in aspects
    )
    n = sum(len(item.labels) for one in metrics for item in one.items)
    labelled = LabelledRuns(metrics, n, 0, (), ())
    orders = {one.aspect: one.order for one in aspects}
    found = item_agreement(labelled, people=orders, clusters="tasks", seed=seed, draws=resamples)
    print_found(item_json(found), [*item_tables(found), *item_notes(found)], as_json)


def _agree_on_items(
    path: Path,
    runs: Sequence[Path],
    protocol: str | None,
    profile: Profile,
    judge: str | None,
    differ: Differ | None,
    same: Sequence[str] | None,
    seed: int,
    resamples: int,
    as_json: bool,
) -> None:
    """Compare the answers to items with people's labels."""
    labels = load_item_labels(path)
    joining = join_runs(runs, judge, differ)
    groups = [[name.strip() for name in one.split(",") if name.strip()] for one in same or ()]
    labelled = label_items(labels, joining.methods, protocol, profile, groups)
    ensembles = [one.name for one in joining.methods if one.ensemble]
    found = item_agreement(labelled, ensembles, joining.reason, seed=seed, draws=resamples)
    said = {"protocol": protocol, "profile": profile, "judge": judge, "same": groups}
    print_found(said | item_json(found), [*item_tables(found), *item_notes(found)], as_json)


def _agreement(
    joined: Joined, n_empty: int, reason: str, ties: Ties, filtered: bool, seed: int, resamples: int
) -> Agreement:
    """Compute the agreement among raters, of each judge with the raters, and the differences between judges."""
    per_method = partial(agreement_of_method, ties=ties, filtered=filtered, seed=seed, draws=resamples)
    per_pair = partial(difference_of_methods, ties=ties, filtered=filtered, seed=seed, draws=resamples)
    methods = tuple(per_method(one.tasks) for one in joined.methods)
    judges = [
        found.measures for found, one in zip(methods, joined.methods, strict=True) if not one.method.ensemble
    ]
    return Agreement(
        joined,
        n_empty,
        agreement_of_people(joined.tasks, ties=ties, seed=seed, draws=resamples),
        methods,
        over_judges(judges),
        tuple(
            Compared(one, other, per_pair(one.tasks, other.tasks))
            for one, other in combinations(joined.methods, 2)
            if one.method.ensemble == other.method.ensemble
        ),
        reason,
        ties,
        filtered,
        seed,
        resamples,
    )
