"""LiveResearchBench's published results read as findings.

    detailed_results_DATE.json   answers about each report
    summary_DATE.json            means of each system; also two judges' summaries averaged by `average_results.py`

Invariants: the score of the profile `upstream` is the file's. Where it does not follow from a report's answers, the
score is stated and the answers are left out. The games of analysis depth are pooled over reports, so that a winner that
differs from the replies beside it is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isclose
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from local_judge.base.errors import InputError
from local_judge.base.failures import Failure
from local_judge.base.rows import (
    number_in,
    object_of,
    optional_text,
    row_id,
)
from local_judge.protocols.asking import Requirement
from local_judge.protocols.checklist import Item
from local_judge.protocols.file_formats import (
    UNNAMED,
    Imported,
    ImportedReport,
    content_id,
    file_digest,
    read_record,
    result_file,
)
from local_judge.protocols.liveresearchbench import upstream
from local_judge.protocols.liveresearchbench.depth.games import DepthFindings, Opponent, Order, Outcome, Pair
from local_judge.protocols.liveresearchbench.depth.scores import LABEL as DEPTH_LABEL
from local_judge.protocols.liveresearchbench.findings import LrbFindings
from local_judge.protocols.liveresearchbench.metrics.coverage import Coverage, CoverageFindings
from local_judge.protocols.liveresearchbench.metrics.issues import (
    PUBLISHED,
    CitationAssociation,
    Consistency,
    Issue,
    IssueFindings,
    IssueSettings,
)
from local_judge.protocols.liveresearchbench.metrics.presentation import (
    CHECKS,
    Presentation,
    PresentationFindings,
)
from local_judge.protocols.liveresearchbench.original_prompts import item_of, listed_of, order_of
from local_judge.protocols.metric import MetricFindings
from local_judge.protocols.stated import ALL, Stated, StatedScore

DETAILED, SUMMARY = "detailed_results*.json", "summary*.json"
SUFFIX = "_grading_results"
LABELS = {
    **{metric.id: metric.label for metric in (Presentation, Coverage, Consistency, CitationAssociation)},
    "depth": f"{DEPTH_LABEL}: win rate",
}
GAMES = {
    "wins": "Wins",
    "losses": "Losses",
    "ties": "Ties",
    "decisive_games": "Decisive games",
    "total": "Games",
}
"""Counts of a summary's depth, with the labels of the scores that they are."""
_GAME_IDS = {"decisive_games": "decisive", "total": "games"}
_MOST_GAMES = 10**9
_MOST_RATE = 100_000
"""A rate exceeds 100 where the judge answers surplus items: 100,000 if it answers 1,000 for a checklist of one."""
_WON: dict[str, Outcome] = {upstream.EVALUATED: "report", upstream.REFERENCE: "other", upstream.TIE: "tie"}

Object = dict[str, Any]
LrbReport = ImportedReport[LrbFindings]


def read_published(path: Path) -> Imported[LrbFindings]:
    """Return the findings in a file, or in a folder of results.

    Raises:
        InputError: it cannot be read or has another form; names the place and the fault.
    """
    file = result_file(path, (DETAILED, SUMMARY))
    data = read_record(file)
    read = _means if "results_by_model" in data else _reports
    return Imported(list(read(data, file)), file_digest(file))


def _reports(data: Object, path: Path) -> Iterator[LrbReport]:
    rows = [
        object_of(row, f"{path}: reports[{n}]") for n, row in enumerate(_list(data, "reports", str(path)))
    ]
    if not any(key.endswith(SUFFIX) for row in rows for key in row):
        raise InputError(f"{path}: no report has results")
    places = [f"{path}: reports[{n}]" for n in range(len(rows))]
    systems = [optional_text(row, "model_name", place) for row, place in zip(rows, places, strict=True)]
    several = len(set(systems)) > 1
    seen: set[tuple[str | None, str]] = set()
    for row, place, system in zip(rows, places, systems, strict=True):
        task = row_id(row, place, "query_id")
        if task is None or (system, task) in seen:
            raise InputError(f"{place}: {'no query_id' if task is None else f'{task!r} occurs twice'}")
        seen.add((system, task))
        case = f"{system}/{task}" if several else task
        yield ImportedReport(_findings(row, case, task, place), task, None if system == UNNAMED else system)


def _findings(row: Object, case: str, task: str, place: str) -> LrbFindings:
    parts: dict[str, MetricFindings] = {}
    scores: list[StatedScore] = []
    for name, read in _READ.items():
        where = f"{place}: {name}{SUFFIX}"
        result = object_of(row.get(f"{name}{SUFFIX}", {}), where)
        if "averaged_at" in result:
            raise InputError(f"{where}: averaged over two judges; import the results of each judge")
        value = _stated_value(name, result, where)
        found = read(result, row, where) if result else None
        if found is not None:
            parts[name] = found
        elif value is not None:
            scores.append(_score(name, value))
    return LrbFindings.model_validate(
        {
            "case": case,
            "document": content_id(row),
            "task": task,
            "request": optional_text(row, "query", place) or "",
            "stated": Stated(scores=tuple(scores), record=cast("dict[str, JsonValue]", row)),
            **parts,
        }
    )


def _stated_value(name: str, result: Object, where: str) -> float | None:
    """Return the number that the published summary takes from a result; None if it takes none."""
    object_of(result.get("summary", {}), f"{where}: summary")
    stated = cast("object", upstream.value_of({f"{name}{SUFFIX}": result}, name))
    most = _MOST_RATE if name in ("presentation", "coverage") else 100
    value = number_in(stated, 0, most)
    if stated is not None and value is None:
        raise InputError(f"{where}: {str(stated)[:40]!r} is not a score from 0 to {most:,}")
    return value


def _presentation(result: Object, row: Object, where: str) -> PresentationFindings | None:
    items = _items(result, CHECKS, where)
    rate = upstream.presentation_summary(upstream.evaluations(items))["average_pass_rate"]
    return PresentationFindings(items=items) if _follows("presentation", result, rate, items) else None


def _coverage(result: Object, row: Object, where: str) -> CoverageFindings | None:
    summary: Object = result.get("summary", {})
    n = summary.get("total_checklists")
    if type(n) is not int or not 0 < n <= 1000:
        return None
    asked = [Requirement(f"q{number}", f"Item {number} of the checklist") for number in range(1, n + 1)]
    items = _items(result, asked, where)
    rate = upstream.coverage_summary(upstream.evaluations(items), n)["percentage_addressed"]
    found = CoverageFindings(items=items, status="given")
    return found if _follows("coverage", result, rate, items) else None


def _follows(name: str, result: Object, rate: float, items: tuple[Item, ...]) -> bool:
    """Check whether a file's rate, or its absence, follows from the answers: without it, most of them are missing."""
    summary: Object = result.get("summary", {})
    stated = summary.get(upstream.RATES[name])
    if stated is None:
        return bool(summary) and 2 * sum(item.status != "failed" for item in items) < len(items)
    return isclose(rate, stated)


def _items(
    result: Object, asked: tuple[Requirement, ...] | list[Requirement], where: str
) -> tuple[Item, ...]:
    evaluations = object_of(result.get("evaluations", {}), f"{where}: evaluations")
    return tuple(item_of(one, evaluations) for one in asked)


def _issues(metric: str) -> Callable[[Object, Object, str], IssueFindings | None]:
    def read(result: Object, row: Object, where: str) -> IssueFindings | None:
        found: dict[str, Any] = {
            "metric": metric,
            "limit": IssueSettings().limit,
            "table": PUBLISHED,
            "checked": False,
        }
        try:
            listed = listed_of(result)
        except ValueError as error:
            if result.get("score") is not None:
                return None
            found["failure"] = Failure(kind="incomplete", detail=f"published file: {error}")
        else:
            found["issues"] = [Issue(quoted=(), reason=text, fate="counted") for text in listed.issues]
            found["chosen"] = listed.score
        return IssueFindings.model_validate(found)

    return read


def _depth(result: Object, row: Object, where: str) -> DepthFindings | None:
    orders: list[Order] = []
    for number in (1, 2):
        if f"winner_comparison_{number}" not in result:
            failure = Failure(kind="incomplete", detail="published file: no winner")
            orders.append(Order(report_first=number == 1, failure=failure))
            continue
        won = result.get(f"winner_comparison_{number}")
        if not isinstance(won, str) or won not in _WON:
            raise InputError(f"{where}: winner_comparison_{number}: not one of {', '.join(_WON)}")
        reply = object_of(result.get(f"raw_comparison_{number}", {}), f"{where}: raw_comparison_{number}")
        try:
            order = order_of(reply, report_first=number == 1)
        except ValueError as error:
            failure = Failure(kind="invalid_reply", detail=f"published file: {error}")
            order = Order(report_first=number == 1, said=_WON[won], failure=failure)
        if order.said != _WON[won]:
            raise InputError(f"{where}: winner_comparison_{number} is {won}, and its reply names another")
        orders.append(order)
    name = optional_text(result, "reference_model", where) or upstream.BASELINE
    opponent = Opponent(kind="baseline", name=name, document="", n_characters=0)
    pair = Pair(opponent=opponent, orders=(orders[0], orders[1]))
    return DepthFindings(task=str(row["query_id"]), document=content_id(row), pairs=(pair,))


_READ: Mapping[str, Callable[[Object, Object, str], MetricFindings | None]] = {
    "presentation": _presentation,
    "coverage": _coverage,
    "consistency": _issues("consistency"),
    "citation": _issues("citation"),
    "depth": _depth,
}


def _means(data: Object, path: Path) -> Iterator[LrbReport]:
    systems = object_of(data["results_by_model"], f"{path}: results_by_model")
    if not systems:
        raise InputError(f"{path}: no model in results_by_model")
    for system, results in systems.items():
        place = f"{path}: results_by_model.{system[:60]}"
        scores = [score for name in LABELS for score in _mean(name, object_of(results, place), place)]
        if not scores:
            raise InputError(f"{place}: none of {', '.join(LABELS)}")
        stated = Stated(of="system", scores=tuple(scores), record=results)
        yield ImportedReport(
            LrbFindings(case=system, document=content_id(results), task=ALL, stated=stated), ALL, system
        )


def _mean(name: str, results: Object, place: str) -> Iterator[StatedScore]:
    if name not in results:
        return
    figures = object_of(results[name], f"{place}.{name}")
    keys = ("win_rate", *GAMES) if name == "depth" else ("mean",)
    values: dict[str, float] = {}
    for key in keys:
        value = number_in(figures.get(key), 0, _MOST_GAMES if key in GAMES else 100)
        if value is None:
            raise InputError(
                f"{place}.{name}.{key}: {str(figures.get(key))[:40]!r} is not a number that it can be"
            )
        values[key] = value
    if name != "depth":
        yield _score(name, values["mean"])
        return
    fault = _fault_in_games(values, averaged="by_judge" in figures)
    if fault:
        raise InputError(f"{place}.{name}: {fault}")
    # The published code writes 0 where no game is decisive.
    yield _score(name, values["win_rate"] if values["decisive_games"] else None)
    for key, label in GAMES.items():
        yield _score(f"depth/{_GAME_IDS.get(key, key)}", values[key], label)


def _fault_in_games(values: Mapping[str, float], averaged: bool) -> str:
    """Return what is wrong with a summary's counts of games; '' if nothing is.

    Args:
        values: counts and win rate by key.
        averaged: means of two judges' counts, except `total`, and of their win rates.
    """
    whole = ("total",) if averaged else tuple(GAMES)
    broken = next((key for key in whole if not values[key].is_integer()), None)
    if broken:
        return f"{broken}: {values[broken]} is not a whole number"
    wins, losses, decisive = values["wins"], values["losses"], values["decisive_games"]
    if wins + losses != decisive:
        return f"decisive_games: {decisive:g} is not the sum of {wins:g} wins and {losses:g} losses"
    if averaged:
        return ""
    if decisive + values["ties"] != values["total"]:
        return f"total: {values['total']:g} is not the sum of wins, losses and ties"
    rate = wins / decisive * 100 if decisive else 0
    if not isclose(values["win_rate"], rate):
        return f"win_rate: {values['win_rate']:g}, and {rate:g} follows from {wins:g} wins of {decisive:g}"
    return ""


def _score(path: str, value: float | None, label: str | None = None) -> StatedScore:
    return StatedScore(path=path, label=label or LABELS[path], value=value, profiles=("upstream",))


def _list(data: Object, key: str, place: str) -> list[object]:
    found = data.get(key)
    if not isinstance(found, list) or not found:
        raise InputError(f"{place}: no list {key} with a report in it")
    return cast("list[object]", found)
