"""A run as FACT's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import RunError
from local_judge.protocols.fact.export import read_validated
from local_judge.reporting.exports import export_files, export_lines, list_rows
from local_judge.runs.storage.records import load_run_scores
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.store import RunStore

from ..originals import run_original
from ..protocols.fact.fact_cases import findings, write_run
from ..rubric_run import record


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_four_files(tmp_path: Path) -> None:
    found = {"a": findings("ssuf"), "b": findings("dd"), "c": findings("")}
    cases = [record("a", task="12"), record("b", task="3"), record("c", task="7")]
    exported = export_files(write_run(tmp_path / "run", found, *cases), tmp_path / "out", "fact")
    out = tmp_path / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "deduplicated.jsonl",
        "extracted.jsonl",
        "fact_result.txt",
        "samples.json",
        "validated.jsonl",
    ]
    assert len(exported.files) == 4
    for name in ("extracted", "deduplicated", "validated"):
        assert [row["id"] for row in rows(out / f"{name}.jsonl")] == [12, 3, 7]
    # Two reports cite; three pairs are known, two supported: 3/2, 2/2, 2/3.
    result = "total_citations: 1.5\ntotal_valid_citations: 1.0\nvalid_rate: 0.6666666666666666\n"
    assert (out / "fact_result.txt").read_text() == result
    again = read_validated(out / "validated.jsonl")
    assert [len(one.pairs) for one in again] == [4, 2, 0]
    written, failed = export_lines(exported, out)
    assert written.startswith(f"4 files of 3 of 3 reports in {out}; samples.json ")
    assert failed == "1 pair failed, written as unknown or with the error of their URL"


def test_the_published_stat_script_prints_the_same_of_our_rows(tmp_path: Path, shared: Path) -> None:
    letters = ("ssuxd", "ssnf", "", "u", "eee", "fd", "ss", "su")
    found = {f"r{number}": findings(one) for number, one in enumerate(letters, 1)}
    cases = [record(name, task=name[1:]) for name in found]
    out = tmp_path / "out"
    store = write_run(tmp_path / "run", found, *cases)
    rescore(store, ["fact"], cases)
    exported = export_files(store, out, "fact")
    assert [row["left_out"] for row in list_rows(exported.lists[0])] == [
        *[""] * 4,
        "no statement was extracted",
        *[""] * 3,
    ]
    script = shared / "originals/drb/utils/stat.py"
    theirs = tmp_path / "theirs.txt"
    run_original(script, tmp_path, "--input_path", out / "validated.jsonl", "--output_path", theirs)
    assert theirs.read_text(encoding="utf-8") == (out / "fact_result.txt").read_text(encoding="utf-8")
    # Six reports cite and were extracted; of their pairs 3 + 2 + 1 + 0 + 2 + 2 are known and 2 + 2 + 0 + 0 + 2 + 1
    # supported.
    numbers = {"total_citations": 10 / 6, "total_valid_citations": 7 / 6, "valid_rate": 7 / 10}
    assert theirs.read_text(encoding="utf-8") == "".join(f"{name}: {n}\n" for name, n in numbers.items())
    [upstream] = [row for row in load_run_scores(store, ["fact"]) if row.profile == "upstream"]
    values = {root.id: root.score.value for root in upstream.scores}
    assert [values[name] for name in ("citations", "effective_citations", "citation_accuracy")] == list(
        numbers.values()
    )


def test_each_system_has_a_folder_and_what_is_missing_is_named(tmp_path: Path) -> None:
    cases = [
        record("a", task="1", system="ada"),
        record("b", task="1", system="bob"),
        record("c", task="2", system="bob", status="unreadable"),
    ]
    found = {"a": findings("s"), "b": findings("d")}
    exported = export_files(write_run(tmp_path / "run", found, *cases), tmp_path / "out", "fact")
    assert [
        (row["report"], row["folder"], row["sample"], row["left_out"]) for row in list_rows(exported.lists[0])
    ] == [
        ("a", "ada", 1, ""),
        ("b", "bob", 1, ""),
        ("c", "bob", None, "unreadable"),
    ]
    assert (tmp_path / "out/ada/fact_result.txt").exists()
    # Nothing known: the published code divides by zero, and leaves no file.
    assert not (tmp_path / "out/bob/fact_result.txt").exists()
    assert len(exported.files) == 7


def test_a_run_without_fact_is_refused(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "run")
    store.write_json(
        "manifest.json",
        {"format_version": 4, "config": {"protocols": ["deer"]}, "reports": {"n": 0}},
    )
    with pytest.raises(RunError, match=r"FACT was not run; .*: deer"):
        export_files(store, tmp_path / "out", "fact")
