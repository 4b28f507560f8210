"""Validated rows of FACT as a run: shown, scored and written back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, Command

GOLDEN = ROOT.parent / "shared" / "fixtures" / "fact.json"


def row(id: int, *labels: str, error: str | None = None) -> dict[str, Any]:
    """A report with one citation for each label, all on one page."""
    facts = [f"Fact {number} of {id}." for number in range(len(labels))]
    page = {
        "facts": facts,
        "url_content": "A page.",
        "article_id": id,
        "validate_res": [{"idx": number, "result": label} for number, label in enumerate(labels)],
        "validate_error": error,
    }
    return {
        "id": id,
        "prompt": f"Task {id}?",
        "article": f"Report {id}.",
        "citations": [{"fact": fact, "ref_idx": 1, "url": "https://a.example/x"} for fact in facts],
        "citations_deduped": {"https://a.example/x": page} if facts else {},
    }


FORMATS = "--format deepresearcheval|deer|fact|liveresearchbench|race"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


def test_articles_that_would_be_read_in_part_are_named(command: Command, tmp_path: Path) -> None:
    article = "A is so [1].\n\nB is so [7].\n\n## References\n\n[1] A. https://a.example/x\n"
    file = write(tmp_path / "validated.jsonl", [row(1, "supported"), {**row(2), "article": article}])
    assert "2 was read in part: " in command("import", file, tmp_path / "run", "--system", "ada").out
    seal = json.loads((tmp_path / "run" / "manifest.json").read_text())["seal"]
    assert seal["problems"] == {"2": [{"kind": "dangling_marks", "n": 1, "of": 2}]}


def test_from_a_file_to_a_run_and_back(command: Command, tmp_path: Path) -> None:
    rows = [row(1, "supported", "supported", "unsupported"), row(2, "supported", "unknown"), row(3)]
    file, run, out = write(tmp_path / "validated.jsonl", rows), tmp_path / "run", tmp_path / "out"
    ended = command("import", file, run, "--system", "ada")
    assert (ended.code, ended.err) == (0, "")
    assert "fact (paper profile)" in ended.out
    manifest = json.loads((run / "manifest.json").read_text())
    inputs = [json.loads(line) for line in (run / "inputs.jsonl").read_text().splitlines()]
    assert (len(inputs), manifest["reports"]["n"]) == (3, 3)
    assert inputs[0] == {"id": "1", "system": "ada", "task": "1"}
    assert len(manifest["imported"]["sha256"]) == 64
    # What a run holds, commands read: no judge, no snapshot.
    assert "2/3" in command("show", run, "--report", "1").out
    assert command("rescore", run).code == 0
    assert command("export", run, out, "--format", "fact").code == 0
    written = [json.loads(line) for line in (out / "validated.jsonl").read_text().splitlines()]
    for ours, given in zip(written, rows, strict=True):
        labels = [
            [
                [result["result"] for result in page["validate_res"]]
                for page in one["citations_deduped"].values()
            ]
            for one in (ours, given)
        ]
        assert labels[0] == labels[1]
        assert (ours["id"], ours["prompt"], ours["article"]) == (
            given["id"],
            given["prompt"],
            given["article"],
        )
    # 3 supported of 4 known, over the two that cite.
    assert (out / "fact_result.txt").read_text() == (
        "total_citations: 2.0\ntotal_valid_citations: 1.5\nvalid_rate: 0.75\n"
    )
    # What was written is taken back, and gives the same file again.
    again = tmp_path / "again"
    assert command("import", out / "validated.jsonl", again, "--system", "ada").code == 0
    assert command("export", again, tmp_path / "out2", "--format", "fact").code == 0
    for name in ("extracted.jsonl", "deduplicated.jsonl", "validated.jsonl", "fact_result.txt"):
        assert (tmp_path / "out2" / name).read_bytes() == (out / name).read_bytes()


def test_a_modified_import_is_to_be_imported_again(command: Command, tmp_path: Path) -> None:
    """An import is no run that its command could resume."""
    file = write(tmp_path / "validated.jsonl", [row(1, "supported")])
    run = tmp_path / "run"
    assert command("import", file, run, "--format", "fact").code == 0
    found = run / "findings/fact.jsonl"
    found.write_text(found.read_text().replace("supported", "unknown"))
    shown = command("show", run, "--items", "--report", "1")
    assert shown.code == 1
    assert "import the files again into another folder" in shown.err


def test_what_cannot_be_imported_is_one_line(command: Command, tmp_path: Path) -> None:
    file = write(tmp_path / "validated.jsonl", [row(1, "supported")])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    line = command("import", file, tmp_path / "full").line()
    assert line.endswith("full: not an empty folder; choose another folder for the import")
    empty = write(tmp_path / "empty.jsonl", [])
    assert "empty.jsonl" in command("import", empty, tmp_path / "a").line()
    wrong = write(tmp_path / "wrong.jsonl", [{"id": 1, "citations": "extraction failed"}])
    assert "leave the row" in command("import", wrong, tmp_path / "a").line()
    half = write(tmp_path / "half.jsonl", [row(1, "supported"), {**row(2), "article": "\ud800"}])
    assert "half.jsonl:2: contains a lone surrogate" in command("import", half, tmp_path / "a").line()
    assert "--system is not UTF-8" in command("import", file, tmp_path / "a", "--system", "\udcff").line()
    assert not (tmp_path / "a").exists()
    assert command("import", tmp_path / "absent.jsonl", tmp_path / "a").code == 1
    assert command("import", tmp_path / "full", tmp_path / "a").line() == (
        f"local-judge: {tmp_path / 'full'}: results of no known format; import {tmp_path}, or name the format with "
        f"{FORMATS}"
    )


def test_a_part_of_a_result_folder_names_the_folder_above(command: Command, tmp_path: Path) -> None:
    deer = tmp_path / "deer" / "others"
    write(deer / "0001.json", [])
    for given in (deer, deer / "0001.json"):
        line = command("import", given, tmp_path / "run").line()
        assert line.endswith(FORMATS) and f"import {deer.parent}, or " in line


def race(path: Path, *values: float | None) -> Path:
    """RACE's rows of one system; None for a report that its judge could not compare."""
    names = ("comprehensiveness", "insight", "instruction_following", "readability", "overall_score")
    rows: list[dict[str, Any]] = []
    for id, one in enumerate(values, 1):
        scores: dict[str, Any] = {"error": "no reply"} if one is None else dict.fromkeys(names, one)
        rows.append({"id": id, "prompt": "?", **scores})
    return write(path / "raw_results.jsonl", rows)


def test_a_folder_of_systems_is_one_run(command: Command, tmp_path: Path) -> None:
    results = tmp_path / "results" / "race"
    race(results / "ada", 0.4, 0.5)
    race(results / "bo", 0.6, None)
    elsewhere = [tmp_path / "results", results, [results / "ada", results / "bo" / "raw_results.jsonl"]]
    digests: set[str] = set()
    for number, given in enumerate(elsewhere):
        run = tmp_path / f"run{number}"
        paths = given if isinstance(given, list) else [given]
        ended = command("import", *paths, run, "--json")
        assert (ended.code, ended.err) == (0, "")
        inputs = [json.loads(line) for line in (run / "inputs.jsonl").read_text().splitlines()]
        assert [tuple(one.values()) for one in inputs] == [
            ("ada/1", "ada", "1"),
            ("ada/2", "ada", "2"),
            ("bo/1", "bo", "1"),
            ("bo/2", "bo", "2"),
        ]
        digests.add(json.loads((run / "manifest.json").read_text())["imported"]["sha256"])
        rank = json.loads(command("results", "rank", run, "--score", "overall", "--json").out)
        # Task 1: bo before ada. Of task 2 bo has no score.
        assert [(one["system"], one["wins"], one["games"]) for one in rank["systems"]] == [
            ("bo", 1, 1),
            ("ada", 0, 1),
        ]
    assert len(digests) == 1


def test_results_that_are_not_of_one_judge_are_one_line(command: Command, tmp_path: Path) -> None:
    ada = race(tmp_path / "one" / "race" / "ada", 0.4)
    again = race(tmp_path / "two" / "race" / "ada", 0.5)
    fact = write(tmp_path / "one" / "fact" / "ada" / "validated.jsonl", [row(1, "supported")])
    run = tmp_path / "run"
    said = command("import", ada, again, run).line()
    assert said == (
        f"local-judge: {again}: of the system 'ada', as {ada}; import the results of one judge at a time"
    )
    assert command("import", ada, fact, run).line() == (
        f"local-judge: {fact}: results of fact, and {ada} has those of race; import one kind"
    )
    said = command("import", tmp_path / "one", run).line()
    assert said.endswith("one: results of several protocols; import those of one: fact/ada, race/ada")
    bo = race(tmp_path / "one" / "race" / "bo", 0.4)
    assert "2 systems; leave --system out" in command("import", ada, bo, run, "--system", "ada").line()
    assert not run.exists()


@pytest.mark.skipif(not GOLDEN.exists(), reason="golden vectors are not here")
def test_the_published_codes_own_cases(command: Command, tmp_path: Path) -> None:
    for number, case in enumerate(json.loads(GOLDEN.read_text("utf-8"))["cases"]):
        file = write(tmp_path / f"{number}.jsonl", case["validated"])
        ended = command("import", file, tmp_path / f"run{number}")
        assert (ended.code, ended.err) == (0, ""), case["name"]
        records = (tmp_path / f"run{number}" / "cases.jsonl").read_text().splitlines()
        assert len(records) == len(case["validated"])
