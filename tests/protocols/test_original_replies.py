"""Replies to published prompts: what each reader takes, and that it refuses everything else."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from local_judge.protocols.deepresearcheval import original_prompts as dre
from local_judge.protocols.deer.rubric.judging import Question
from local_judge.protocols.deer.rubric.original_prompts import read_grades
from local_judge.protocols.deer.verification.original_prompts import read_claims
from local_judge.protocols.deer.verification.original_verification import read_results
from local_judge.protocols.fact.original_prompts import Cited, read_citations
from local_judge.protocols.race.original_prompts import on_scale, read_scores
from local_judge.tasks.criteria import DIMENSIONS
from local_judge.tasks.model import Criterion

CRITERIA = (Criterion(id="clarity.1", criterion="Short", weight=1.0),)
READERS: dict[str, Callable[[str], Any]] = {
    "race": read_scores,
    "fact": read_citations,
    "deer rubric": lambda reply: read_grades(reply, [Question(("a", "b"), "B")]),
    "deer claims": lambda reply: read_claims(reply, {"L1.S1": "It cost 8 million."}),
    "deer results": read_results,
    "dre dimensions": dre.read_dimensions,
    "dre weights": lambda reply: dre.read_weights(reply, ["clarity"]),
    "dre criteria": dre.read_criteria,
    "dre scores": lambda reply: dre.read_scores(reply, CRITERIA),
}
HOSTILE = {
    "words": "I cannot do that.",
    "null": "null",
    "number": "7",
    "list of nulls": "[null]",
    "list of lists": "[[[]]]",
    "cut": '{"claims": [{"position": "L1.S1", "claim": "It',
    "deep": "[" * 100_000,
    "deep and closed": "[" * 5_000 + "]" * 5_000,
    "marks": "```json" * 20_000,
    "tags": "<json_output>" * 20_000,
    "braces": "{" * 50_000 + "}" * 50_000,
    "NaN": '{"clarity": NaN, "claims": NaN, "results": NaN, "reliable": NaN}',
    "wrong types": json.dumps(
        {name: 3 for name in ("claims", "results", "reliable", "scores", "clarity", "Short")}
        | {"clarity": "x"}
    ),
    "surrogate": '[{"fact": "\\ud800", "url": "u", "criterion": "\\ud800", "explanation": "", "weight": 1}]',
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("reply", HOSTILE)
def test_hostile_replies_are_refused_quickly(reader: str, reply: str) -> None:
    began = time.process_time()
    with pytest.raises((ValueError, RecursionError)):
        READERS[reader](HOSTILE[reply])
    assert time.process_time() - began < 5


def wrapped(value: object) -> str:
    return f"<analysis>So [1].</analysis>\n<json_output>\n{json.dumps(value)}\n</json_output>"


def test_weights_are_shares_of_all_that_a_reply_gives() -> None:
    # 1 / (1 + 2 + 1), and the second name of clarity counts: 2 / 4.
    given = {"Instruction-Following": 1, "clarity": 2, "other": 1}
    assert dre.read_weights(wrapped(given), ["instruction_following", "clarity"]) == {
        "instruction_following": 0.25,
        "clarity": 0.5,
    }
    for wrong in ({"clarity": 1}, {"clarity": 0, "coverage": 0}, {"clarity": -1, "coverage": 2}):
        with pytest.raises(ValueError):
            dre.read_weights(wrapped(wrong), ["clarity", "coverage"])


def test_scores_name_each_criterion() -> None:
    def row(score: object, name: str = "Short") -> dict[str, object]:
        return {"criterion": name, "analysis": "So.", "report_score_0_to_10": score}

    assert dre.read_scores(wrapped([row("7.25")]), CRITERIA) == {"Short": (7.25, "So.")}
    assert dre.read_scores(wrapped([row(1), row(2)]), CRITERIA) == {"Short": (2.0, "So.")}  # the last counts
    for wrong in ([row(None)], [row("much")], [row(10**400)], [row(1, "short")], [{"criterion": "Short"}]):
        with pytest.raises(ValueError):
            dre.read_scores(wrapped(wrong), CRITERIA)


@pytest.mark.parametrize(
    ("first", "second", "exact"),
    [
        (0, "10", True),
        (9, None, True),  # the published code counts it for the report alone
        ("much", 99, True),  # and passes this one over
        (10**400, 5, False),  # on which the published code ends
        (11, 5, False),
        (5, -1, False),
        (float("nan"), 5, False),
        (5, "inf", False),
    ],
)
def test_the_published_arithmetic_takes_scores_on_the_scale(
    first: object, second: object, exact: bool
) -> None:
    entry = {"criterion": "Costs", "article_1_score": first, "article_2_score": second}
    reply = json.dumps({name: [entry] for name in DIMENSIONS})
    assert on_scale(read_scores(reply)) is exact


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('So:\n```\n{"a": 1}\n``` and ```json\n[2]\n```', [2]),  # the marks are tried in turn
        ('<json_output>none</json_output> {"a": 1}', {"a": 1}),
        ("It is [1, 2].", [1, 2]),
        ('{"a": [1, 2]}', [1, 2]),  # brackets come before braces
    ],
)
def test_json_is_found_as_published(reply: str, value: object) -> None:
    assert dre.extract_tagged(reply) == value


def test_claims_name_sentences_of_the_report() -> None:
    claim = {
        "position": "L1.S1",
        "claim": "It cost 8 million.",
        "claim_type": "A",
        "rationale": "",
        "numeric": "yes",
        "citations": ["[1]"],
    }
    [found] = read_claims(json.dumps({"claims": [claim]}), {"L1.S1": ""})
    assert (found.numeric, found.citations, found.cross_references) == (True, ["[1]"], None)
    assert read_claims("  ", {}) == []
    for wrong in ({"position": "L9.S9"}, {"claim_type": "G"}, {"numeric": 7}, {"claim": None}):
        with pytest.raises(ValueError):
            read_claims(json.dumps({"claims": [{**claim, **wrong}]}), {"L1.S1": ""})


def test_citations_have_a_fact_a_url_and_perhaps_a_key() -> None:
    # Signs that JSON does not escape are read, and a link is reduced to its text.
    rows = [
        r'{"fact": "It rose by \> 3 \~ 4 [metres](https://m.example/).", "ref_idx": 2, "url": "https://a.example/"}',
        '{"fact": "It fell.", "ref_idx": "[7]", "url": "https://b.example/"}',
        '{"fact": "It stayed.", "ref_idx": [1], "url": ""}',
    ]
    assert read_citations(f"```json\n[{', '.join(rows)}]\n```") == (
        Cited("It rose by > 3 ~ 4 [metres].", "https://a.example/", "2"),
        Cited("It fell.", "https://b.example/", "[7]"),
        Cited("It stayed.", "", ""),
    )
    for wrong in ({"fact": None}, {"url": None}, {"url": 3}):
        with pytest.raises(ValueError, match="no fact or no URL"):
            read_citations(json.dumps([{"fact": "It fell.", "url": "https://b.example/", **wrong}]))


def test_of_several_results_the_first_counts() -> None:
    results = [
        {"claim_index": 1, "explanation": "a", "result": result} for result in ("supported", "conflict")
    ]
    told = json.dumps({"reliable": "true", "reliable_explanation": "", "results": results})
    assert read_results(told) == ({1: ("supported", "a")}, True)
