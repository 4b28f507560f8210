"""Claim extraction on composed reports, by judges of known worth."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.claims.model import ClaimType
from local_judge.lab.annotations.load import sample_folder
from local_judge.lab.planting.composed import LabelledSentence, fillers
from local_judge.lab.qualification.model import Figure, Item
from local_judge.lab.qualification.parts.extraction import Extraction, ExtractionSettings, Read, answer_of
from serving.engines.scripted import Call, Reply
from serving.errors import EngineUnreachable

from ...scripted_judge import MakeJudge
from .asked import context_of, figures

SETTINGS = ExtractionSettings(reports=2, sentences=16, batch_sentences=8, forms=("terse",))
FILLERS = {*fillers("filler", "en"), *fillers("filler", "zh")}


@pytest.fixture(scope="module")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    out = tmp_path_factory.mktemp("annotated") / "snapshot"
    import_pages(sample_folder() / "pages", out, workers=0)
    return Snapshot.open(out)


def terse(write: Callable[[int, Sequence[str]], tuple[str, ClaimType]]) -> Callable[[Call], Reply]:
    """A judge that writes claim and class of each sentence by its place in the batch."""

    def script(call: Call) -> Reply:
        asked = call.prompt.rpartition("Sentences:")[2]
        texts = re.findall(r"^\d+\. L\d+\.S\d+: (.+)$", asked, re.MULTILINE)
        reply: dict[str, Any] = {}
        for place in range(len(texts)):
            claim, type = write(place, texts)
            reply[str(place + 1)] = {"claim": claim, "type": type, "support": ""}
        return reply

    return script


def perfect(place: int, texts: Sequence[str]) -> tuple[str, ClaimType]:
    text = texts[place]
    return ("", "D") if text in FILLERS else (text, "A" if "[" in text else "F")


async def asked(
    make_judge: MakeJudge, snapshot: Snapshot, folder: Path, script: Callable[[Call], Reply]
) -> tuple[tuple[Item, ...], dict[str, Figure]]:
    judge, _ = make_judge(script)
    part = Extraction(SETTINGS)
    found = await part.ask(context_of(judge, snapshot, folder, seed=0))
    assert found.notes == ()
    return found.items, figures(part, found.items, draws=50)


async def test_a_perfect_judge(make_judge: MakeJudge, annotated: Snapshot, tmp_path: Path) -> None:
    items, figures = await asked(make_judge, annotated, tmp_path, terse(perfect))
    # Two reports of 16 sentences, 10 of them planted, in batches of 8.
    assert len(items) == 32
    assert sorted({item.unit for item in items}) == [
        "composed-1-en:0",
        "composed-1-en:1",
        "composed-2-zh:0",
        "composed-2-zh:1",
    ]
    wanted = {"recall": 1, "precision": 1, "f1": 1, "false_claims": 0, "typed": 1}
    assert {name: figures[f"extraction/{name}"].value for name in wanted} == wanted
    assert {name: figures[f"extraction/{name}/language=zh"].value for name in wanted} == wanted
    recall = figures["extraction/recall"]
    assert (recall.n, recall.n_failed, recall.low, recall.high) == (32, 0, 1, 1)


async def test_a_judge_that_finds_a_claim_in_everything(
    make_judge: MakeJudge, annotated: Snapshot, tmp_path: Path
) -> None:
    # Without a citation the A becomes F, which a source has to bear out.
    items, figures = await asked(
        make_judge, annotated, tmp_path, terse(lambda place, texts: (texts[place], "A"))
    )
    values = {name: figures[f"extraction/{name}"].value for name in ("recall", "precision", "false_claims")}
    assert values == {"recall": 1, "precision": 20 / 32, "false_claims": 1}
    assert figures["extraction/f1"].value == 2 * 20 / (20 + 32)
    cited = sum(item.facets["cited"] == "yes" for item in items)
    assert figures["extraction/typed"].value == cited / 20


async def test_an_announcement_may_be_a_claim_of_class_d(
    make_judge: MakeJudge, annotated: Snapshot, tmp_path: Path
) -> None:
    def announcing(place: int, texts: Sequence[str]) -> tuple[str, ClaimType]:
        return (texts[place], "D") if texts[place] in FILLERS else perfect(place, texts)

    _, figures = await asked(make_judge, annotated, tmp_path, terse(announcing))
    assert figures["extraction/precision"].value == 1
    assert figures["extraction/false_claims"].value == 0


async def test_what_code_adds_for_cited_sentences_is_told_from_what_the_judge_finds(
    make_judge: MakeJudge, annotated: Snapshot, tmp_path: Path
) -> None:
    items, figures = await asked(make_judge, annotated, tmp_path, terse(lambda place, texts: ("", "F")))
    cited = sum(item.facets["cited"] == "yes" for item in items)
    assert figures["extraction/recall"].value == cited / 20
    assert figures["extraction/recall/cited=yes"].value == 1
    assert figures["extraction/recall/cited=no"].value == 0
    assert figures["extraction/precision"].value == 1


async def test_claims_under_the_wrong_number_are_not_found(
    make_judge: MakeJudge, annotated: Snapshot, tmp_path: Path
) -> None:
    def shifted(place: int, texts: Sequence[str]) -> tuple[str, ClaimType]:
        return texts[(place + 1) % len(texts)], "F"

    items, figures = await asked(make_judge, annotated, tmp_path, terse(shifted))
    assert figures["extraction/recall"].value == 0
    assert figures["extraction/precision"].value == 0
    assert all(item.called for item in items)
    assert figures["extraction/typed"].value is None


@pytest.mark.parametrize(
    ("reply", "kind"), [("{", "invalid_reply"), (EngineUnreachable("gone"), "unreachable")]
)
async def test_a_judge_that_answers_nothing(
    make_judge: MakeJudge, annotated: Snapshot, tmp_path: Path, reply: Reply, kind: str
) -> None:
    items, figures = await asked(make_judge, annotated, tmp_path, lambda call: reply)
    assert {(item.said, item.called, item.failure) for item in items} == {(None, None, kind)}
    recall = figures["extraction/recall"]
    assert (recall.value, recall.n, recall.n_failed) == (None, 0, 32)
    assert recall.reason.endswith("answered none of 32")


async def test_the_two_forms_are_asked_apart(
    make_judge: MakeJudge, annotated: Snapshot, tmp_path: Path
) -> None:
    judge, engine = make_judge()
    part = Extraction(ExtractionSettings(reports=1, sentences=16, batch_sentences=20))
    found = await part.ask(context_of(judge, annotated, tmp_path, seed=0))
    by_id = figures(part, found.items, draws=50)
    # One batch in each form; the credulous judge of the fixture takes each sentence for a claim.
    assert len(engine.calls) == 2
    assert len(found.items) == 32
    assert [by_id[f"extraction/recall/form={form}"].value for form in ("terse", "full")] == [1, 1]


async def test_what_could_not_be_composed_is_noted(
    make_judge: MakeJudge, annotated: Snapshot, tmp_path: Path
) -> None:
    judge, _ = make_judge(terse(perfect))
    part = Extraction(ExtractionSettings(reports=20, sentences=60, forms=("terse",)))
    found = await part.ask(context_of(judge, annotated, tmp_path, seed=0))
    # The pages have 13 sentences to plant in English and 23 in Chinese; of 60, 22 would be fillers to 38 planted:
    # 22 * 13 // 38 = 7 and 22 * 23 // 38 = 13.
    assert found.notes == (
        "2 of 20 reports composed: the pages have no more sentences that stand alone",
        "56 sentences composed instead of 120",
    )


def test_one_sentence() -> None:
    planted = LabelledSentence(label="L1.S1", text="The mill cost 9 million.", url="https://m.example/")
    filler = LabelledSentence(label="L1.S2", text="So much for that.", url=None)
    other = Read("Rain fell on the hills all day long.", "A")
    same = Read("The mill cost 9 million", "E")
    assert answer_of(planted, [other, same]) == (True, True, "E")
    assert answer_of(planted, [other]) == (False, True, "A")
    assert answer_of(planted, []) == (False, False, None)
    assert answer_of(filler, [same]) == (False, False, "E")
    assert answer_of(filler, [other]) == (True, True, "A")
