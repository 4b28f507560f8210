"""Verification against annotations: what is asked, and how answers, failures and unread pages are counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.claims.config import ClaimsConfig
from local_judge.judge.judge import Judge
from local_judge.lab.annotations.evaluate import Measure, evaluate, steps
from local_judge.lab.annotations.extraction import lexical
from local_judge.lab.annotations.load import load_report
from local_judge.lab.annotations.verification import JudgedPair, questions, verification_scores
from local_judge.ledger.ledger import Ledger
from serving.engines.scripted import Call, ScriptedEngine

from .conftest import Write


def pair(gold: Any, label: Any, kind: Any = None, language: str = "en", **more: Any) -> JudgedPair:
    return JudgedPair(
        claim="c", url="https://a.example/", language=language, kind=kind, gold=gold, label=label, **more
    )


def test_figures_of_verdicts() -> None:
    pairs = [
        pair("supported", "supported"),
        pair("supported", "partial"),
        pair("not_found", "supported", language="zh"),
        pair("contradicted", "not_found", "number"),
        pair("contradicted", "supported", "number", language="zh"),
        pair("contradicted", "contradicted", "scope"),
        pair("contradicted", None, "scope", failure="timeout"),
        pair("supported", None, unread="dead"),
    ]
    found = verification_scores(pairs)
    assert (found.pairs, found.failed, found.unread) == (8, 1, 1)
    # Originals: TP 1, FN 1, FP 1. Altered: TN 2, FP 1. What failed or was not read is in neither.
    assert (found.original.accuracy.n, found.original.accuracy.of) == (1, 3)
    assert (found.original.precision, found.original.recall, found.original.f1) == (0.5, 0.5, 0.5)
    assert (found.altered.accuracy.n, found.altered.accuracy.of) == (2, 3)
    assert found.altered.f1 is None
    # Together: TP 1, FN 1, FP 2, TN 2: balanced (1/2 + 2/4) / 2.
    assert (found.both.accuracy.n, found.both.accuracy.of, found.both.balanced_accuracy) == (3, 6, 0.5)
    assert {kind: (one.n, one.of) for kind, one in found.by_kind.items()} == {
        "number": (1, 2),
        "scope": (1, 1),
    }
    assert (found.by_language["zh"].altered.accuracy.n, found.by_language["en"].altered.accuracy.n) == (0, 2)
    assert found.labels["supported"] == {"partial": 1, "supported": 1}
    assert found.labels["partial"] == {}


def test_questions_are_the_pairs_that_have_a_label(write: Write) -> None:
    report = load_report(write())
    originals = list(questions(report, "original"))
    assert [(one.claim.id, one.url, one.gold) for one in originals] == [
        ("mill/m1", "https://mill.example/history", "supported"),
        ("mill/m3", "https://mill.example/history", "not_found"),
        ("mill/m4", "https://mill.example/history", "partial"),
    ]
    altered = list(questions(report, "altered"))
    assert [(one.claim.id, one.claim.text, one.kind) for one in altered] == [
        ("mill/m1/altered", "The mill was opened in 1947.", "date"),
        ("mill/m4/altered", "The mill is older than the pump.", "direction"),
    ]


PAGE = "The mill was opened in 1974. It stands at the river."


def answer(call: Call) -> str:
    """A judge that calls everything supported, fails on nothing, and finds no claim but in the first sentence."""
    shown = call.prompt
    assert call.schema is not None
    keys = list(call.schema["properties"])
    if "Page:" in shown:
        assert not ("in 1974.\n" in shown.rpartition("Claims:")[2] and "1947" in shown)
        item = {"quote": "The mill was opened in 1974.", "label": "supported"}
        return json.dumps({key: item for key in keys})
    empty = {"claim": "", "type": "E", "support": ""}
    first = {"claim": "The mill was opened in 1974.", "type": "A", "support": ""}
    return json.dumps({key: first if key == "1" else empty for key in keys})


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    folder = tmp_path / "pages"
    folder.mkdir()
    rows = [
        {"url": "https://mill.example/history", "text": PAGE},
        {"url": "https://wheel.example/night", "status": "dead"},
    ]
    (folder / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    import_pages(folder, tmp_path / "snapshot", workers=0)
    return Snapshot.open(tmp_path / "snapshot")


async def test_a_judge_is_asked_and_counted(tmp_path: Path, write: Write, snapshot: Snapshot) -> None:
    report = load_report(write())
    config = ClaimsConfig(form="terse", method="grouped")
    measure = Measure("lexical", lexical, 0.5)
    done: list[None] = []
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        judge = Judge(ScriptedEngine(answer), ledger)
        parts = ("extraction", "backtracking", "verification", "coverage")
        found = await evaluate([report], snapshot, judge, config, measure, parts, lambda: done.append(None))
        # One report, one page with originals, the same page with altered claims.
        assert len(done) == steps([report], parts) == 3
        assert found.claims.reliability is False
        assert (found.sentences_failed, found.verdicts_failed) == (0, 0)
        assert found.extraction is not None and set(found.extraction) == {"all", "en"}
        # The first sentence, and the second, which carries a citation, so that its sentence is the claim.
        assert found.extraction["all"].recall.n == 2
        assert found.verification is not None and found.verification.altered.fp == 2
        assert [one.label for one in found.pairs] == ["supported"] * 5
        alone = await evaluate([report], snapshot, judge, config, measure, ("verification",), lambda: None)
        assert (alone.extraction, alone.backtracking, alone.coverage) == (None, None, None)
        assert alone.pairs == found.pairs and steps([report], ("verification",)) == 2


async def test_a_page_that_the_snapshot_cannot_show_is_no_wrong_answer(
    tmp_path: Path, write: Write, snapshot: Snapshot
) -> None:
    path = write(m2={"citations": {"2": "supported"}})
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        found = await evaluate(
            [load_report(path)],
            snapshot,
            Judge(ScriptedEngine(answer), ledger),
            ClaimsConfig(form="terse"),
            Measure("lexical", lexical, 0.5),
            ("verification",),
            lambda: None,
        )
    assert [one.unread for one in found.pairs if one.label is None] == ["dead"]
    assert found.verification is not None
    assert (found.verification.unread, found.verification.pairs, found.verdicts_failed) == (1, 6, 0)
