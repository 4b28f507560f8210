"""Criteria that are the same for every task, from the package and from a file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_judge.base.errors import ConfigError
from local_judge.protocols.base import load_protocol
from local_judge.protocols.race import Race
from local_judge.protocols.race.judging import criteria_of
from local_judge.protocols.race.settings import RaceSettings
from local_judge.protocols.race.static import static_criteria

from .race_cases import ROW, TASK

DIMENSIONS: dict[str, Any] = {
    name: {"weight": ROW["dimension_weight"][name], "criteria": criteria}
    for name, criteria in ROW["criterions"].items()
}
"""The task's own criteria in the form of a static file."""


def written(path: Path, data: object) -> str:
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return str(path)


def test_a_file_replaces_the_packages_criteria(tmp_path: Path) -> None:
    path = written(tmp_path / "own.yaml", {"dimensions": DIMENSIONS})
    settings = RaceSettings(criteria="static", criteria_file=path)
    bare = TASK.model_copy(update={"criteria": None})
    assert criteria_of(bare, settings) == TASK.criteria
    race = Race(settings)
    assert race.missing_inputs(bare) is None
    assert TASK.criteria is not None
    digest = hashlib.sha256(TASK.criteria.model_dump_json().encode()).hexdigest()
    assert race.data_digest() == digest != Race(RaceSettings(criteria="static")).data_digest()
    assert static_criteria() != static_criteria(path)


def present(file: Path) -> Path:
    if not file.is_file():
        pytest.skip(f"{file} is not there")
    return file


def test_the_packaged_criteria_have_the_published_weights(shared: Path) -> None:
    found = static_criteria()
    prompts = present(shared / "originals/drb/prompt/score_prompt_en.py").read_text(encoding="utf-8")
    published = prompts.partition("generate_static_score_prompt")[2].partition("</criteria_list>")[0]
    lists = [
        json.loads(text)
        for text in re.findall(r"\[.*?\n\]", published.replace("{{", "{").replace("}}", "}"), re.DOTALL)
    ]
    weights = [[criterion.weight for criterion in dimension.criteria] for dimension in found.dimensions]
    assert weights == [[one["weight"] for one in listed] for listed in lists]
    assert weights == [[0.25] * 4, [0.25] * 4, [0.34, 0.33, 0.33], [0.25] * 4]
    own = {
        text
        for one in found.dimensions
        for each in one.criteria
        for text in (each.criterion, each.explanation)
    }
    assert not own & {
        text for listed in lists for one in listed for text in (one["criterion"], one["explanation"])
    }


def test_the_packaged_dimension_weights_are_near_the_means_of_real_tasks(shared: Path) -> None:
    lines = present(shared / "data/reports/drb/criteria.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line)["dimension_weight"] for line in lines]
    for dimension in static_criteria().dimensions:
        # 60 of the 100 tasks are there: .2958, .3473, .2170, .1398 against .292, .352, .215, .141.
        mean = sum(row[dimension.id] for row in rows) / len(rows)
        assert dimension.weight == pytest.approx(mean, abs=0.005)


def changed(dimension: str, **fields: Any) -> Mapping[str, Any]:
    return {"dimensions": DIMENSIONS | {dimension: DIMENSIONS[dimension] | fields}}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ([1], "the file must be a mapping … (got a list)"),
        ({"dimensions": DIMENSIONS, "scale": 5}, "scale: unknown key"),
        (changed("insight", criteria=[]), "dimensions.insight.criteria … empty"),
        (
            changed("insight", criteria=[{"criterion": "A", "weight": 0.4}]),
            "criterions.insight: … not 0.4",
        ),
        (changed("insight", weight=0.5), "dimension_weight: … not 1.15"),
        (
            {"dimensions": {"insight": DIMENSIONS["insight"] | {"weight": 1.0}}},
            "dimension_weight must name comprehensiveness, insight, instruction_following, readability; it names",
        ),
    ],
)  # fmt: skip
def test_a_file_of_another_form_is_refused(tmp_path: Path, data: object, why: str) -> None:
    path = written(tmp_path / "own.yaml", data)
    with pytest.raises(ConfigError) as raised:
        static_criteria(path)
    assert re.match(re.escape(f"{path}: {why}").replace("…", ".*"), str(raised.value))
    assert "\n" not in str(raised.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml: the criteria cannot be read: no such file"):
        Race(RaceSettings(criteria="static", criteria_file=str(tmp_path / "absent.yaml"))).data_digest()
    (tmp_path / "own.yaml").write_text("a: [", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"own\.yaml: line 1: expected the node content"):
        static_criteria(str(tmp_path / "own.yaml"))


def test_what_a_file_is_for() -> None:
    with pytest.raises(ConfigError, match="one file holds the criteria of all tasks; join the files"):
        load_protocol("race", {"criteria": "static", "criteria_file": ["a.yaml", "b.yaml"]})
    with pytest.raises(ConfigError, match="criteria_file holds static criteria; add criteria=static"):
        load_protocol("race", {"criteria_file": "a.yaml"})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('dimensions: {insight: {weight: 1, criteria: [{criterion: "\\ud800", weight: 1}]}}', "lone surrogate"),
        ('dimensions: {"\\ud800": {weight: 1, criteria: [{criterion: A, weight: 1}]}}', "lone surrogate"),
        ("dimensions: &a {insight: {weight: 1, criteria: [*a]}}", r"line 1: the alias \*a is not read"),
        ("dimensions: {insight: {weight: 0.5, weight: 1, criteria: []}}", "the key 'weight' appears twice"),
        ("[" * 20_000, "nested too deeply"),
    ],
)  # fmt: skip
def test_what_yaml_may_hold_and_criteria_may_not(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=why) as raised:
        static_criteria(str(path))
    assert "\n" not in str(raised.value)
