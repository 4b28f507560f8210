"""The rubric on a real server: its calls compute the report once, and every question is answered or a typed failure."""

from __future__ import annotations

from typing import get_args

import pytest

from local_judge.base.failures import FailureKind
from local_judge.claims.evidence import shared_report
from local_judge.documents import parse_report
from local_judge.documents.model import Document
from local_judge.judge.judge import Judge
from local_judge.protocols.deer.names import JUDGED
from local_judge.protocols.deer.rubric import judging
from local_judge.protocols.deer.rubric.judging import context
from local_judge.protocols.deer.rubric.load import load_rubric
from local_judge.protocols.deer.settings import DeerSettings
from local_judge.tasks.model import Guidance, Task
from serving.types import Message

from .conftest import BLOCK_TOKENS, counted

pytestmark = pytest.mark.vllm


def report(years: int) -> Document:
    """A report with a sentence for each year."""
    told = " ".join(
        f"In {1901 + n} the mills of Tarn ground {900 + 7 * n} tons of barley, and paid {n + 3} millers [1]."
        for n in range(years)
    )
    return parse_report(
        f"""# The mills of Tarn

## Introduction

This report says what the mills of Tarn ground, year by year, and what their millers were paid.

## The years

{told}

## Conclusion

The mills of Tarn ground more in each year than in the one before.

## References

[1] Ledger of the mills. https://mills.example/ledger
"""
    )


TASK = Task(
    id="mills",
    prompt="What did the mills of Tarn grind?",
    guidance=Guidance(text="Name the grain of each year."),
)


async def test_the_calls_of_all_dimensions_compute_the_report_once(
    random_url: str, judge_of_random_weights: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is measured are prompts: a reply may end after a token for each item.
    for evidence in judging.REPLY_TOKENS_PER_ITEM:
        monkeypatch.setitem(judging.REPLY_TOKENS_PER_ITEM, evidence, 1)
    judge, document = judge_of_random_weights, report(years=30)
    before = {name: counted(random_url, name) for name in ("prefix_cache_queries", "prefix_cache_hits")}
    settings = DeerSettings(parts=("rubric",))
    findings = await judging.judge_rubric(document, TASK, judge, load_rubric(), settings)
    assert len(findings.grades) == 101
    asked, found = (counted(random_url, name) - value for name, value in before.items())
    opening = "\n\n".join([shared_report(document).shared, *context(document, TASK, guided=True)])
    opened = await judge.engine.count_tokens((Message(role="user", content=opening),))
    assert opened > 8 * BLOCK_TOKENS
    # Five prompts; four of them find report, references, request and guidance there, up to the last whole block.
    assert judge.meter.made == 5
    assert asked > 5 * opened
    assert found >= 4 * (opened - BLOCK_TOKENS)


async def test_every_dimension_gets_a_score_with_its_reason_or_a_typed_failure(judge: Judge) -> None:
    settings, document = DeerSettings(parts=("rubric",), mode="dimensions"), report(years=3)
    findings = await judging.judge_rubric(document, TASK, judge, load_rubric(), settings)
    assert [grade.path for grade in findings.grades] == [(name,) for name in JUDGED]
    for grade in findings.grades:
        if grade.status == "failed":
            assert grade.failure is not None and grade.failure.kind in get_args(FailureKind)
            continue
        assert grade.score is not None and 1 <= grade.score <= 10
        assert grade.replies
        if grade.quote is not None:
            assert document.text[grade.quote.start : grade.quote.end] == grade.quote.text
    assert any(grade.status == "scored" for grade in findings.grades)
