"""What comes from a report, a page or a judge is printed as plain text."""

from __future__ import annotations

import pytest

from local_judge.base.failures import Failure
from local_judge.base.output import Table
from local_judge.claims.model import Claim, ClaimSet, Quote, Source, Verdict
from local_judge.documents.model import Span
from local_judge.protocols.deer import Deer, DeerFindings
from local_judge.protocols.deer.verification.rows import Rows
from local_judge.reporting.claims import claim_blocks, claim_summary, verified_blocks
from local_judge.reporting.run_tables import run_summary
from local_judge.reporting.tables import (
    cost_table,
    plan_notes,
    plan_table,
    score_table,
    trees,
)
from local_judge.runs.execution.job import NotPlanned, Plan
from local_judge.runs.execution.verify import VerifiedRow
from local_judge.runs.proof.costs import RunCost, Tokens
from local_judge.runs.storage.records import CaseRecord, ScoreRecord
from local_judge.runs.storage.summaries import summarised
from local_judge.terminal import safe, stdout

from ..printing import printed

HOSTILE = "\x1b]0;title\x07\x1b[31m[bold]x[/nonsense] [link=http://a.example]y[/link]\r\u202ez"


def test_nothing_is_left_that_a_terminal_or_rich_would_act_on() -> None:
    shown = printed(safe(HOSTILE))
    assert not {"\x1b", "\x07", "\r", "\u202e"} & set(shown)
    assert "[bold]x[/nonsense] [link=http://a.example]y[/link]" in shown


def test_texts_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    stdout().print(safe("ratio :a: to :x: [b]"))
    assert capsys.readouterr().out == "ratio :a: to :x: [b]\n"


@pytest.mark.parametrize(("text", "limit", "shown"), [("abcd", 4, "abcd"), ("abcde", 4, "abc…")])
def test_long_text_is_cut_with_a_mark(text: str, limit: int, shown: str) -> None:
    assert safe(text, limit) == shown


def claim_set() -> ClaimSet:
    claims = tuple(
        Claim(
            id=f"L1.S{n}.1",
            text=HOSTILE,
            sentence=f"L1.S{n}",
            span=Span(start=0, end=1),
            type="A",
        )
        for n in (1, 2, 3)
    )
    failure = Failure(kind="timeout", detail=HOSTILE)
    quote = Quote(text=HOSTILE, start=3, end=9)
    verdicts = (
        Verdict(
            claim="L1.S1.1", url="https://a.example/[x]", label="supported", quote=quote, method="grouped"
        ),
        Verdict(claim="L1.S2.1", url="https://a.example/[x]", label=None, failure=failure, method="grouped"),
    )
    sources = (
        Source(url="https://a.example/[x]", status="ok", claims=("L1.S1.1", "L1.S2.1")),
        Source(url="https://b.example/", status="dead", claims=("L1.S3.1",)),
    )
    return ClaimSet(document="d", n_sentences=3, claims=claims, sources=sources, verdicts=verdicts)


def test_every_table_takes_hostile_text() -> None:
    record = CaseRecord(id=HOSTILE, key="k", status="done")
    crashed = CaseRecord(id=HOSTILE, key="k", status="crashed", detail=HOSTILE)
    nodes = Deer().score([DeerFindings(case=HOSTILE, document="d", rows=Rows(claims=()))], "paper")
    scores = [ScoreRecord(case=HOSTILE, protocol="deer", version="1", profile="paper", scores=nodes)]
    row = VerifiedRow(
        id=HOSTILE, claim=HOSTILE, url="https://a.example", status="ok", label=None, quote=HOSTILE
    )
    for table in (
        *(
            one
            for one in run_summary([record, crashed], summarised([record, crashed], scores), scores=scores)
            if isinstance(one, Table)
        ),
        score_table(HOSTILE, trees(scores)),
        claim_blocks(claim_set()),
        claim_summary(claim_set()),
        verified_blocks([row]),
    ):
        shown = printed(table)
        assert not {"\x1b", "\x07", "\r", "\u202e"} & set(shown)


def test_each_claim_is_a_block_worst_first() -> None:
    shown = "\n".join(line.rstrip() for line in printed(claim_blocks(claim_set())).splitlines())
    blocks = [[line.split()[0] for line in block.splitlines()] for block in shown.split("\n\n")]
    assert blocks == [["claim", "source", "verdict"]] * 2 + [["claim", "source", "verdict", "quotation"]]
    failed, dead, supported = shown.split("\n\n")
    assert "failed: timeout" in failed and "none: page dead" in dead
    assert "verdict    supported" in supported and "(characters 3 to 9 of the page)" in supported
    summary = printed(claim_summary(claim_set()))
    assert "3 (3 A)" in summary
    assert "2 (1 dead, 1 ok)" in summary
    assert "2 (1 failed: timeout, 1 supported)" in summary
    assert "1 found in their page, 0 rejected" in summary


def test_a_table_too_wide_for_the_terminal_becomes_several() -> None:
    table = Table("Scores", ("system",), [f"score number {n}" for n in range(12)])
    for system in ("a system with a long name", "b"):
        table.add_row(system, *(f"{n}.25 (1.00 to 20.00)" for n in range(12)))
    shown = printed(table, width=60, terminal=False)
    lines = [line.rstrip() for line in shown.splitlines()]
    assert max(map(len, lines)) <= 60 and lines.count("Scores") == 1
    parts = "\n".join(lines).split("\n\n")
    assert len(parts) > 1 and all("system" in part and "b " in part for part in parts)
    assert all(shown.count(f" {n}.25 (1.00 to 20.00)") == 2 for n in range(12))


def test_a_table_that_fits_stays_as_it_is() -> None:
    table = Table("", ("system",), ("score",))
    table.add_row("a", "1.00")
    shown = printed(table, width=60, terminal=False)
    assert [line.rstrip() for line in shown.splitlines()] == [
        "system ┃ score",
        "━━━━━━━╇━━━━━━",
        "a      │  1.00",
    ]


def test_the_cost_of_runs_breaks_no_name_at_160_columns() -> None:
    keys = (
        "batch_sentences",
        "claims_per_call",
        "passages_per_claim",
        "passage_tokens",
        "ranker",
        "evidence_tokens",
    )
    values = ("20", "20", "2", "1000", "dense", "3000")
    tokens = Tokens(
        replies=1_234, prompt=12_345_678, computed=1_345_678, generated=345_678, cache_reported=True
    )
    names = ("qwen3-14b.reference", "qwen3-14b.batch10")
    settings = {f"claims.{key}": value for key, value in zip(keys, values, strict=True)}
    costs = [RunCost(run=name, settings=settings, tokens=tokens) for name in names]
    shown = printed(cost_table(costs), width=160, terminal=False)
    lines = shown.splitlines()
    figures = [*values, "1,234", "12,345,678", "1,345,678", "345,678"]
    rows = [[cell.strip() for cell in line.split("│")] for line in lines[-2:]]
    assert rows == [[name, *figures] for name in names]
    heads = zip(*(line.split("┃") for line in lines if "┃" in line), strict=True)
    assert [" ".join(" ".join(head).split()) for head in heads] == [
        "run",
        *(key.replace("_", " ") for key in keys),
        "calls",
        "prompt tokens",
        "computed",
        "generated tokens",
    ]


def test_the_plan() -> None:
    plan = Plan(reports=2, calls=1_234, prompt_tokens=5_678_901, replayed=7, sentences_unread=89)
    shown = [line.split() for line in printed(plan_table(plan)).splitlines()]
    assert [line[-1] for line in shown] == ["2", "1,234", "5,678,901", "7", "89", "0", "0"]


def test_the_plan_names_what_will_not_be_evaluated() -> None:
    plan = Plan(
        reports=4,
        calls=1,
        prompt_tokens=9,
        replayed=0,
        sentences_unread=0,
        unreadable=(NotPlanned(id="[b]a", why="a.md: not UTF-8"),),
        too_long=("b", "c\x1b[2J"),
    )
    shown = [line.split() for line in printed(plan_table(plan)).splitlines()]
    assert [line[-1] for line in shown[5:]] == ["1", "2"]
    assert list(plan_notes(plan)) == [
        "cannot be evaluated: \\[b]a: a.md: not UTF-8",
        "too long for the judge: b",
        "too long for the judge: c [2J",
    ]
