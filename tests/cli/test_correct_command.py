"""`local-judge results correct`: a run's share of supported claims, corrected by labels."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from local_judge.claims.model import ClaimSet
from local_judge.reporting.corrected import corrected_notes
from local_judge.runs.results.labels import draw_sample, labelled_run, verdicts_of
from local_judge.runs.storage.items import claims_file
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.store import RunStore
from local_judge.stats.prediction_powered import LabelledUnit, corrected_share

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
    row = data["all_reports"]
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


def test_each_system_has_a_row_whatever_its_name(
    command: Command, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    """A system may be named `all`, and reports may have none."""
    reports = tmp_path / "reports.jsonl"
    rows = [{"id": f"r{n}", "report": REPORT, "task": f"t{n}"} for n in range(3)]
    rows = [{**rows[0], "system": "all"}, {**rows[1], "system": "beta"}, rows[2]]
    reports.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    out = tmp_path / "run"
    ended = command(
        *("run", reports, "--snapshot", snapshot, "--judge", preset, "--base-url", server.url, "--out", out),
        *("--set", "deer.parts=[verification]"),
    )
    assert ended.code == 0, ended
    given: list[str | Path] = [
        "results",
        "correct",
        out,
        "--labels",
        written(tmp_path / "l.jsonl", out, "supported"),
    ]
    data = json.loads(command(*given, "--json").out)
    assert [row["system"] for row in data["systems"]] == ["all", "beta", None]
    numbers = [row["judge"]["n"] for row in data["systems"]]
    assert data["all_reports"]["judge"]["n"] == sum(numbers) == 3 * numbers[0]
    shown = [line.split("│")[0].strip() for line in command(*given).out.splitlines() if "│" in line]
    assert shown == ["all", "beta", "no system named", "all reports"]


def test_a_sample_from_which_labels_were_dropped_is_refused(
    command: Command, run: Path, tmp_path: Path
) -> None:
    """Labels name their place in the sample: the first k are a random sample of k, any others are not."""
    store, labels = RunStore(run), tmp_path / "labels.jsonl"
    sample = draw_sample(list(verdicts_of(store, load_records(store), None)), 4, seed=3)
    rows = [
        {
            "report": one.record.id,
            "claim": one.claim.id,
            "url": one.verdict.url,
            "annotator": "ada",
            "label": "unsupported",
            "seed": 3,
            "sample": 4,
            "number": number,
        }
        for number, one in enumerate(sample)
    ]
    given = ("results", "correct", run, "--labels", labels)

    def write(*kept: int) -> None:
        labels.write_text("".join(json.dumps(rows[number]) + "\n" for number in kept), encoding="utf-8")

    write(0, 3)
    refused = command(*given)
    assert refused.code == 1
    assert "labels of 'ada': 2 claims of the sample (number 2, 3) have none" in refused.line()
    assert refused.line().endswith("`local-judge lab label --sample 4 --seed 3`")
    write(2, 0, 1)
    assert "ada labelled the first 3 of 4 claims of the sample" in command(*given).out
    write(*range(4))
    found = json.loads(command(*given, "--json").out)
    assert (found["labels_without_sample"], found["samples"][0]["n_labels"]) == (0, 4)
    assert "not checked: whether" not in command(*given).out
    written(labels, run, "supported")
    assert "not checked: whether" in command(*given).out


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


def test_a_label_of_another_text_is_left_out(command: Command, run: Path, tmp_path: Path) -> None:
    """Claims are numbered by their place: the same id may be another claim in a run with another extraction."""
    labels = written(tmp_path / "labels.jsonl", run, "supported", every=1)
    rows = [json.loads(line) for line in labels.read_text().splitlines()]
    rows[0]["text"] = "Another claim."
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = json.loads(command("results", "correct", run, "--labels", labels, "--json").out)
    assert (data["labels_without_verdict"], data["all_reports"]["people"]["n"]) == (1, len(rows) - 1)
    labels.write_text(json.dumps(rows[0]) + "\n")
    ended = command("results", "correct", run, "--labels", labels)
    assert ended.code == 1 and "none of 1 label is of a claim of" in ended.line()
    assert ended.line().endswith("; the claims of 1 have another text there")


def test_agreement_leaves_unclear_labels_out(command: Command, run: Path, tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.jsonl", run, "supported", every=1)
    first = [json.loads(line) for line in labels.read_text().splitlines()]
    said = ["supported", "partial", "unclear", *["supported"] * (len(first) - 3)]
    second = [{**row, "annotator": "bob", "label": label} for row, label in zip(first, said, strict=True)]
    labels.write_text("".join(json.dumps(row) + "\n" for row in (*first, *second)))
    found = json.loads(command("results", "correct", run, "--labels", labels, "--json").out)["agreement"]
    # Of k claims with two labels, one is divided. With n = 2k labels, of which one is `partial`:
    # alpha = 1 - (n - 1) * (2 observed) / (2 * (n - 1) * 1) = 1 - 1 = 0 (Krippendorff 2011).
    assert (found["n"], found["value"]) == (2 * (len(first) - 1), 0.0)


def test_a_file_without_labels_is_refused(command: Command, run: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text("\n")
    for arguments in (("results", "correct", run), ("report", run, "-o", tmp_path / "page.html")):
        ended = command(*arguments, "--labels", labels)
        assert ended.code == 1 and ended.line() == f"local-judge: {labels}: no labels in it"


def test_a_note_names_the_systems_without_interval() -> None:
    one, ten = [LabelledUnit("a", 1, 1)], [LabelledUnit(f"r{n % 3}", 1, n % 2) for n in range(10)]
    rows = [("alder", corrected_share(one)), ("birch", corrected_share(ten))]
    notes = list(corrected_notes(rows, labelled_run([], []), 11))
    assert [line for line in notes if "no interval" in line] == [
        "no interval by people or corrected for alder (1 labelled claim in 1 report): these need at least 10 labelled "
        "claims in at least 3 reports"
    ]


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


def test_the_labels_are_compared_with_the_judge(command: Command, run: Path, tmp_path: Path) -> None:
    """The stub supports all claims; of the labelled two, ada supports neither."""
    labels = written(tmp_path / "labels.jsonl", run, "unsupported")
    found = json.loads(command("results", "agree", labels, run, "--json", "--resamples", "5").out)
    [measures] = found["metrics"]["claims"]["judges"].values()
    by_id = {one["id"]: (one["hits"], one["n"]) for one in measures}
    n = len(labels.read_text(encoding="utf-8").splitlines())
    assert (by_id["agreement"], by_id["people:unsupported"], by_id["judge:supported"]) == (
        (0, n),
        (0, n),
        (0, n),
    )
    labels = written(tmp_path / "labels.jsonl", run, "partial")
    merged = command(
        "results", "agree", labels, run, "--json", "--resamples", "5", "--same", "supported,partial"
    )
    [measures] = json.loads(merged.out)["metrics"]["claims"]["judges"].values()
    assert measures[0]["value"] == 1.0
