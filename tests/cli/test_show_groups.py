"""`show --by` through the command line: what it prints, its JSON, and the options that do not go together."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from local_judge.documents import Problem
from local_judge.protocols import base

from ..reporting.test_groups import fact_run, record
from .conftest import Command


def fact_alone(group: str) -> list[EntryPoint]:
    return [EntryPoint("fact", "local_judge.protocols.fact:Fact", group)]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(base, "registered", fact_alone)
    return fact_run(tmp_path / "run", [(record("x", "ada", "[b]Law"), "ssu"), (record("z", "bo"), "uu")])


def test_names_from_files_are_printed_as_they_are(command: Command, run: Path) -> None:
    ended = command("show", run, "--by", "topic, system", "--score", "citation_accuracy")
    assert ended.code == 0
    assert "fact by topic, system (paper profile)" in ended.out
    assert [line.split("│")[0].strip() for line in ended.out.splitlines() if "│" in line] == ["[b]Law", "–"]


def test_reports_that_were_read_in_part_are_named(command: Command, tmp_path: Path, run: Path) -> None:
    part = record("[b]y", "ada").model_copy(update={"problems": (Problem(kind="unread_marks", n=3, of=4),)})
    other = fact_run(tmp_path / "other", [(part, "s")])
    ended = command("show", run, other, "--by", "run")
    assert ended.out.splitlines()[0].startswith("[b]y was read in part: ") and "3 of 4" in ended.out
    assert "read in part" not in command("show", run, "--by", "run").out


def test_json_has_the_cells_of_each_group(command: Command, run: Path) -> None:
    found = json.loads(command("show", run, "--by", "system", "--score", "citation_accuracy", "--json").out)
    assert found["columns"][0]["path"] == ["citation_accuracy"]
    ada, bo = found["groups"]
    assert (ada["key"], ada["n_reports"], ada["cells"][0]["by_rule"]) == ({"system": "ada"}, 1, False)
    assert bo["cells"][0]["value"] == 0.0
    labels = json.loads(command("show", run, "--by", "system", "--labels", "--json").out)["labels"]
    assert labels[0]["groups"][0]["counts"] == {"supported": 2, "unsupported": 1}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rank",), "--score, --mean, --rank, --labels and --attributes need --by"),
        (("--by", "system", "--report", "x"), "--by prints groups of reports: leave out --report,"),
        (
            ("--by", "system", "--labels", "--rank"),
            "--labels shows no scores: of the options for --by, it allows only --attributes",
        ),
        (("--by", "domain"), "--by domain: no report"),
        (
            ("--claims", "--bounds"),
            "--report, --claims and --items print all scores of one report: leave out",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    command: Command, run: Path, options: tuple[str, ...], said: str
) -> None:
    ended = command("show", run, *options)
    assert ended.code == 1
    assert said in ended.line()


def test_several_runs_are_shown_by_groups_only(command: Command, run: Path, tmp_path: Path) -> None:
    other = fact_run(tmp_path / "other", [(record("x", "ada"), "s")])
    assert "several runs need --by" in command("show", run, other).line()
    shown = command("show", run, other, "--by", "system", "--score", "citation_accuracy").out
    assert "sd 0.24 of 2, 0.67 to 1.00" in shown  # 2/3 and 1: (1/3) / sqrt(2)
