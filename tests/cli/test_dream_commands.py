"""DREAM on the sample report through the commands: run, shown, scored again, run again, ratings by people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from local_judge.demo.outcome import sample_folder
from tests.stub_replies import fill
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer
from .conftest import Command

PARTS = ("--protocol", "dream", "--set", "dream.parts=[writing,factuality,citation,authority]")
TRUTHS = {
    "budget": (
        "opposing",
        "The council set the budget of the retrofit at 32.6 million crowns.",
        "contradicted",
    ),
    "eleven votes": (
        "supporting",
        "The plan for the retrofit was approved by eleven votes to four.",
        "supported",
    ),
    "with a capacity": ("supporting", "supplies most of the heat that the network carries", "partially"),
}


def judge(asked: Mapping[str, Any]) -> str:
    """Knows three facts of the sample, asks neutrally, and holds the council for an authority."""
    reply = json.loads(fill(asked))
    text: str = asked["messages"][-1]["content"]
    listed = dict(re.findall(r"^(\d+)\. (.+)$", text.rpartition("Claims:")[2], re.MULTILINE))
    if "search queries" in text:
        return json.dumps({number: {"queries": [query(claim)]} for number, claim in listed.items()})
    if "supporting" in json.dumps(reply):
        return json.dumps({number: finding(claim) for number, claim in listed.items()})
    if "Domain:" in text:
        return json.dumps({"rationale": "Known.", "score": 9 if "council.example" in text else 5})
    if "main_idea" in reply:
        quote = "Heating became dearer"
        return json.dumps({key: {"quote": quote, "rationale": "Plain.", "score": 80} for key in reply})
    return answer(asked)


def query(claim: str) -> str:
    """The matter of a claim; that of the budget with its sum, which is refused."""
    if "budget" in claim:
        return "budget 23.6 million"
    return "council retrofit plan" if "votes" in claim else "heat pump lake"


def finding(claim: str) -> dict[str, Any]:
    """What the pages say of a claim, as far as the judge knows it."""
    found: dict[str, Any] = {"supporting": [], "opposing": [], "rationale": "So.", "label": "unverifiable"}
    for words, (side, quote, label) in TRUTHS.items():
        if words in claim:
            found |= {side: [quote], "label": label}
    return found


@pytest.fixture
def server() -> Iterator[StubThread]:
    with StubThread(StubPlan(answer=judge)) as running:
        yield running


def scores(run: Path) -> dict[str, Any]:
    rows = [json.loads(line) for line in (run / "scores" / "dream.jsonl").read_text().splitlines()]
    return {node["id"]: node for node in rows[0]["scores"]}


def test_the_sample_report(
    command: Command,
    tmp_path: Path,
    server: StubThread,
    preset: Path,
    snapshot: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = tmp_path / "run"
    report = sample_folder() / "report.md"
    options = ("run", report, *PARTS, "--judge", preset, "--base-url", server.url, "--out", run)
    assert "give --snapshot" in command(*options).line()
    ended = command(*options, "--snapshot", snapshot)
    assert ended.code == 0, ended.err
    found = scores(run)
    assert list(found) == ["writing", "factuality", "citation", "authority"]
    assert found["writing"]["score"]["value"] == 80
    # One supported, one in part, one contradicted: (1 + .5) / 3.
    factuality = found["factuality"]["score"]
    assert (factuality["numerator"], factuality["denominator"], factuality["value"]) == (1.5, 3, 50)
    assert re.fullmatch("3 of 27 decided; queries .*: 1", factuality["note"])
    # Seven domains are cited, of which one has 9 and six have 5: (.9 + 6 * .5) / 7.
    assert found["authority"]["score"]["value"] == pytest.approx(100 * 3.9 / 7)
    # The stub supports what it reads, but the gazette's page is dead. CA: cited claims of the verifiable ones.
    attribution, faithfulness = found["citation"]["children"]
    n_cited, n = attribution["score"]["numerator"], attribution["score"]["denominator"]
    ca, cf = 100 * n_cited / n, 100 * (n_cited - 1) / n_cited
    assert 0 < n_cited < n
    assert (faithfulness["score"]["value"], faithfulness["score"]["note"]) == (cf, "1 with dead sources only")
    assert found["citation"]["score"]["value"] == pytest.approx(2 * ca * cf / (ca + cf))

    over = json.loads((run / "scores" / "dream.all.jsonl").read_text())["scores"]
    assert [node["id"] for node in over] == ["citation", "authority"]
    assert over[0]["score"]["value"] == pytest.approx(found["citation"]["score"]["value"])
    assert [child["id"] for child in over[1]["children"]] == ["when_cited", "share_uncited"]

    monkeypatch.setenv("COLUMNS", "400")
    shown = command("show", run, "--report", "report").out
    assert "writing: 10 of 10 sub-dimensions scored; 0 quotations rejected" in shown
    assert "authority: 7 domains, 0 rated by people" in shown
    items = command("show", run, "--items").out
    assert "against:" in items and "refused: budget 23.6 million" in items and "(code)" in items
    data = json.loads(command("show", run, "--items", "--json").out)
    (budget,) = (fact for fact in data["dream"]["factuality"]["facts"] if "budget" in fact["text"])
    assert budget["opposing"][0]["quote"]["text"].endswith("32.6 million crowns")
    assert budget["queries"] == [{"text": "council set budget retrofit crowns", "by": "code"}]
    assert budget["refused"] == [{"text": "budget 23.6 million", "why": ["23.6", "million"]}]

    before = (run / "scores" / "dream.jsonl").read_bytes(), len(server.chats)
    assert command("rescore", run).code == 0
    assert command(*options, "--snapshot", snapshot).code == 0
    assert ((run / "scores" / "dream.jsonl").read_bytes(), len(server.chats)) == before


def test_ratings_by_people_and_a_faulty_file(
    command: Command, tmp_path: Path, server: StubThread, preset: Path
) -> None:
    ratings = tmp_path / "ratings.jsonl"
    ratings.write_text('{"domain": "plant.example", "score": 1}\n')
    given = ("--set", "dream.parts=authority", "--set", f"dream.authority.ratings_file={ratings}")
    run = tmp_path / "run"
    report = sample_folder() / "report.md"
    options = ("run", report, "--protocol", "dream", *given, "--judge", preset, "--base-url", server.url)
    assert command(*options, "--out", run).code == 0
    assert len(server.chats) == 6
    # One has 9, one 1 by the file, and five have 5: (.9 + .1 + 2.5) / 7.
    assert scores(run)["authority"]["score"]["value"] == pytest.approx(100 * 3.5 / 7)
    ratings.write_text('{"domain": "www.plant.example", "score": 1}\n')
    line = command(*options, "--out", tmp_path / "other").line()
    assert f"{ratings}:1: 'www.plant.example' belongs to 'plant.example'; rate that domain" in line
    ratings.write_text('{"domain": "plant.example", "score": 2}\n')
    assert "run with different protocols" in command(*options, "--out", run).line()


def test_a_task_is_named_where_one_is_needed(
    command: Command, tmp_path: Path, server: StubThread, preset: Path, snapshot: Path
) -> None:
    report = sample_folder() / "report.md"
    options = ("run", report, "--protocol", "dream", "--judge", preset, "--base-url", server.url)
    line = command(*options, "--snapshot", snapshot, "--out", tmp_path / "run").line()
    assert line.endswith("--set dream.parts=[writing,factuality,citation,authority]")
