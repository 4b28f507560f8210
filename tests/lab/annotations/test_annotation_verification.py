"""Labelled claims of annotated reports: what is asked, apart by version, and how answers are counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.claims.config import ClaimsConfig
from local_judge.lab.annotations.evaluate import Measure, evaluate
from local_judge.lab.annotations.extraction import lexical
from local_judge.lab.annotations.load import load_report
from local_judge.lab.annotations.model import annotated_set
from local_judge.lab.labelled.model import LabelledSet
from local_judge.lab.verifier_benchmark.answers import ask
from local_judge.lab.verifier_benchmark.measure import figures_of
from local_judge.stats.calibration.assess import Settings
from serving.engines.scripted import Call

from ...scripted_judge import MakeJudge
from .conftest import Write

HISTORY = "https://mill.example/history"
PAGE = "The mill was opened in 1974. It stands at the river."
TERSE = ClaimsConfig(form="terse", method="grouped", reliability=False)


def test_claims_are_the_pairs_that_have_a_label(write: Write) -> None:
    claims = annotated_set([load_report(write())])
    assert [(one.id, one.label, one.facets["kind"]) for one in claims] == [
        (f"mill/m1@{HISTORY}", "supported", "true"),
        (f"mill/m3@{HISTORY}", "unsupported", "true"),
        (f"mill/m4@{HISTORY}", "partial", "true"),
        (f"mill/m1/altered@{HISTORY}", "contradicted", "date"),
        (f"mill/m4/altered@{HISTORY}", "contradicted", "direction"),
    ]
    assert [one.claim for one in claims[3:]] == [
        "The mill was opened in 1947.",
        "The mill is older than the pump.",
    ]


def answer(call: Call) -> str:
    """A judge that calls everything supported, and finds no claim but in the first sentence."""
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
    rows = [{"url": HISTORY, "text": PAGE}, {"url": "https://wheel.example/night", "status": "dead"}]
    (folder / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    import_pages(folder, tmp_path / "snapshot", workers=0)
    return Snapshot.open(tmp_path / "snapshot")


async def test_a_judge_is_asked_and_counted(make_judge: MakeJudge, write: Write, snapshot: Snapshot) -> None:
    report = load_report(write())
    judge, _ = make_judge(answer)
    done: list[None] = []
    found = await evaluate(
        [report],
        snapshot,
        judge,
        TERSE,
        Measure("lexical", lexical, 0.5),
        ("extraction",),
        lambda: done.append(None),
    )
    assert (len(done), found.sentences_failed, found.backtracking, found.coverage) == (1, 0, None, None)
    assert found.extraction is not None and set(found.extraction) == {"all", "en"}
    # The first sentence, and the second, which carries a citation, so that its sentence is the claim.
    assert found.extraction["all"].recall.n == 2


async def test_versions_are_apart_and_an_unread_page_is_no_wrong_answer(
    make_judge: MakeJudge, write: Write, snapshot: Snapshot
) -> None:
    claims = annotated_set([load_report(write(m2={"citations": {"2": "supported"}}))])
    judge, engine = make_judge(answer)
    pages: list[None] = []
    answers = await ask([LabelledSet(claims, snapshot)], judge, "grouped", TERSE, lambda: pages.append(None))
    # The original claims of one page, its altered claims, and a page that is dead.
    assert (len(pages), len(engine.calls)) == (3, 2)
    (found,) = figures_of(answers, Settings(draws=0))
    assert (found.n, found.unread, found.failed) == (6, 1, 0)
    # A judge that believes everything: one supported claim is right, four others are wrong.
    assert found.figures is not None and found.figures.accuracy.value == pytest.approx(1 / 5)
    assert found.groups["version"]["altered"].called_supported.value == 1.0
    assert {name: group.n for name, group in found.groups["kind"].items()} == {
        "date": 1,
        "direction": 1,
        "true": 3,
    }
