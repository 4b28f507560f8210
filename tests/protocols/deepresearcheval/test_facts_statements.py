"""Statements: asked for by segment, located by code, rejected where they are none; or the claim set's; chosen."""

from __future__ import annotations

from typing import Any

import pytest

from local_judge.claims.model import Claim, ClaimSet, ExtractionFailure
from local_judge.documents import parse_report
from local_judge.judge.judge import Judge
from local_judge.protocols.deepresearcheval.facts.findings import Statement
from local_judge.protocols.deepresearcheval.facts.segments import cut_segments
from local_judge.protocols.deepresearcheval.facts.statements import (
    Found,
    choose,
    find_statements,
    shared_statements,
)
from serving.engines.scripted import Call, Reply

from ...scripted_judge import MakeJudge
from .facts_cases import FAILURE, REPORT, settings, stated

DOCUMENT = parse_report(REPORT)


async def find(judge: Judge, **given: Any) -> Found:
    chosen = settings(**given)
    return await find_statements(DOCUMENT, cut_segments(DOCUMENT, chosen.segments), judge, chosen)


def said(statement: str, quote: str, *entities: str) -> dict[str, Any]:
    return {"statement": statement, "quote": quote, "entities": list(entities), "salient": True}


async def test_the_prompt_as_it_is_sent(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(stated)
    await find(judge, segments={"sentences": 2}, statements_per_sentence=3)
    first, second = (call.messages[1].content for call in engine.calls)
    shared = f"Report:\n```\n{DOCUMENT.labelled()}\n```\n\n"
    assert first.startswith(shared + "Task: list what some sentences of the report above state as fact")
    assert 'the one key "statements", a list of 3 at most' in first
    assert first.endswith(
        "Sentences:\n```\n1. L3.S1: The mill at Tarn cost 9 million crowns [1].\n"
        "2. L3.S2: The town of Tarn paid half of it [2].\n```\n\nList the statements of these 2 sentences."
    )
    assert second.startswith(shared) and "1. L5.S1: It opened in 2019" in second
    schema = engine.calls[0].schema
    assert schema is not None and list(schema["properties"]) == ["1", "2"]
    listed = schema["properties"]["1"]["properties"]["statements"]
    assert listed["maxItems"] == 3
    assert list(listed["items"]["properties"]) == ["statement", "quote", "entities", "salient"]
    assert all("maxLength" in listed["items"]["properties"][name] for name in ("statement", "quote"))


async def test_a_segment_alone_may_stand_in_front(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(stated)
    await find(judge, shown="segment", segments={"sentences": 2})
    first = engine.calls[0].messages[1].content
    assert "L3.S2: The town" in first and "## Outlook" in first and "L5.S1" not in first


async def test_statements_are_located_cited_or_not(make_judge: MakeJudge) -> None:
    judge, _ = make_judge(stated)
    found = await find(judge)
    assert [(one.id, one.text, one.cited, one.entities, one.salient) for one in found.statements] == [
        ("L3.S1.1", "The mill at Tarn cost 9 million crowns.", True, ("Tarn", "9 million"), True),
        ("L3.S2.1", "The town of Tarn paid half of it.", True, ("Tarn",), False),
        ("L5.S1.1", "It opened in 2019 and has 40 workers.", False, ("2019 and", "40 workers"), False),
    ]
    for one in found.statements:
        assert one.span is not None
        words = DOCUMENT.text[one.span.start : one.span.end]
        assert words.startswith(one.text[:20])
    assert (found.rejected, found.unread) == ((), ())
    assert all(one.replies for one in found.statements)


async def test_what_code_cannot_locate_is_rejected_and_counted(make_judge: MakeJudge) -> None:
    one = [
        said("The mill cost 9 million crowns.", "cost 9 million crowns", "9 million"),
        said("The  mill cost 9 million  crowns.", "9 million", "9 million"),  # the same again
        said("The mill cost 7 million crowns.", "cost 7 million crowns", "7 million"),  # nowhere
        said(
            "The mill is a fine thing.", "The mill at Tarn", "a bridge"
        ),  # of which nothing can be looked up
    ]
    other = [said("The town paid.", "The mill at Tarn cost", "town")]  # words of another sentence

    def answer(call: Call) -> Reply:
        rest: dict[str, Any] = {"3": {"statements": [said("40", "40", "40")]}, "4": {"statements": []}}
        return {"1": {"statements": one}, "2": {"statements": other}, **rest}

    judge, _ = make_judge(answer)
    found = await find(judge)
    # A number alone is too short to be looked up in a page; in its own sentence it is enough.
    assert [one.text for one in found.statements] == ["The mill cost 9 million crowns.", "40"]
    span = found.statements[1].span
    assert span is not None and DOCUMENT.text[span.start : span.end] == "40"
    assert [(one.sentence, one.why) for one in found.rejected] == [
        ("L3.S1", "repeated"),
        ("L3.S1", "not_located"),
        ("L3.S1", "no_entity"),
        ("L3.S2", "not_located"),
    ]


async def test_a_sentence_without_answer_is_a_failure_and_no_empty_one(make_judge: MakeJudge) -> None:
    def answer(call: Call) -> Reply:
        reply = stated(call)
        assert isinstance(reply, dict)
        return {key: value for key, value in reply.items() if "40 workers" not in str(value)}

    judge, engine = make_judge(answer)
    found = await find(judge)
    assert [one.sentences for one in found.unread] == [("L5.S1",)]
    assert (len(found.statements), len(engine.calls)) == (2, 3)  # asked for again, and then alone


async def test_a_report_that_does_not_fit_is_shown_by_segment(make_judge: MakeJudge) -> None:
    # 60 paragraphs more make it 1,300 characters longer: 325 tokens.
    document = parse_report(REPORT.replace("One may hope for more.", "One may hope.\n\n" * 60))
    own = cut_segments(document, settings(segments={"sentences": 1, "least": 1}).segments)[:1]
    judge, engine = make_judge(stated, context_tokens=800)
    found = await find_statements(document, own, judge, settings())
    assert (found.unread, len(found.statements)) == ((), 1)
    assert "L5.S1" not in engine.calls[0].messages[1].content
    judge, engine = make_judge(stated, context_tokens=300)
    lost = (await find(judge, segments={"sentences": 2})).unread
    assert [one.failure.kind for one in lost] == ["report_too_long"] * 2 and engine.calls == []


def claim(number: int, type: Any, checkable: bool | None, salient: bool | None = None) -> Claim:
    sentence = DOCUMENT.sentences[0]
    return Claim(
        id=f"{sentence.label}.{number}",
        text=f"Claim {number}.",
        sentence=sentence.label,
        span=sentence.span,
        type=type,
        checkable=checkable,
        salient=salient,
        citations=sentence.citations if type == "A" else (),
    )


def test_checkable_claims_of_the_claim_set_are_statements() -> None:
    lost = ExtractionFailure(sentences=("L3.S2",), failure=FAILURE, most=8)
    claims = ClaimSet(
        document=DOCUMENT.id,
        n_sentences=4,
        claims=(
            claim(1, "A", True, True),
            claim(2, "F", False),
            claim(3, "D", True),
            claim(4, "F", None),  # terse: its judge was not asked
            claim(5, "E", None),
        ),
        sources=(),
        verdicts=(),
        extraction_failures=(lost,),
    )
    found = shared_statements(claims)
    assert [(one.id, one.cited, one.salient) for one in found.statements] == [
        ("L3.S1.1", True, True),
        ("L3.S1.3", False, None),
        ("L3.S1.4", False, None),
    ]
    assert found.unread == (lost,) and found.statements[0].span is None  # the claim has it


def many(n: int, salient: tuple[int, ...] = ()) -> list[Statement]:
    return [
        Statement(id=str(number), text="x", sentence="L1.S1", salient=number in salient)
        for number in range(n)
    ]


def test_those_to_be_checked_are_drawn_by_a_seed_or_by_salience() -> None:
    statements = many(40, salient=(3, 17, 31))
    drawn = [choose(statements, "d", settings(max_statements=10, seed=seed)) for seed in range(200)]
    assert drawn[0] == choose(statements, "d", settings(max_statements=10))
    assert drawn[0] != drawn[1] and drawn[0] != choose(statements, "e", settings(max_statements=10))
    for some in drawn:
        places = [int(one.id) for one in some]
        assert len(places) == 10 and places == sorted(set(places))
    # Each has the same chance: of 200 draws of 10 in 40, a half takes 1,000; three standard errors are 82.
    n_first_half = sum(int(one.id) < 20 for some in drawn for one in some)
    assert n_first_half == pytest.approx(1000, abs=82)
    chosen = [one.id for one in choose(statements, "d", settings(max_statements=5, choose="salience"))]
    assert {"3", "17", "31"} < set(chosen) and chosen == sorted(chosen, key=int)
    assert choose(statements, "d", settings()) == tuple(statements)
    assert choose(statements, "d", settings(max_statements=40)) == tuple(statements)
