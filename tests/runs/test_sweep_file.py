"""Sweep files: how they expand to run files, and what is refused in one line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_judge.base.errors import ConfigError, InputError, UserError
from local_judge.runs.execution.job import selected
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.planning.run_file import Selection, load_run_file
from local_judge.runs.sweeps.file import NamedRun, expanded, load_sweep_file

REPORTS = [
    RawReport(f"{system}-{task}", b"", None, "", system, task)
    for system in ("alder", "birch")
    for task in "xyz"
]


def expand(folder: Path, sweep: dict[str, Any] | None, **keys: Any) -> dict[str, NamedRun]:
    path = folder / "sweep.yaml"
    path.write_text(yaml.safe_dump({"out": "out", **keys, "sweep": sweep}))
    return {run.name: run for run in expanded(load_sweep_file(path, {}), REPORTS)}


def pairs(run: NamedRun) -> set[str]:
    return {report.id for report in selected(REPORTS, run.file.select)}


def test_runs_are_the_product_of_judges_settings_and_draws(tmp_path: Path) -> None:
    runs = expand(
        tmp_path,
        {
            "judges": ["qwen3-8b", ["qwen3-8b", "qwen3-14b"]],
            "settings": {"default": None, "terse": {"claims": {"form": "terse"}}},
            "draws": 2,
        },
        protocols=["deer", "fact"],
        claims={"method": "scored"},
    )
    assert list(runs) == [
        f"{judges}{rest}"
        for judges in ("qwen3-8b", "qwen3-8b+qwen3-14b")
        for rest in ("", ".draw1", ".terse", ".terse.draw1")
    ]
    run = runs["qwen3-8b+qwen3-14b.terse.draw1"].file
    assert (run.judges, run.draw, run.protocols) == (("qwen3-8b", "qwen3-14b"), 1, ("deer", "fact"))
    assert (run.claims.form, run.claims.method) == ("terse", "scored")
    assert (run.out, run.ledger) == (
        tmp_path / "out/runs/qwen3-8b+qwen3-14b.terse.draw1",
        tmp_path / "out/ledger.sqlite",
    )
    assert pairs(runs["qwen3-8b"]) == {report.id for report in REPORTS} and not runs["qwen3-8b"].file.select


def test_a_longer_file_keeps_the_names_of_a_shorter_one(tmp_path: Path) -> None:
    short = expand(tmp_path, {"judges": ["qwen3-8b"]}, protocols=["deer"])
    longer = expand(
        tmp_path,
        {"judges": ["qwen3-8b", "qwen3-14b"], "settings": {"default": None, "b": {"reasks": 1}}, "draws": 3},
        protocols=["deer", "fact"],
    )
    assert list(short) == ["qwen3-8b"] and "qwen3-8b" in longer


def test_cells_are_excluded_included_and_overridden(tmp_path: Path) -> None:
    runs = expand(
        tmp_path,
        {
            "judges": ["qwen3-8b"],
            "tasks": ["x", "y"],
            "exclude": [
                {"protocols": "fact", "systems": "birch"},
                {"tasks": ["y"], "systems": "alder", "judges": "qwen3-8b"},
            ],
            "include": [{"judges": "qwen3-14b", "tasks": "z", "protocols": ["fact"]}],
            "overrides": [
                {"judges": "qwen3-14b", "set": {"reasks": 4}},
                {"draws": 0, "set": {"date": "2026-01-01"}},
            ],
        },
        protocols=["deer", "fact"],
    )
    assert {name: (run.file.protocols, pairs(run)) for name, run in runs.items()} == {
        "qwen3-8b.deer": (("deer",), {"alder-x", "birch-x", "birch-y"}),
        "qwen3-8b.fact": (("fact",), {"alder-x"}),
        "qwen3-14b": (("fact",), {"alder-z", "birch-z"}),
    }
    assert [run.file.reasks for run in runs.values()] == [2, 2, 4]
    assert {str(run.file.date) for run in runs.values()} == {"2026-01-01"}
    # The selection names the cells, not a rectangle around them.
    assert runs["qwen3-8b.deer"].file.select == (
        Selection(tasks=("x",)),
        Selection(systems=("birch",), tasks=("y",)),
    )


def test_the_limit_counts_reports_after_exclusions(tmp_path: Path) -> None:
    keys = {"protocols": ["deer"], "limit": 2}
    cells: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["alder-x", "alder-y"]),
        ({"systems": ["birch"]}, ["birch-x", "birch-y"]),
        ({"tasks": ["z"]}, ["alder-z", "birch-z"]),
        ({"exclude": [{"systems": "alder", "tasks": ["x", "y"]}]}, ["alder-z", "birch-x"]),
        ({"tasks": ["y"], "include": [{"systems": "birch", "tasks": "z"}]}, ["alder-y", "birch-y"]),
    ]
    for given, evaluated in cells:
        [run] = expand(tmp_path, {"judges": ["qwen3-8b"], **given}, **keys).values()
        chosen = selected(REPORTS, run.file.select)[: run.file.limit]
        assert [report.id for report in chosen] == evaluated


def test_presets_of_rules_are_files_of_the_folder(tmp_path: Path) -> None:
    include = [{"judges": ["mine.yaml"]}, {"judges": ["./mine.yaml", "qwen3-8b"]}]
    runs = expand(tmp_path, {"judges": ["qwen3-8b"], "include": include}, protocols=["deer"])
    assert {name: run.file.judges for name, run in runs.items()} == {
        "qwen3-8b": ("qwen3-8b",),
        "mine": (str(tmp_path / "mine.yaml"),),
    }


def test_each_run_file_says_the_whole_run(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("")
    runs = expand(
        tmp_path,
        {
            "judges": ["./mine.yaml", "qwen3-8b"],
            "settings": {"r": {"settings": {"race": {"mode": "pointwise"}}}},
        },
        protocols=["race", "deer"],
        base_urls=["mine=http://a/v1", "http://b/v1"],
        extractor="qwen3-8b",
    )
    one = runs["mine.r"].file
    path = tmp_path / "one.yaml"
    path.write_text(one.as_yaml())
    again = load_run_file(path, {})
    assert again == one.model_copy(update={"out": again.out, "ledger": again.ledger})
    assert one.base_urls == ("mine=http://a/v1", "http://b/v1") and one.extractor is None
    assert runs["qwen3-8b.r"].file.base_urls == ("http://b/v1",)
    assert one.settings == {"race": {"mode": "pointwise"}}


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    ({"judge": ["a"]}, {}, "sweep: judge: unknown key; did you mean judges?"),
    ({"judges": ["a", "a"]}, {}, "sweep.judges: a is given twice"),
    (
        {"judges": ["x/.hidden.yaml"]},
        {},
        "sweep.judges: a folder is named after '.hidden'; use letters and digits",
    ),
    (
        {"include": [{"judges": ["../.."]}]},
        {"judges": ["a"]},
        "sweep.include.0.judges: a folder is named after '..'; use letters and digits",
    ),
    (
        {"judges": ["x/a.yaml"], "include": [{"judges": ["y/a.yaml"]}]},
        {},
        "two presets are called 'a'; rename one of the files",
    ),
    ({}, {}, "sweep.judges is missing: name at least one judge"),
    (None, {}, "sweep.judges is missing: name at least one judge"),
    ({"draws": 0}, {}, "sweep: draws must be at least 1 (got 0)"),
    (
        {"protocols": ["dear"]},
        {"judges": ["a"]},
        "sweep.protocols: no protocol 'dear'; did you mean deer?",
    ),
    (
        {"exclude": [{"judges": "b"}]},
        {"judges": ["a"]},
        "sweep.exclude.0.judges: no judge 'b'; there are: a",
    ),
    (
        {"overrides": [{"draws": [1], "set": {}}]},
        {"judges": ["a"]},
        "sweep.overrides.0.draws: no draw 1; draws are numbered from 0 to 0",
    ),
    (
        {"settings": {"s": {"snapshots": "x"}}},
        {"judges": ["a"]},
        "sweep.settings.s.snapshots: unknown key; did you mean snapshot?",
    ),
    (
        {"settings": {"s": {"out": "x"}}},
        {"judges": ["a"]},
        "sweep.settings.s.out: is the same for all runs; set it outside `sweep`, or by an axis",
    ),
    (
        {"settings": {"s": {"claims": {"form": "short"}}}},
        {"judges": ["a"]},
        "sweep.settings.s: claims.form: 'short' … full, terse",
    ),
    (
        {"settings": {"s": {"settings": {"race": {}}}}},
        {"judges": ["a"]},
        "sweep.settings.s: settings.race: no run of the sweep has this protocol",
    ),
    (
        {"settings": {"s": {"settings": {"deer": {"parst": []}}}}},
        {"judges": ["a"]},
        "sweep.settings.s: settings.deer.parst: unknown setting; did you mean deer.parts?",
    ),
    (
        {"systems": ["aldr"]},
        {"judges": ["a"]},
        "sweep.systems: no report is of a system 'aldr'; did you mean alder?",
    ),
    (
        {"exclude": [{"tasks": "w"}]},
        {"judges": ["a"]},
        "sweep.exclude.0.tasks: no report is on a task 'w'; there are: x, y, z",
    ),
    ({}, {"judges": ["a"], "draw": 1}, "draw: use the axes of `sweep`"),
    ({}, {"judges": ["a"], "out": None}, "give the folder of the sweep as `out`"),
    ({}, {"judges": ["a"], "protocol": ["deer"]}, "protocol: unknown key; did you mean protocols?"),
    ({"exclude": [{"systems": ["alder", "birch"]}]}, {"judges": ["a"]}, "sweep: no cell is left"),
]


@pytest.mark.parametrize(("sweep", "keys", "said"), REFUSED)
def test_errors_are_one_line(tmp_path: Path, sweep: Any, keys: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as error:
        expand(tmp_path, sweep, **keys)
    pattern = re.escape(said).replace("…", ".*")
    assert re.fullmatch(pattern, str(error.value).removeprefix(f"{tmp_path}/sweep.yaml: "))


def test_a_run_file_is_no_sweep_file(tmp_path: Path) -> None:
    path = tmp_path / "eval.yaml"
    path.write_text("judges: [a]\n")
    with pytest.raises(ConfigError, match="has no section `sweep`"):
        load_sweep_file(path, {})


def test_an_empty_selection_is_refused() -> None:
    with pytest.raises(InputError, match="no report is of these systems"):
        selected(REPORTS, [Selection(systems=("cedar",))])
    with pytest.raises(InputError):
        selected(REPORTS, [Selection(systems=("alder",), tasks=("w",))])
