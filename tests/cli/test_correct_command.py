"""`local-judge results correct`: a run's share of supported claims, corrected by labels."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from local_judge.claims.model import ClaimSet
from local_judge.runs.items import claims_file
from local_judge.runs.labels import verdicts_of
from local_judge.runs.records import load_records
from local_judge.runs.store import RunStore

from ..stub_thread import StubThread
from .conftest import REPORT, Command


@pytest.fixture
def run(command: Command, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path) -> Path:
    """Two reports; the stub calls every claim supported."""
    reports = tmp_path / "reports"
    reports.mkdir()
    for name in ("one", "two"):
        (reports / f"{name}.md").write_text(REPORT, encoding="utf-8")
    out = tmp_path / "run"
    ended = command(
        *("run", reports, "--snapshot", snapshot, "--judge", preset, "--base-url", server.url, "--out", out),
        *("--set", "deer.parts=[verification]"),
    )
    assert ended.code == 0, ended
    return out


def written(path: Path, run: Path, label: str, annotator: str = "ada", every: int = 2) -> Path:
    """Label every second verdict."""
    store = RunStore(run)
    rows = [
        {
            "report": one.record.id,
            "claim": one.claim.id,
            "url": one.verdict.url,
            "label": label,
            "annotator": annotator,
        }
        for number, one in enumerate(verdicts_of(store, load_records(store), None))
        if number % every == 0
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_people_who_disagree_lower_the_share(command: Command, run: Path, tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.jsonl", run, "unsupported")
    ended = command("results", "correct", run, "--labels", labels, "--json")
    data = json.loads(ended.out)
    row = data["systems"]["all"]
    n = sum(
        len([verdict for verdict in claims.verdicts if verdict.label])
        for claims in (
            RunStore(run).read_item(claims_file(None), record.key, ClaimSet)
            for record in load_records(RunStore(run))
        )
    )
    assert (row["judge"]["value"], row["judge"]["n"]) == (1.0, n)
    assert (row["people"]["value"], row["corrected"]["value"]) == (0.0, 0.0)
    shown = command("results", "correct", run, "--labels", labels)
    assert "share of claims that their page supports" in shown.out and "1.000" in shown.out


def test_labels_that_fit_nothing_are_counted(command: Command, run: Path, tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.jsonl", run, "supported")
    stray = {
        "report": "three",
        "claim": "L1.S1.1",
        "url": "https://a.example/",
        "label": "supported",
        "annotator": "b",
    }
    unclear = {**json.loads(labels.read_text().splitlines()[0]), "label": "unclear", "annotator": "bob"}
    labels.write_text(labels.read_text() + json.dumps(stray) + "\n" + json.dumps(unclear) + "\n")
    ended = command("results", "correct", run, "--labels", labels)
    assert "1 of" in ended.out and "the run has no verdict on the claim" in ended.out
    assert "1 label left out: unclear" in ended.out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"report": "one"}', "claim"),
        ('{"report": "o", "claim": "c", "url": "u", "label": "yes", "annotator": "a"}', "label"),
        ("[]", "JSON object"),
    ],
)
def test_a_bad_label_is_one_line(command: Command, run: Path, tmp_path: Path, line: str, says: str) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text(line + "\n")
    ended = command("results", "correct", run, "--labels", labels)
    assert ended.code == 1 and says in ended.line() and f"{labels}:1" in ended.line()


def test_one_annotator_labels_a_claim_once(command: Command, run: Path, tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.jsonl", run, "supported")
    ended = command("results", "correct", run, "--labels", labels, "--labels", labels)
    assert ended.code == 1 and "a second time" in ended.line()


def test_annotators_who_agree_have_an_alpha_of_one(command: Command, run: Path, tmp_path: Path) -> None:
    first, second = (
        written(tmp_path / "ada.jsonl", run, "supported"),
        written(tmp_path / "bob.jsonl", run, "supported", "bob"),
    )
    half = second.read_text().splitlines()
    partial = [line.replace('"supported"', '"partial"') for line in half[:1]]
    first.write_text(
        "\n".join(
            [
                first.read_text().splitlines()[0].replace('"supported"', '"partial"'),
                *first.read_text().splitlines()[1:],
            ]
        )
        + "\n"
    )
    second.write_text("\n".join([*partial, *half[1:]]) + "\n")
    ended = command("results", "correct", run, "--labels", first, "--labels", second)
    assert "agreement of annotators: Krippendorff's alpha 1.000" in ended.out


def test_labels_on_the_page_are_of_one_run(command: Command, run: Path, tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.jsonl", run, "supported")
    other = shutil.copytree(run, tmp_path / "other")
    ended = command("report", run, other, "-o", tmp_path / "page.html", "--labels", labels)
    assert ended.code == 1 and not (tmp_path / "page.html").exists()
    assert "labels are of the claims of one run, and 2 runs are given" in ended.err
