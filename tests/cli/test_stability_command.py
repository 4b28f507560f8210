"""`local-judge results stats stability`, on run directories as a run leaves them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_judge.runs.storage.records import CaseRecord, ScoreRecord
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import write_scores
from local_judge.scoring.node import Score, ScoreNode

from .conftest import Command

STEADY = {"a": 3.0, "b": 5.0, "c": 6.0, "d": 8.0}
SHAKY = {"a": 5.0, "b": 3.0, "c": 7.0, "d": 9.0}


def write_run(
    folder: Path,
    by_judge: Mapping[str, Mapping[str, float | None]],
    *,
    protocols: Sequence[str] = ("deer",),
    text: str = "",
) -> Path:
    """A run of reports by the judges named; a judge's scores stand under its name where there are several."""
    store = RunStore(folder)
    several = len(by_judge) > 1
    store.write_json(
        "manifest.json",
        {
            "format_version": 4,
            "config": {"protocols": list(protocols)},
            "reports": {"n": 0},
            "judges": [
                {"name": name, "identity": {"engine": "vllm", "model": name}, "sampling": {}}
                for name in by_judge
            ],
        },
    )
    ids = list(dict.fromkeys(id for scores in by_judge.values() for id in scores))
    cases = [CaseRecord(id=id, key=id, document=f"{text}{id}", task=id, status="done") for id in ids]
    store.write_jsonl("cases.jsonl", cases)
    for protocol in protocols:
        write_scores(
            store,
            protocol,
            cases,
            [
                ScoreRecord(
                    case=id,
                    protocol=protocol,
                    version="1",
                    profile="paper",
                    judge=judge if several else None,
                    scores=tuple(
                        ScoreNode(id=score, label=score, score=Score(value=value))
                        for score in ("integrity", "form")
                    ),
                )
                for judge, scores in by_judge.items()
                for id, value in scores.items()
            ],
        )
    seal_run(store)
    return folder


def test_the_judges_of_one_run(command: Command, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"steady": STEADY, "[b]shaky": SHAKY})
    ended = command("results", "stats", "stability", run, "--resamples", "100")
    assert (ended.code, ended.err) == (0, "")
    assert "deer (paper profile): agreement of steady, [b]shaky" in " ".join(ended.out.split())
    assert "95% bootstrap intervals over tasks of 100 draws, seed 0" in ended.out
    assert "judges two by two" not in ended.out
    found = json.loads(command("results", "stats", "stability", run, "--resamples", "100", "--json").out)
    assert found["judges"] == ["steady", "[b]shaky"]
    assert [row["score"] for row in found["scores"]] == ["integrity", "form"]
    measures = {one["id"]: one["value"] for one in found["scores"][0]["measures"]}
    # Ranks 1 2 3 4 and 2 1 3 4: rho = 1 - 6 x 2 / 60 = 0.8, tau = (5 - 1) / 6, W = (1 + 0.8) / 2.
    assert round(measures["mean_spearman"], 12) == 0.8
    assert round(measures["mean_tau"], 12) == round(4 / 6, 12)
    assert round(measures["kendall_w"], 12) == 0.9
    # Row means 4 4 6.5 8.5 about 5.75: MSR = 2 (2 x 1.75^2 + 0.75^2 + 2.75^2) / 3 = 57 / 6; column means 5.5 and 6:
    # MSC = 4 x 2 x 0.25^2 = 0.5; all squares about 5.75 are 33.5: MSE = (33.5 - 28.5 - 0.5) / 3 = 1.5.
    assert round(measures["icc_2_1"], 12) == round((9.5 - 1.5) / (9.5 + 1.5 + 2 * (0.5 - 1.5) / 4), 12)
    assert round(measures["icc_2_k"], 12) == round((9.5 - 1.5) / (9.5 + (0.5 - 1.5) / 4), 12)
    one = command("results", "stats", "stability", run, "--score", "form", "--resamples", "0")
    assert "form: judges two by two" in one.out and "steady, [b]shaky" in one.out
    assert "integrity" not in one.out


def test_several_runs_and_what_is_missing(command: Command, tmp_path: Path) -> None:
    first = write_run(tmp_path / "first", {"steady": STEADY})
    again = write_run(tmp_path / "again", {"steady": {**STEADY, "d": None, "e": 2.0}})
    panel = write_run(tmp_path / "panel", {"steady": STEADY, "shaky": SHAKY})
    ended = command("results", "stats", "stability", first, again, panel, "--resamples", "10")
    assert (ended.code, ended.err) == (0, "")
    said = " ".join(ended.out.split())
    assert (
        "integrity: 3 of 5 reports scored by all judges; without a score: first 1, again 1, panel/steady 1, "
        "panel/shaky 1" in said
    )
    found = json.loads(
        command("results", "stats", "stability", first, again, panel, "--json", "--resamples", "10").out
    )
    assert found["judges"] == ["first", "again", "panel/steady", "panel/shaky"]
    assert len(found["scores"][0]["pairs"]) == 6


def test_what_cannot_be_compared_is_one_line(command: Command, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"steady": STEADY})
    other = write_run(tmp_path / "other", {"steady": STEADY}, text="another ")
    race = write_run(tmp_path / "race", {"steady": STEADY}, protocols=("race",))
    both = write_run(tmp_path / "both", {"steady": STEADY, "shaky": SHAKY}, protocols=("deer", "race"))
    for arguments, message in (
        ((run,), "one judge scored its reports; give a run with several judges, or several runs"),
        ((run, run), "given twice; a report counts once"),
        ((run, other), "report 'a' has another text or another task in "),
        ((run, race), "name one with --protocol"),
        ((both,), "choose a protocol with --protocol; there are: deer, race"),
        ((both, "--protocol", "race", "--score", "style"), "score 'style' is not there"),
        ((both, "--protocol", "race", "--profile", "upstream"), "race has no profile 'upstream'"),
    ):
        ended = command("results", "stats", "stability", *arguments)
        assert ended.code == 1 and message in ended.err and ended.err.count("\n") == 1, ended.err


def test_too_few_reports_have_a_reason(command: Command, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"steady": {"a": 1.0, "b": 2.0}, "shaky": {"a": 1.0, "b": 3.0}})
    ended = command("results", "stats", "stability", run, "--score", "form")
    assert ended.code == 0
    assert "form: Kendall's W; mean Spearman; mean tau-b; alpha, interval; ICC(2,1); ICC(2,k): 2 reports" in (
        " ".join(ended.out.split())
    )
