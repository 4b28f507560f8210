"""Where dimensions of quality are read from: our own files, and what DeepResearchEval keeps of its runs.

    FILE.jsonl    one row a task, as `local-judge tasks dimensions` writes
    FILE.json     results of DeepResearchEval, ours or its own: `query_results` by task id
    FOLDER        its cache, `point_quality/outputs/cache`: JSON files with keys `dimensions_ID`, `weights_ID_K` and
                  `criteria_ID_DIMENSION`; a single file of it may be given too

Invariant: what is read is checked as a row of our own is. A cached answer that failed there (no dimensions, no weight
for one, a stand-in for criteria) is refused in one line, and never judged by.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from indexes.strict_json import strict_json
from local_judge.errors import InputError
from local_judge.rows import read_text
from local_judge.tasks.dimensions import GENERAL, DimensionsRow, key_of
from local_judge.tasks.joining import Keyed
from local_judge.tasks.kinds import Kind

_CACHED = re.compile(r"(dimensions|weights|criteria)_([0-9]{1,18})(?:_(.+))?")
_STAND_IN = re.compile(r"general \w+ assessment", re.IGNORECASE)
"""The criterion that the published code makes up where its judge gave none."""

Json = Mapping[str, Any]


def _published(path: Path, open_dates: bool) -> list[Keyed[DimensionsRow]] | None:
    """The rows of what DeepResearchEval keeps; None for a file of our own."""
    if path.is_dir():
        rows = _cached(_merged(sorted(path.glob("*.json"))), path)
    elif path.suffix.lower() == ".json":
        data = _object(path)
        rows = _results(data, path) if "query_results" in data else _cached(data, path)
    else:
        return None
    return [Keyed(place, row.key, row.request, row) for place, row in rows]


DIMENSIONS_KIND = Kind("dimensions", "dimensions", DimensionsRow, other_forms=_published)


def _object(path: Path) -> Json:
    try:
        data: object = strict_json(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: expected a JSON object")
    return cast("Json", data)


def _merged(paths: Sequence[Path]) -> Json:
    merged: dict[str, Any] = {}
    for path in paths:
        for key, value in _object(path).items():
            if _CACHED.fullmatch(key) and key in merged:
                raise InputError(f"{path}: {key!r} stands in another file of the folder too")
            merged[key] = value
    return merged


def _cached(data: Json, path: Path) -> list[tuple[str, DimensionsRow]]:
    """The rows of a cache: what there is for each task that has dimensions there."""
    tasks = [
        found[2] for key in data if (found := _CACHED.fullmatch(key)) and key == f"dimensions_{found[2]}"
    ]
    rows: list[tuple[str, DimensionsRow]] = []
    for task in sorted(tasks, key=int):
        place = f"{path}: dimensions_{task}"
        own = data[f"dimensions_{task}"]
        if not isinstance(own, list):
            raise InputError(f"{place}: expected a list")
        additional = cast("list[Any]", own)
        weights = f"weights_{task}_{len(additional)}"
        if weights not in data:
            raise InputError(f"{place}: {weights!r} is not there")
        criteria = {
            key_of(found[3]): data[key]
            for key in data
            if (found := _CACHED.fullmatch(key)) and found[1] == "criteria" and found[2] == task and found[3]
        }
        rows.append((place, _row(task, None, additional, data[weights], criteria, place)))
    return rows


def _results(data: Json, path: Path) -> list[tuple[str, DimensionsRow]]:
    """The rows of a file of results."""
    found: object = data["query_results"]
    if not isinstance(found, dict):
        raise InputError(f"{path}: query_results: expected a JSON object")
    rows: list[tuple[str, DimensionsRow]] = []
    for task, result in cast("dict[str, Any]", found).items():
        place = f"{path}: query_results.{task}"
        try:
            prompt, additional = result["query_prompt"], result["additional_dimensions"]
            weights, criteria = result["dimension_weights"], result["all_criteria"]
        except (KeyError, TypeError) as error:
            raise InputError(f"{place}: misses {error}") from None
        rows.append((place, _row(task, prompt, additional, weights, criteria, place)))
    return rows


def _row(
    task: str, prompt: str | None, additional: Sequence[Any], weights: Any, criteria: Any, place: str
) -> DimensionsRow:
    """A row from the published project's own data."""
    try:
        defined = {name: (shown, text, "general") for name, (shown, text) in GENERAL.items()}
        for one in additional:
            name = one["meta_dimension_name"]
            defined.setdefault(key_of(name), (name, one.get("definition", ""), "specific"))
        if len(defined) != len(GENERAL) + len(additional):
            raise InputError(f"{place}: a dimension of the task has the name of another")
        by_key = {key_of(name): weight for name, weight in weights.items()}
        lists = {key_of(name): rows for name, rows in criteria.items()}
        entries = [
            {
                "name": shown,
                "definition": text,
                "kind": kind,
                "weight": by_key[key],
                "criteria": [
                    {name: one[name] for name in ("criterion", "explanation", "weight") if name in one}
                    for one in lists[key]
                ],
            }
            for key, (shown, text, kind) in defined.items()
        ]
    except KeyError as error:
        raise InputError(f"{place}: has nothing for {error.args[0]!r}") from None
    except (TypeError, AttributeError):
        raise InputError(f"{place}: not in the form of DeepResearchEval") from None
    row = DimensionsRow.parse({"task_id": task, "task": prompt, "dimensions": entries}, place)
    for entry in row.dimensions:
        if len(entry.criteria) == 1 and _STAND_IN.fullmatch(entry.criteria[0].criterion):
            raise InputError(
                f"{place}: the criteria of {entry.id!r} are the stand-in of a failed answer; draft them again"
            )
    return row
