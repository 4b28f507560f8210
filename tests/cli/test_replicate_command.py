"""`local-judge lab replicate`: published figures next to computed ones, for every file of `configs/replications`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_group

from local_judge.cli.commands import app
from local_judge.lab.replication import USER_OPTIONS, Replication, commands_of, load_replication
from local_judge.lab.replication_figures import compare

from ..stub_server import StubPlan
from ..stub_thread import StubThread
from .conftest import ROOT, Command
from .published_results import DETAILED, written
from .test_import_published import jsonl, race_row

pytestmark = pytest.mark.usefixtures("commands_in_process")

FILES = sorted((ROOT / "configs" / "replications").glob("*.yaml"))
ORIGINALS = ROOT.parent / "shared" / "originals"
FROM_FIGURES = {
    "deer-readme": (16, 16),
    "deer-table-2": (16, 16),
    "drb-table-2": (8, 8),
    "drb-table-3": (5, 5),
    "dre-table-4": (8, 9),
    "lrb-table-1-averages": (2, 2),
    "lrb-table-7": (6, 6),
}
"""Tables whose figures follow from other figures of the table: equal figures, and all. A ratio of rounded means is
58.95 where the paper has 58.94."""
FROM_FILES = {
    "deer-sample": ("deer", 7, 7),
    "drb-table-1": ("drb", 112, 112),
    "drb-table-1-results": ("drb", 0, 7),  # the files are of another evaluation
    "drb-table-10": ("drb", 4, 4),
}
"""Tables that follow from published files: checkout, equal figures, and all."""


def compared(command: Command, name: str, *options: str | Path) -> tuple[int, int]:
    """Number of equal figures, and of all that were compared."""
    ended = command("lab", "replicate", name, *options, "--json")
    assert (ended.code, ended.err) == (0, "")
    equal = [one["equal"] for one in json.loads(ended.out)["figures"] if one["equal"] is not None]
    return sum(equal), len(equal)


@pytest.mark.parametrize(("name", "expected"), FROM_FIGURES.items())
def test_tables_that_follow_from_other_figures(
    command: Command, name: str, expected: tuple[int, int]
) -> None:
    assert compared(command, name) == expected


@pytest.mark.parametrize(("name", "expected"), FROM_FILES.items())
def test_tables_that_follow_from_published_files(
    command: Command, name: str, expected: tuple[str, int, int]
) -> None:
    checkout, *counts = expected
    if not (ORIGINALS / checkout).exists():
        pytest.skip("the published project is not here")
    assert compared(command, name, "--input", ORIGINALS / checkout) == tuple(counts)


def test_a_figure_half_way_is_equal_and_shows_one_more_decimal(command: Command) -> None:
    """70.655 equals the published 70.65, and 58.95 differs from the published 58.94."""
    equal = command("lab", "replicate", "drb-table-2").out
    rows = [line.split() for line in equal.splitlines()]
    assert ["Static", "Criteria", "│", "70.65", "│", "70.655", "│", "="] in rows
    assert "8 of 8 figures equal to 2 decimals" in equal
    different = command("lab", "replicate", "dre-table-4").out
    assert any({"58.94", "58.95", "+0.01"} <= set(line.split()) for line in different.splitlines())


BOARD = """\
model,overall_score,comprehensiveness,insight,instruction_following,readability,citation_accuracy,effective_citations
gensee-search-gpt-5,50.60,50.06,50.76,51.31,49.72,32.94,21.06
gemini-2.5-pro-deepresearch,49.71,49.51,49.45,50.12,50.00,78.30,165.34
langchain-open-deep-research-gpt-5,49.33,49.80,47.34,51.05,48.99,34.74,22.44
openai-deepresearch,46.45,46.46,43.73,49.39,47.22,75.01,39.79
claude-research,45.00,45.34,42.79,47.58,44.66,-,-
kimi-researcher,44.64,44.96,41.97,47.14,45.59,-,-
doubao-deepresearch,44.34,44.84,40.56,47.95,44.69,52.86,52.62
tongyi-deepresearch-30B-A3B,40.46,39.46,34.44,46.22,44.27,-,-
perplexity-Research,40.46,39.10,35.65,46.11,43.08,82.63,31.20
grok-deeper-search,38.22,36.08,30.89,46.59,42.17,73.08,8.58
"""
"""Lines of DeepResearch Bench's leaderboard, in August 2026."""


def test_the_table_that_follows_from_the_leaderboard(command: Command, tmp_path: Path) -> None:
    """All figures but those of LangChain's agent, which the leaderboard has with another model."""
    board = tmp_path / "leaderboard.csv"
    board.write_text(BOARD)
    assert compared(command, "drb-table-1-agents", "--input", board) == (45, 45)


def test_an_experiment_next_to_the_published_curve(
    command: Command, server: StubThread, preset: Path, tmp_path: Path
) -> None:
    """The stub finds no item: coverage is 0 on each day."""
    judge = (
        "--",
        "--judge",
        preset,
        "--base-url",
        server.url,
        "--topics",
        "1",
        "--set",
        "dream.parts=[key_information]",
    )
    ended = command("lab", "replicate", "dream-table-4", "--out", tmp_path / "out", *judge)
    assert ended.code == 0
    rows = [[cell.strip() for cell in line.split("│")] for line in ended.out.splitlines() if "│" in line]
    assert [row[:3] for row in rows if row[1] in ("published", "ours")][:2] == [
        ["latest", "published", "79.35"],
        ["", "ours", "0.00"],
    ]
    assert "published: DREAM, Table 4 (arXiv 2602.18940)" in ended.out
    again = command("lab", "replicate", "dream-table-4", "--out", tmp_path / "out", *judge)
    assert again.out == ended.out


def all_met(asked: Mapping[str, Any]) -> str:
    """Every item met, one issue."""
    schema = asked["response_format"]["json_schema"]["schema"]["properties"]
    if "evaluations" in schema:
        items = schema["evaluations"]["properties"]
        return json.dumps({"evaluations": {id: {"score": 1, "justification": "Yes."} for id in items}})
    return json.dumps({"specific_issues": ["One."], "total_issues": 1, "score": 90, "justification": "One."})


def test_a_run_with_published_prompts_next_to_the_published_average(
    command: Command, preset: Path, tmp_path: Path
) -> None:
    """Two real reports: presentation and coverage 100, consistency and citation 90; their mean is 95."""
    reports = ROOT.parent / "shared" / "data" / "reports" / "lrb"
    if not reports.exists() or not (ORIGINALS / "lrb").exists():
        pytest.skip("the published project is not here")
    checkout = tmp_path / "lrb"
    shutil.copytree(ORIGINALS / "lrb", checkout)
    store = checkout / "data" / "reference_reports"
    store.mkdir(parents=True)
    rows: list[dict[str, str]] = []
    for path in sorted(reports.glob("*.md"))[:2]:
        shutil.copy(path, store)
        row = {"qid": path.stem.removeprefix("qid_").removesuffix("_report")}
        for name, text in (("question", "What of it?"), ("checklist", "Does it say so?")):
            row |= {name: text, f"{name}_no_placeholder": text}
        rows.append(row)
    with StubThread(StubPlan(answer=all_met)) as server:
        ended = command(
            *("lab", "replicate", "lrb-table-1", "--out", tmp_path / "out", "--json"),
            *("--input", f"lrb={checkout}", "--input", f"tasks={jsonl(tmp_path / 'tasks.jsonl', *rows)}"),
            *("--", "--judge", preset, "--base-url", server.url),
        )
    assert ended.code == 0
    figures = {one["column"]: (one["published"], one["ours"]) for one in json.loads(ended.out)["figures"]}
    assert figures == {
        "Presentation": (81.0, 100),
        "Consistency": (71.3, 90),
        "Coverage": (65.3, 100),
        "Citation association": (76.9, 90),
        "Average": (73.6, 95),
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_has_commands_that_exist(file: Path, tmp_path: Path) -> None:
    found = load_replication(str(file))
    data = {name: tmp_path for name in found.needs}
    judge = ("--judge", "qwen3-14b") if found.asks_judge else ()
    for words in commands_of(found, data, tmp_path / "out", judge):
        group: Any = get_group(app).commands
        name = words.pop(0)
        while not hasattr(group[name], "load"):
            group, name = group[name].commands, words.pop(0)
        loaded = group[name].load()
        while hasattr(loaded, "commands"):
            loaded = loaded.commands[words.pop(0)]
        context = loaded.make_context(name, list(words))  # parses all options
        assert not context.args


def test_the_tables_are_listed(command: Command) -> None:
    listed = json.loads(command("lab", "replicate", "--json").out)["tables"]
    assert [one["name"] for one in listed] == [file.stem for file in FILES]
    titles = [one["title"] for one in listed]
    assert len(set(titles)) == len(titles) > 10
    assert "a judge" in command("lab", "replicate").out
    assert "no table 'nothing'" in command("lab", "replicate", "nothing").line()


SCORES: dict[str, Any] = {
    "title": "Table 1",
    "source": "a paper",
    "needs": {"results": "a file of results"},
    "command": [["import", "{results}", "{out}/run", "--system=ada"]],
    "columns": {"Overall": {"score": "race:overall"}, "Insight": {"score": "race:insight"}},
    "rows": {"Ada": [50.0, 40.0], "Bob": [None, 1.0]},
    "names": {"Ada": "ada"},
    "decimals": 1,
    "note": "A known difference.",
}


def replication(folder: Path, **changes: object) -> Path:
    path = folder / "table.yaml"
    path.write_text(yaml.safe_dump({**SCORES, **changes}, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "raw_results.jsonl", race_row(1, 0.5, 0.5, 0.5, 0.5, 0.4996))


def test_the_table_says_what_differs(command: Command, tmp_path: Path, results: Path) -> None:
    ended = command("lab", "replicate", replication(tmp_path), "--input", results)
    assert (ended.code, ended.err) == (0, "")
    rows = [[cell.strip() for cell in line.split("│")] for line in ended.out.splitlines() if "│" in line]
    assert rows == [
        ["Ada", "published", "50.0", "40.0"],
        ["", "ours", "50.0", "50.0"],  # 49.96 rounds to 50.0
        ["", "difference", "=", "+10.0"],
        ["Bob", "published", "–", "1.0"],
        ["", "ours", "–", "–"],
    ]
    assert "1 of 2 figures equal to 1 decimal; largest difference +10.0 (Ada, Insight)" in ended.out
    assert ended.out.endswith("published: a paper\nA known difference.\n")


def test_a_figure_over_a_part_of_the_reports_is_not_equal(command: Command, tmp_path: Path) -> None:
    """One of ten reports has an overall score, 0.5; all have an insight of 0.4."""
    rows = [race_row(n, 0.4, 0.4, 0.4, 0.4, None if n else 0.5) for n in range(10)]
    data = jsonl(tmp_path / "raw_results.jsonl", *rows)
    ended = command("lab", "replicate", replication(tmp_path), "--input", data)
    cells = [[cell.strip() for cell in line.split("│")] for line in ended.out.splitlines() if "│" in line]
    assert cells[1:3] == [["", "ours", "50.0 (1 of 10)", "40.0"], ["", "difference", "+0.0", "="]]
    assert "1 of 1 figure equal to 1 decimal; 1 over a part of the reports\n" in ended.out
    figures = json.loads(command("lab", "replicate", tmp_path / "table.yaml", "--input", data, "--json").out)
    counts = [(one["n_values"], one["n_reports"], one["equal"]) for one in figures["figures"]]
    assert counts == [(1, 10, None), (10, 10, True), (None, None, None), (None, None, None)]


def test_a_figure_that_no_float_can_hold_is_empty(command: Command, tmp_path: Path) -> None:
    """1e308 / 1e-308 is 1e616."""
    columns = {"A": {}, "B": {}, "Ratio": {"ratio": ["A", "B"]}}
    rows = {"Ada": [1e308, 1e-308, 1.0]}
    file = replication(tmp_path, needs={}, command=[], columns=columns, rows=rows, names={})
    [figure] = json.loads(command("lab", "replicate", file, "--json").out)["figures"]
    assert (figure["ours"], figure["difference"], figure["equal"]) == (None, None, None)


def test_several_scores_are_averaged(command: Command, tmp_path: Path) -> None:
    """Ada: presentation 85, coverage 200 / 3 of one of two reports; Bob: 10 and 100 / 3; see `DETAILED`."""
    file = replication(
        tmp_path,
        command=[["import", "{results}", "{out}/run"]],
        columns={"Average": {"score": ["liveresearchbench:presentation", "liveresearchbench:coverage"]}},
        rows={"ada": [75.8], "bob": [21.7]},
        names={},
    )
    data = written(tmp_path / "detailed_results.json", DETAILED)
    ended = command("lab", "replicate", file, "--input", f"results={data}", "--json")
    ada, bob = json.loads(ended.out)["figures"]
    assert ada["ours"] == pytest.approx((85 + 200 / 3) / 2)
    assert (ada["n_values"], ada["n_reports"], ada["equal"]) == (1, 2, None)
    assert bob["ours"] == pytest.approx((10 + 100 / 3) / 2)
    assert bob["equal"] is True


AGREED: dict[str, Any] = {
    "needs": {"results": "results", "ratings": "ratings"},
    "command": [
        ["import", "{results}", "{out}/run"],
        ["results", "agree", "{ratings}", "{out}/run", "--profile=upstream", "--score=presentation"],
    ],
    "columns": {
        "Pairwise": {"statistic": "runs.0.measures.pairwise.value", "times": 100, "decimals": 0},
        "By annotator": {"statistic": "runs.0.measures.{row}.value", "times": 100},
    },
    "rows": {"Both": [100, 49.4]},
    "names": {"Both": "pairwise_annotators"},
}


def agreed(command: Command, tmp_path: Path, /, *options: str, **changes: object) -> Any:
    """Presentation of the mill: ada 80, bob 10. Ann prefers ada by 9 to 3, Ben prefers bob by 5 to 4; their means
    prefer ada. So all pairs agree with the means, and one of two with the annotators."""
    scores = (("ann", "ada", 9), ("ann", "bob", 3), ("ben", "ada", 4), ("ben", "bob", 5))
    ratings = [
        {"task": "mill", "system": system, "annotator": who, "score": score} for who, system, score in scores
    ]
    file = replication(tmp_path, **{**AGREED, **changes})
    results = written(tmp_path / "detailed_results.json", DETAILED)
    rated = jsonl(tmp_path / "ratings.jsonl", *ratings)
    given = ("--input", f"results={results}", "--input", f"ratings={rated}")
    return command("lab", "replicate", file, *given, *options)


def test_numbers_that_a_command_prints(command: Command, tmp_path: Path) -> None:
    figures = json.loads(agreed(command, tmp_path, "--json").out)["figures"]
    shown = [(one["ours"], one["equal"], one["decimals"]) for one in figures]
    assert shown == [(100, True, 0), (50, False, 1)]
    out = agreed(command, tmp_path).out
    assert "1 of 2 figures equal to 0 or 1 decimal; largest difference +0.6 (Both, By annotator)" in out


def test_numbers_of_several_commands_and_of_people(command: Command, tmp_path: Path) -> None:
    """The means of two annotators, and each annotator: 1 and 1/2; people order no pair alike. A row that is not there
    stays empty, and what is not published is not looked up."""
    first, second = AGREED["command"]
    found = agreed(
        command,
        tmp_path,
        "--json",
        command=[first, second, [*second, "--ties=half"]],
        columns={
            "Method": {"statistic": "{row}.over_judges.measures.pairwise.mean"},
            "Annotators": {"statistic": "1.runs.0.measures.pairwise_annotators.value"},
            "People": {"statistic": "{row}.people.measures.people_pairwise.value"},
        },
        rows={
            "Strict": [1, None, None],
            "Half": [1, 0.5, None],
            "People": [None, None, 0],
            "None": [1, None, None],
        },
        names={"Strict": "0", "Half": "1", "People": "0", "None": "2"},
    )
    shown = [(one["row"], one["column"], one["ours"]) for one in json.loads(found.out)["figures"]]
    assert [one for one in shown if one[2] is not None] == [
        ("Strict", "Method", 1),
        ("Half", "Method", 1),
        ("Half", "Annotators", 0.5),
        ("People", "People", 0),
    ]


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("runs.0.measures.kappa.value", "no 'kappa' of 'runs.0.measures.kappa.value'; there are pairwise, "),
        ("runs.7", "no '7' of 'runs.7'"),
        ("score.x", "no 'x' of 'score.x'"),
        ("score", "'score' is not a number"),
        ("filtered", "'filtered' is not a number"),
    ],
)
def test_a_number_that_no_command_prints_is_one_line(
    command: Command, tmp_path: Path, place: str, problem: str
) -> None:
    columns = {"Pairwise": {"statistic": place}, "By annotator": {}}
    assert problem in agreed(command, tmp_path, columns=columns).line()


def test_a_statistic_of_missing_answers_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "statistics.json").write_text('{"alpha": 0.5}')
    file = Replication.model_validate(
        SCORES
        | {
            "command": [["results", "stats", "stability", "{out}/run"]],
            "columns": {"Alpha": {"statistic": "alpha"}},
            "rows": {"Ada": [0.5]},
        }
    )
    [whole], [part] = compare(file, tmp_path), compare(file, tmp_path, complete=False)
    assert (whole.equal, whole.partial) == (True, False)
    assert (part.ours, part.equal, part.partial) == (0.5, None, True)


def test_a_dry_run_prints_the_commands(command: Command, tmp_path: Path, results: Path) -> None:
    ended = command("lab", "replicate", replication(tmp_path), "--input", results, "--dry-run")
    assert ended.out == f"local-judge import {results} OUT/run --system=ada\n"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rows": {"Ada": [1.0]}}, "row 'Ada' has 1 figures for 2 columns"),
        ({"rows": {"Ada": [1.0, float("nan")]}}, "rows.Ada"),
        ({"rows": {"Ada": [True, 1.0]}}, "rows.Ada"),
        ({"rows": {"Ada": ["2", 1.0]}}, "rows.Ada"),
        ({"columns": {"A": {"score": "x", "ratio": ["A", "A"]}}, "rows": {"Ada": [1.0]}}, "only one of"),
        ({"columns": {"A": {"statistic": "x"}}, "rows": {"Ada": [1.0]}}, "a command that prints statistics"),
        ({"command": [["results", "agree", "{results}", "--out=x.json"]]}, "must be in {out}"),
        ({"columns": {"A": {"mean": ["B"]}}, "rows": {"Ada": [1.0]}}, "there is no column 'B'"),
        ({"command": [["lab", "label", "{results}"]]}, "'lab label' is not one of"),
        ({"command": [["import", "{results.name}"]]}, "{results.name} is not in `needs`"),
        ({"command": [["import", "{results!r}"]]}, "only a name may be in braces"),
        ({"command": [["import", "{results"]]}, "command: '{results': expected '}'"),
        ({"command": [["import", "--judge={judge}"]]}, "must be a word of its own"),
        *(
            ({"command": [["import", "{results}", word]]}, "a path must begin with a place")
            for word in ("/run", "~/run", "{out}/../run", "--prompts=original=~/drb")
        ),
        *(
            ({"command": [words]}, "must be in {out}")
            for words in (
                *(["run", "{results}", *out] for out in (["--out=run"], ["--out", "run"], ["--out={out}x"])),
                *(
                    ["import", "{results}", *out]
                    for out in ([], ["run"], ["{results}"], ["--system=ada", "{out}"])
                ),
                ["import", "--system", "{out}", "{results}", "run"],
                *([*command, "{results}"] for command in (["run"], ["sweep"])),
            )
        ),
        ({"command": [["run", "{results}", "--set", "out=run"]]}, "name the output folder by --out"),
        *(
            ({"command": [["run", "{results}", f"{option}{value}"]]}, f"{option} belongs after --")
            for option in USER_OPTIONS
            for value in ("", "=x")
        ),
        *(({"needs": {name: "x"}}, f"{name!r} is the name of a place") for name in ("out", "judge")),
        *(({"needs": {name: "x"}}, "needs") for name in ("a.b", "a[0]", "0", "A")),
        ({"columns": {"A": {}}, "rows": {"Ada": [1.0]}, "command": []}, "no column has `score`"),
        ({"command": []}, "a score needs a command"),
        ({"names": {"Cy": "cy"}}, "there is no row 'Cy'"),
        ({"title": "\x1b[2J"}, "title"),
        ({"speed": 1}, "speed"),
        ({"columns": {"A": {"score": "fact:x"}}, "rows": {"Ada": [1.0]}}, "no scores of 'fact'"),
        ({"columns": {"A": {"score": "race:x"}}, "rows": {"Ada": [1.0]}}, "score 'x' is not there"),
    ],
)
def test_a_file_with_a_fault_is_one_line(
    command: Command, tmp_path: Path, results: Path, changes: dict[str, Any], problem: str
) -> None:
    line = command("lab", "replicate", replication(tmp_path, **changes), "--input", results).line()
    assert problem in line
    assert "\x1b" not in line


def test_what_is_missing_is_named(command: Command, tmp_path: Path, results: Path) -> None:
    file = replication(tmp_path)
    assert "needs --input results=PATH (a file of results)" in command("lab", "replicate", file).line()
    for wrong in ("foo=results.jsonl", "results="):
        line = command("lab", "replicate", file, "--input", wrong).line()
        assert f"--input {wrong}: " in line
        assert line.endswith("needs results")
    assert "no such file" in command("lab", "replicate", file, "--input", tmp_path / "none").line()
    twice = command("lab", "replicate", file, "--input", results, "--input", f"results={results}").line()
    assert "given twice" in twice
    idle = command("lab", "replicate", file, "--input", results, "--", "--judge", "x").line()
    assert "asks no judge" in idle
    bare = replication(tmp_path, command=[["run", "{results}", "{judge}", "--out={out}/run"]])
    assert (
        "name a folder for its runs with --out"
        in command("lab", "replicate", bare, "--input", results).line()
    )
    out = ("--out", tmp_path / "out")
    assert "-- --judge qwen3-14b" in command("lab", "replicate", bare, "--input", results, *out).line()


def test_an_error_of_a_command_ends_the_replication(command: Command, tmp_path: Path) -> None:
    """The command's own line says what is wrong."""
    bad = tmp_path / "raw_results.jsonl"
    bad.write_text("{}\n")
    ended = command("lab", "replicate", replication(tmp_path), "--input", bad)
    assert (ended.code, ended.out) == (1, "")


def test_modules_of_the_current_folder_are_not_imported(
    command: Command, tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "typer.py").write_text("raise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)
    ended = command("lab", "replicate", replication(tmp_path), "--input", results)
    assert (ended.code, ended.err) == (0, "")


def test_a_file_is_what_it_says() -> None:
    assert Replication.model_validate(SCORES).columns["Overall"].score == ("race:overall",)
