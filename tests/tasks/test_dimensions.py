"""Dimensions of tasks: what a row may hold, how weights are settled, which files are read, how they join."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.tasks.dimensions import DIMENSIONS_KIND, DimensionsRow, key_of
from local_judge.tasks.model import Task

from ..protocols.deepresearcheval.dre_cases import QUALITY, ROW

BARE = Task(id="7", prompt=ROW["task"])


def changed(change: Callable[[list[Any]], object]) -> dict[str, Any]:
    row = copy.deepcopy(ROW)
    change(row["dimensions"])
    return row


def test_weights_are_divided_by_their_sum_and_kept_as_written() -> None:
    row = DimensionsRow.model_validate(ROW)
    assert [one.weight for one in row.dimensions] == [3, 2, 1, 1, 2, 1]
    quality = row.content
    assert quality is not None
    assert [one.weight for one in quality.dimensions] == pytest.approx([0.3, 0.2, 0.1, 0.1, 0.2, 0.1])
    assert [one.weight for one in quality.dimensions[4].criteria] == pytest.approx([0.2, 0.8])
    assert [one.id for one in quality.dimensions[4].criteria] == ["cost_accounting.1", "cost_accounting.2"]
    assert quality.dimensions[5].id == "sources_of_money"


def test_general_dimensions_come_first() -> None:
    row = DimensionsRow.model_validate(changed(lambda rows: rows.reverse()))
    quality = row.content
    assert quality is not None
    assert [one.id for one in quality.dimensions] == [
        "coverage",
        "insight",
        "instruction_following",
        "clarity",
        "sources_of_money",
        "cost_accounting",
    ]


def test_weights_that_no_sum_holds() -> None:
    row = changed(lambda rows: [one.update(weight=1e308) for one in rows])
    quality = DimensionsRow.model_validate(row).content
    assert quality is not None
    assert [one.weight for one in quality.dimensions] == pytest.approx([1 / 6] * 6)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Metric Utility", "metric_utility"),
        ("Cross-Regional  Synthesis", "cross_regional_synthesis"),
        ("成本 核算", "成本_核算"),
        ("“”", ""),
    ],
)
def test_keys(name: str, key: str) -> None:
    assert key_of(name) == key


WRONG: list[tuple[Callable[[list[Any]], object], str]] = [
    (lambda rows: rows.pop(0), "the general dimensions must be coverage"),
    (lambda rows: rows.__delitem__(slice(4, 6)), "0 specific dimensions; there must be 1 to 3"),
    (
        lambda rows: rows.extend([{**rows[4], "name": name} for name in "xy"]),
        "4 specific dimensions; there must be 1 to 3",
    ),
    (
        lambda rows: rows[5].update(name="cost-accounting"),
        "the name of dimension 'cost-accounting' appears twice",
    ),
    (lambda rows: rows[5].update(name="Clarity"), "the name of dimension 'Clarity' appears twice"),
    (lambda rows: rows[5].update(name="..."), "the name of dimension '...' has no letter or digit"),
    (lambda rows: [one.update(weight=0) for one in rows], "the weights of the dimensions are all 0"),
    (lambda rows: rows[0].update(weight=-1), "dimensions.0.weight must be "),
    (lambda rows: rows[0].update(weight="1"), "dimensions.0.weight"),
    (lambda rows: rows[0]["criteria"].clear(), "dimensions.0.criteria"),
    (
        lambda rows: rows[0].update(criteria=[{"criterion": str(i), "weight": 1} for i in range(11)]),
        "dimensions.0.criteria",
    ),
    (lambda rows: rows[4]["criteria"][1].update(criterion=" totals"), "two criteria have the text 'totals'"),
    (lambda rows: rows[1]["criteria"][0].update(weight=0), "the weights of its criteria are all 0"),
    (lambda rows: rows[1].update(colour="red"), "dimensions.1.colour: unknown key"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_what_is_no_set_of_dimensions(change: Callable[[list[Any]], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        DimensionsRow.parse(changed(change), "file:3")
    assert str(caught.value).startswith("file:3: ") and message in str(caught.value)


def test_weights_are_finite() -> None:
    with pytest.raises(InputError, match="file:3"):
        DimensionsRow.parse(changed(lambda rows: rows[0].update(weight=float("inf"))), "file:3")


def test_edited_as_yaml() -> None:
    row = DimensionsRow.model_validate({**ROW, "status": "drafted"})
    assert row.edited(row.editable) is row
    after = row.reviewed("Ada", row.editable.replace("Payers", "Who paid"))
    assert (after.status, after.reviewer) == ("reviewed", "Ada")
    assert after.dimensions[0].criteria[1].criterion == "Who paid"
    assert after.before is not None and after.before.dimensions == row.dimensions
    for text, message in (
        ("dimensions: [", "not YAML"),
        ("a: 1", "expected the key dimensions"),
        ("dimensions: []", ""),
    ):
        with pytest.raises(InputError, match=f"task '7': {message}"):
            row.edited(text)


def published(stem: str = "7") -> dict[str, Any]:
    """The task as the published project keeps it."""
    entries = ROW["dimensions"]
    keys = ["coverage", "insight", "instruction_following", "clarity", "cost_accounting", "sources_of_money"]
    return {
        f"dimensions_{stem}": [
            {"meta_dimension_name": one["name"], "definition": one["definition"]} for one in entries[4:]
        ],
        f"weights_{stem}_2": {key: one["weight"] / 10 for key, one in zip(keys, entries, strict=True)},
        **{
            f"criteria_{stem}_{key}": [dict(one) for one in entry["criteria"]]
            for key, entry in zip(keys, entries, strict=True)
        },
    }


def test_the_published_cache_in_files_of_a_folder(tmp_path: Path) -> None:
    for kind in ("dimensions", "weights", "criteria"):
        part = {key: value for key, value in published().items() if key.startswith(kind)}
        (tmp_path / f"{kind}.json").write_text(json.dumps(part))
    (tmp_path / "scores.json").write_text(json.dumps({"scores_7_123": {}}))
    task = DIMENSIONS_KIND.join(BARE, DIMENSIONS_KIND.load(tmp_path))
    assert task is not None and task.dimensions is not None
    found = task.dimensions
    assert [(one.id, one.kind, round(one.weight, 9)) for one in found.dimensions] == [
        (one.id, one.kind, round(one.weight, 9)) for one in QUALITY.dimensions
    ]
    assert [[one.criterion for one in dimension.criteria] for dimension in found.dimensions] == [
        [one.criterion for one in dimension.criteria] for dimension in QUALITY.dimensions
    ]
    assert found.status == "given"


def test_published_results(tmp_path: Path) -> None:
    cache = published()
    result = {
        "query_prompt": ROW["task"],
        "additional_dimensions": cache["dimensions_7"],
        "dimension_weights": cache["weights_7_2"],
        "all_criteria": {
            key.removeprefix("criteria_7_"): value
            for key, value in cache.items()
            if key.startswith("criteria")
        },
    }
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"query_results": {"7": result}}))
    [row] = DIMENSIONS_KIND.load(path).rows
    assert (row.id, row.prompt) == ("7", ROW["task"])
    quality = row.value.content
    assert quality is not None and len(quality.dimensions) == 6


def broken(path: Path, change: Callable[[dict[str, Any]], object]) -> str:
    cache = published()
    change(cache)
    path.write_text(json.dumps(cache))
    with pytest.raises(InputError) as caught:
        DIMENSIONS_KIND.load(path)
    return str(caught.value)


def test_what_failed_when_it_was_cached_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cache.json"
    stand_in = [{"criterion": "General clarity assessment", "explanation": "", "weight": 1.0}]
    line = broken(path, lambda cache: cache.update(criteria_7_clarity=stand_in))
    assert "the criteria of 'clarity' are the placeholder of a failed answer" in line
    line = broken(path, lambda cache: cache["weights_7_2"].pop("coverage"))
    assert line == f"{path}: dimensions_7: has no entry for 'coverage'"
    line = broken(path, lambda cache: cache.pop("criteria_7_insight"))
    assert line.endswith("has no entry for 'insight'")
    line = broken(path, lambda cache: cache.update(dimensions_7=[], weights_7_0=cache["weights_7_2"]))
    assert "0 specific dimensions" in line
    line = broken(path, lambda cache: cache.update(dimensions_7=[5], weights_7_1=cache["weights_7_2"]))
    assert "dimensions_7: additional_dimensions.0" in line
    line = broken(path, lambda cache: cache.pop("weights_7_2"))
    assert "'weights_7_2' is missing" in line


def test_files_that_hold_none(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for text, message in (("[]", "a.json: expected a"), ("{", "not JSON"), ("{}", "no dimensions in it")):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            DIMENSIONS_KIND.load(path)
