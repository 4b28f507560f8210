"""Published results of other projects as runs: the published scores come out, and the files go back as they came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, Command

DRB = ROOT.parent / "shared" / "data" / "reports" / "drb" / "results_race"
README = ROOT.parent / "shared" / "originals" / "drb" / "README.md"
FACT_MEANS = ROOT.parent / "shared/originals/drb/results/fact/claude-3-7-sonnet-latest/fact_result.txt"

SCORES = ("comprehensiveness", "insight", "instruction_following", "readability", "overall_score")


def race_row(id: int | str, *values: float | None, prompt: str = "What is it?") -> dict[str, object]:
    return {"id": id, "prompt": prompt, **dict(zip(SCORES, values, strict=True))}


def jsonl(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def values(command: Command, run: Path, profile: str = "paper") -> dict[str, dict[str, float | None]]:
    """Root scores of each report."""
    found = json.loads(command("show", run, "--json").out)
    return {
        row["case"]: {root["id"]: root["score"]["value"] for root in row["scores"]}
        for row in found["scores"]
        if row["profile"] == profile
    }


def test_rows_of_race_go_in_and_out_unchanged(command: Command, tmp_path: Path) -> None:
    rows = [race_row(1, 0.25, 0.5, 0.75, 1, 0.5), race_row(2, 0, 0.5, 0.5, 0.5, 0.375)]
    folder = tmp_path / "race" / "ada"
    folder.mkdir(parents=True)
    file = jsonl(folder / "raw_results.jsonl", *rows)
    run = tmp_path / "run"
    ended = command("import", folder, run)
    assert (ended.code, ended.err) == (0, "")
    assert "ada" in ended.out  # results/race/SYSTEM, as published
    assert values(command, run)["1"] == {
        "comprehensiveness": 25,
        "insight": 50,
        "instruction_following": 75,
        "readability": 100,
        "overall": 50,
    }
    shown = command("show", run, "--report", "1", "--items").out
    assert "race: " in shown and "published file" in shown
    assert command("rescore", run).code == 0
    assert command("export", run, tmp_path / "out", "--format", "race").code == 0
    assert (tmp_path / "out" / "raw_results.jsonl").read_bytes() == file.read_bytes()
    assert (
        "Overall Score: 0.4375\n" in (tmp_path / "out" / "race_result.txt").read_text()
    )  # (0.5 + 0.375) / 2
    assert command("report", run, "--out", tmp_path / "page.html").code == 0
    again = tmp_path / "again"
    assert command("import", tmp_path / "out", again, "--system", "ada").code == 0
    compared = command("results", "diff", run, again)
    assert (compared.code, compared.err) == (0, "")


def test_a_score_without_a_value_stays_without_one(command: Command, tmp_path: Path) -> None:
    file = jsonl(
        tmp_path / "raw_results.jsonl", race_row(1, 0.5, 0.5, 0.5, 0.5, None), race_row(2, *[0.5] * 5)
    )
    run = tmp_path / "run"
    assert command("import", file, run).code == 0
    assert values(command, run)["1"]["overall"] is None
    assert command("export", run, tmp_path / "out", "--format", "race").code == 0
    listed = json.loads((tmp_path / "out" / "reports.json").read_text())
    assert [one["left_out"] for one in listed] == ["a score without a value", ""]


def test_a_leaderboard_is_a_run_of_both_protocols(command: Command, tmp_path: Path) -> None:
    board = tmp_path / "leaderboard.csv"
    board.write_text(
        "model,overall_score,insight,citation_accuracy,effective_citations\n"
        "ada,48.88,48.5,81.44,111.21\nbob,40.67,37.66,-,-\n",
        encoding="utf-8",
    )
    run = tmp_path / "run"
    ended = command("import", board, run)
    assert (ended.code, ended.err) == (0, "")
    upstream = json.loads(command("show", run, "--json", "--profile", "upstream").out)["scores"]
    found = {
        (row["protocol"], row["case"]): {root["id"]: root["score"]["value"] for root in row["scores"]}
        for row in upstream
        if row["profile"] == "upstream"
    }
    assert found["race", "ada"] == {"overall": 48.88, "insight": 48.5}
    assert found["fact", "ada"] == {"citation_accuracy": 0.8144, "effective_citations": 111.21}
    assert found["fact", "bob"] == {"citation_accuracy": None, "effective_citations": None}
    ranked = command("results", "rank", run, "--protocol", "race", "--score", "overall")
    assert (ranked.code, ranked.err) == (0, "")
    assert ranked.out.index("ada") < ranked.out.index("bob")
    # Means have no rows to be written as.
    assert (
        "a mean over reports, which has no row"
        in command("export", run, tmp_path / "out", "--format", "race").line()
    )


def test_a_page_that_was_not_scraped_stays_a_gap(command: Command, tmp_path: Path) -> None:
    """Not in the snapshot is a failure of the evaluation: no accuracy of 0."""
    pages: dict[str, dict[str, Any]] = {
        "https://a.example/x": {
            "facts": ["One.", "Two."],
            "url_content": "scrape failed: not_in_snapshot",
            "validate_res": [{"idx": 0, "result": "unknown"}, {"idx": 1, "result": "unknown"}],
            "validate_error": None,
        },
        "https://b.example/y": {
            "facts": ["Three."],
            "url_content": "scrape failed: 404 for url",
            "validate_res": [{"idx": 0, "result": "unknown"}],
            "validate_error": None,
        },
    }
    citations = [
        {"fact": fact, "ref_idx": 1, "url": url} for url, page in pages.items() for fact in page["facts"]
    ]
    row = {"id": 1, "prompt": "", "article": "", "citations": citations, "citations_deduped": pages}
    run = tmp_path / "run"
    assert command("import", jsonl(tmp_path / "validated.jsonl", row), run).code == 0
    found = values(command, run)["1"]
    assert found["citation_accuracy"] is None
    findings = json.loads((run / "findings" / "fact.jsonl").read_text())
    assert [pair["reason"] for pair in findings["pairs"]] == ["not_in_snapshot"] * 3
    assert command("export", run, tmp_path / "out", "--format", "fact").code == 0
    again = tmp_path / "again"
    assert command("import", tmp_path / "out", again, "--format", "fact").code == 0
    assert values(command, again) == values(command, run)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        (
            "raw_results.jsonl",
            json.dumps(race_row(1, 0.5, 0.5, 0.5, 0.5, 2)),
            "overall_score: 2 is not a number",
        ),
        ("raw_results.jsonl", '{"id": 1, "prompt": "?", "insight": 1}', "no comprehensiveness"),
        ("raw_results.jsonl", '{"id": 1', "raw_results.jsonl:1"),
        ("race_result.txt", "Overall Score: many\n", "expected one line for each of"),
        ("board.csv", "model,overall_score\nada,1\nada,2\n", "'ada' occurs twice"),
        (
            "board.csv",
            "model,overall_score,Overall_Score\nada,50,60\n",
            "board.csv: two columns",
        ),
        ("board.csv", "model,overall_score,model\nada,50,bob\n", "board.csv: two columns"),
        ("board.csv", "model,overall_score\nada,\x1b[2J\n", "is not a number of at least 0"),
        ("board.csv", "model,overall_score\n", "no rows in it"),
        ("board.csv", "model,overall_score\nada,nan\n", "is not a number of at least 0"),
        ("fact_result.txt", "total_citations: 1\ntotal_valid_citations: 1\nvalid_rate: 7\n", "valid_rate"),
        ("board.csv", "model;overall_score\nada;48,88\n", "'48,88' is not a number of at least 0"),
        (
            "board.csv",
            "model,overall_score\nada,0.4\nbob,0.5\n",
            "no score above 0.5; a leaderboard has scores",
        ),
        ("raw_results.jsonl", '{"id": 1, "prompt": "?", "error": "none"}', "no rows with scores"),
        (
            "race_result.txt",
            "".join(f"{name.replace('_', ' ').title()}: 0.5\n" for name in SCORES),
            "means of a system that no folder names; give --system",
        ),
        (
            "fact_result.txt",
            "total_citations: 1\ntotal_valid_citations: 1\nvalid_rate: 1\n",
            "means of a system that no folder names; give --system",
        ),
        ("other.json", "[" * 200_000, "no known format"),
        ("other.json", '{"a": "' + "b" * 200_000 + '"}', "no known format"),
        ("other.json", '{"a": 1}', "no known format"),
    ],
)
def test_a_file_that_is_no_result_is_one_line(
    command: Command, tmp_path: Path, name: str, content: str, problem: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    line = command("import", tmp_path / name, tmp_path / "run").line()
    assert problem in line
    assert "\x1b" not in line
    assert not (tmp_path / "run").exists()


def test_a_long_article_is_no_table(command: Command, tmp_path: Path) -> None:
    """A line without a comma is one cell, and longer than the CSV reader takes (131,072 characters)."""
    page = {
        "facts": ["One."],
        "url_content": None,
        "validate_res": [{"idx": 0, "result": "supported"}],
        "validate_error": None,
    }
    citation = {"fact": "One.", "ref_idx": 1, "url": "https://a.example/x"}
    row = {
        "id": 1,
        "article": "a" * 140_000,
        "citations": [citation],
        "citations_deduped": {citation["url"]: page},
    }
    run = tmp_path / "run"
    ended = command("import", jsonl(tmp_path / "validated.jsonl", row), run)
    assert (ended.code, ended.err) == (0, "")
    assert values(command, run)["1"]["citation_accuracy"] == 1


@pytest.mark.parametrize(
    "board",
    [
        "model;overall_score\nada;48.88\nbob;40.67\n",
        "rank,model,overall_score\n1,ada,48.88\n,,\n2,bob,40.67\n",
    ],
)
def test_a_leaderboard_with_semicolons_or_with_ranks_first(
    command: Command, tmp_path: Path, board: str
) -> None:
    (tmp_path / "board.csv").write_text(board, encoding="utf-8")
    run = tmp_path / "run"
    assert command("import", tmp_path / "board.csv", run).code == 0
    assert values(command, run) == {"ada": {"overall": 48.88}, "bob": {"overall": 40.67}}


def test_rows_with_an_error_are_failed_reports(command: Command, tmp_path: Path) -> None:
    """The published code writes such rows, and leaves them out when it reads its file again."""
    rows = [
        race_row(1, *[0.5] * 5),
        {"id": 2, "prompt": "x", "error": "Failed to get valid response\nafter 10 retries"},
        {**race_row(3, *[0.5] * 5), "error": "late"},
    ]
    run = tmp_path / "run"
    ended = command("import", jsonl(tmp_path / "raw_results.jsonl", *rows), run, "--system", "ada")
    assert (ended.code, ended.err) == (0, "")
    assert "2: crashed: Failed to get valid response after 10 retries\n" in ended.out
    assert "1 of 3" in ended.out
    found = json.loads((run / "scores" / "race.systems.jsonl").read_text().splitlines()[0])
    # One value of three; half of 0 to 100 is not known of two of them, so that the mean has no value.
    assert (found["n_reports"], found["n_values"], found["n_failed"]) == (3, 1, 2)
    assert command("rescore", run).code == 0
    assert command("audit", run).code == 4
    assert command("export", run, tmp_path / "out", "--format", "race").code == 0
    assert (tmp_path / "out/raw_results.jsonl").read_text() == json.dumps(rows[0]) + "\n"
    listed = json.loads((tmp_path / "out" / "reports.json").read_text())
    assert [one["left_out"] for one in listed] == ["", "crashed", "crashed"]


def test_a_stated_mean_is_no_single_report(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "fact" / "ada"
    folder.mkdir(parents=True)
    means = folder / "fact_result.txt"
    means.write_text("total_citations: 9\ntotal_valid_citations: 8\nvalid_rate: 0.5\n", encoding="utf-8")
    run = tmp_path / "run"
    ended = command("import", means, run)
    assert ended.code == 0
    assert "1 stated mean" in ended.out
    assert "few" not in ended.out
    # It has no row of a report, and no file is written without one.
    line = command("export", run, tmp_path / "out", "--format", "fact").line()
    assert "result for FACT's files; a mean over reports" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not DRB.exists(), reason="the published results are not here")
def test_published_rows_give_the_published_scores(command: Command, tmp_path: Path) -> None:
    """`race_result.txt` beside the rows: .4110 .4051 .4621 .4172 .4218."""
    run, means = tmp_path / "run", tmp_path / "means"
    assert command("import", DRB / "raw_results.jsonl", run, "--system", "claude").code == 0
    assert command("export", run, tmp_path / "out", "--format", "race").code == 0
    for name in ("raw_results.jsonl", "race_result.txt"):
        assert (tmp_path / "out" / name).read_bytes() == (DRB / name).read_bytes()
    every = values(command, run)
    assert len(every) == 100
    overall = [row["overall"] or 0 for row in every.values()]
    assert round(sum(overall) / 100, 2) == 42.18
    assert command("import", DRB / "race_result.txt", means, "--system", "claude").code == 0
    assert values(command, means)["race_result"]["overall"] == 0.4218 * 100


@pytest.mark.skipif(not README.exists(), reason="the published table is not here")
def test_the_table_of_a_readme_is_a_leaderboard(command: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert command("import", README, run).code == 0
    ranked = json.loads(
        command("results", "rank", run, "--protocol", "race", "--score", "overall", "--json").out
    )
    assert "Gemini-2.5-Pro Deep Research" in json.dumps(ranked)
    assert len(values(command, run)) == 32 // 2  # 16 systems in two protocols, by report
    means = tmp_path / "means"
    assert command("import", FACT_MEANS, means).code == 0
    assert values(command, means, "upstream")["claude-3-7-sonnet-latest"] == {
        "citations": 28.07,
        "effective_citations": 24.51,
        "citation_accuracy": 0.8731742073387959,
    }


DEER = ROOT.parent / "shared" / "originals" / "deer" / "output" / "csai" / "gpt5.2_fast"


@pytest.mark.skipif(not DEER.exists(), reason="DEER's sample is not here")
def test_the_sample_of_deer_gives_its_final_scores(command: Command, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    ended = command("import", DEER, run)
    assert (ended.code, ended.err) == (0, "")
    # The verification is stated for `upstream` only: the mean of the other five is marked, in each table.
    for out_text in (ended.out, command("show", run).out, command("show", run, "--reports").out):
        assert "6.37†" in out_text
        assert "† evaluated: 5 of the 7 dimensions" in out_text
    assert "†" not in command("show", run, "--profile", "upstream").out
    found = values(command, run, "upstream")["1"]
    stated = json.loads((DEER / "final.json").read_text())["score_avgs"]
    assert {name: found[name] for name in stated} == stated
    assert round(found["overall"] or 0, 2) == 6.16  # the mean of the seven, as the published table has it
    assert command("rescore", run).code == 0
    assert command("export", run, out, "--format", "deer").code == 0
    for file in sorted(DEER.rglob("*.json")):
        assert json.loads((out / file.relative_to(DEER)).read_text()) == json.loads(file.read_text()), (
            file.name
        )
    changed = tmp_path / "changed"
    (changed / "others").mkdir(parents=True)
    (changed / "final").mkdir()
    (changed / "others" / "0001.json").write_bytes((DEER / "others" / "0001.json").read_bytes())
    final = json.loads((DEER / "final" / "0001.json").read_text())
    final["score_avgs"]["format_style"] = 9.99
    (changed / "final" / "0001.json").write_text(json.dumps(final))
    assert "is 9.99, and 7.23 follows" in command("import", changed, tmp_path / "a").line()
    alone = tmp_path / "alone"
    assert command("import", DEER / "final.json", alone).code == 0
    line = command("import", DEER / "final" / "0001.json", tmp_path / "b").line()
    assert line.endswith(f"one report of a result folder; import {DEER.resolve()}")
    assert values(command, alone, "upstream")["gpt5.2_fast"] == stated
