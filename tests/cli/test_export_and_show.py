"""`export`, and what `show` prints of a rubric, through the entry point."""

from __future__ import annotations

import json
import re
from pathlib import Path

from local_judge.protocols.deer.verification.rows import rows_of
from local_judge.runs.storage.records import load_run_scores
from local_judge.runs.storage.resume import begin_journal, kept_of
from local_judge.runs.storage.store import RunStore

from ..originals import run_original
from ..protocols.deer.rubric_cases import drawn, everywhere, findings
from ..protocols.test_unread import drawn as drawn_claims
from ..rubric_run import record, write_run
from ..stub_thread import StubThread
from .conftest import Command

SIX = (None, findings(everywhere(6)))


def test_export_says_what_it_wrote_and_what_it_did_not(command: Command, tmp_path: Path) -> None:
    answers = drawn(4)
    failed = sum(answer == "failed" for answer in answers.values())
    write_run(tmp_path / "run", {"a": (None, findings(answers))}, record("b", status="unreadable"))
    ended = command("export", tmp_path / "run", tmp_path / "out", "--format", "deer")
    assert (ended.code, ended.err) == (0, "")
    written, *left_out = ended.out.splitlines()
    assert written.startswith(f"4 files of 1 of 2 reports in {tmp_path / 'out'}; samples.json ")
    assert left_out == [
        f"{failed} items failed, written as N/A with a description that says so",
        "b: left out: unreadable",
    ]
    refused = command("export", tmp_path / "run", tmp_path / "out", "--format", "deer")
    assert f"{tmp_path / 'out'}: not an empty" in refused.line()
    ended = command("export", tmp_path / "run", tmp_path / "again", "--format", "deer", "--json")
    assert [sample["sample"] for sample in json.loads(ended.out)["lists"]["samples.json"]] == [1, None]


def test_the_published_script_on_our_export_has_the_numbers_that_upstream_shows(
    command: Command, tmp_path: Path, shared: Path
) -> None:
    """Of two systems: `final.json` from the exported `fact/` and `others/`, and `show --profile upstream`."""
    names = [f"{system}{number}" for system in ("ada", "bo") for number in (1, 2, 3)]
    whole = [drawn_claims(seed, "a")[0] for seed in range(len(names))]
    reports = {
        name: (rows_of(one.claims, one.document), findings(drawn(seed, failed=0)))
        for seed, (name, one) in enumerate(zip(names, whole, strict=True))
    }
    records = [record(name, task=name[-1], system=name[:-1]) for name in names]
    store = write_run(tmp_path / "run", reports, *records)
    assert command("export", tmp_path / "run", tmp_path / "out", "--format", "deer").code == 0
    shown = command("show", tmp_path / "run", "--profile", "upstream").out
    rows = {row.system: row for row in load_run_scores(store, ["deer"]) if row.profile == "upstream"}
    for system in ("ada", "bo"):
        ours = json.loads((tmp_path / "out" / system / "final.json").read_text(encoding="utf-8"))
        given = ["--prefix", system, "--output_dir", tmp_path / "out", "--samples", "1-3"]
        run_original(shared / "originals/deer/run_score_integration.py", tmp_path, *given)
        theirs = json.loads((tmp_path / "out" / system / "final.json").read_text(encoding="utf-8"))
        assert ours == theirs
        scores = {root.id: root.score.value for root in rows[system].scores}
        overall = scores.pop("overall")
        assert scores == theirs["score_avgs"]
        assert overall is not None and f"{system} ┃ {overall:.2f}*" in re.sub(
            " +", " ", shown.replace("│", "┃")
        )


def test_export_wants_a_format_that_it_knows(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"a": SIX})
    for more in ((), ("--format", "nope")):
        assert command("export", tmp_path / "run", tmp_path / "out", *more).code == 2
    assert not (tmp_path / "out").exists()


def test_show_prints_the_rubric_of_one_report(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"a": SIX, "b": SIX})
    ended = command("show", tmp_path / "run", "--report", "a")
    assert (ended.code, ended.err) == (0, "")
    for text in ("Analytical Soundness", "Quantification", "Overall", "rubric: 101 items", "what cost most"):
        assert text in ended.out
    assert "Because of 6." in ended.out and "Criterion 1" not in ended.out
    items = command("show", tmp_path / "run", "--report", "a", "--items").out
    assert "Criterion 1" in items and "structural_coherence.section.3.Q3-1" in items
    assert "choose one with --report for --items" in command("show", tmp_path / "run", "--items").line()


def test_show_gives_the_same_as_json(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"a": SIX})
    shown = json.loads(command("show", tmp_path / "run", "--json").out)
    assert shown["rubric"] is None and shown["claims"] is None
    # Scope has one criterion: (10 - 6) / (4 coverage items * 2 * 1 * 3 sub-dimensions * 5 dimensions)
    cost = next(cost for cost in shown["costs"] if cost["path"][1:] == ["scope", "1", "C1-1"])
    assert cost["overall"] == 4 / (4 * 2 * 1 * 3 * 5)
    shown = json.loads(command("show", tmp_path / "run", "--json", "--items").out)
    assert len(shown["rubric"]["grades"]) == 101


def test_a_run_of_several_reports_shows_all_scores_on_request(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"a": SIX, "b": SIX})
    out = command("show", tmp_path / "run", "--reports", "--all-scores").out
    assert all(
        name in out for name in ("Analytical Soundness", "Ethics Compliance", "Overall", "all reports")
    )
    assert max(map(len, out.splitlines())) <= 160


def test_an_unfinished_run_is_shown_as_far_as_it_is(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    """A run of two reports of which the journal has one, as after a kill."""
    other = tmp_path / "other.md"
    other.write_text(report.read_text(encoding="utf-8") + "\nIt was loud.\n", encoding="utf-8")
    out = tmp_path / "two"
    done = command(
        *("run", report, other, "--snapshot", snapshot, "--judge", preset, "--base-url", server.url),
        *("--out", out, "--set", "deer.parts=[verification]"),
    )
    assert done.code == 0, done.err
    store = RunStore(out)
    begin_journal(store, kept_of(store, ()), ())
    journal = out / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]))
    shown = command("show", out)
    assert shown.code == 0, shown.err
    assert "not finished: 1 of 2 reports" in shown.out.splitlines()[0]
    found = json.loads(command("show", out, "--json").out)
    assert [case["id"] for case in found["cases"]] == [report.stem]
    assert {row["case"] for row in found["scores"]} == {report.stem}
    assert found["warnings"][0]["kind"] == "unfinished"
    journal.write_bytes(lines[0])
    assert "not finished: 0 of 2 reports" in command("show", out).out.splitlines()[0]
