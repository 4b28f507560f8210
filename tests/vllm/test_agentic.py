"""Protocols that search, on a real server: within their limits, on evidence that is there, and nothing asked twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.base.failures import FailureKind
from local_judge.claims.build import extract_claim_set
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import ClaimSet
from local_judge.documents import parse_report
from local_judge.judge.judge import Judge
from local_judge.protocols.base import Case, EvalContext, load_protocol
from local_judge.protocols.deepresearcheval import DeepResearchEval
from local_judge.tasks.model import Task

pytestmark = pytest.mark.vllm

TASK = Task(id="tunnel", prompt="What is known of the Varn tunnel?")
PAGES = {
    "https://tunnel.example/history": "# The tunnel\n\nThe Varn tunnel was opened in 1987. It is 6.2 kilometres long.",
    "https://www.example.com/report": "# Annual report\n\nIn 2019 the Varn tunnel carried 14,300 vehicles a day.",
}
REPORT = """\
# The Varn tunnel

The Varn tunnel was opened in 1987 [1]. In 2019 it carried 99,000 vehicles a day [2].

[1] The Varn tunnel. https://tunnel.example/history
[2] Annual report. https://www.example.com/report
"""
OTHER = """\
# Tunnels

The Varn tunnel is 6.2 kilometres long [1].

[1] The same operator. https://press.example.com/length
"""


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    folder = tmp_path / "pages"
    folder.mkdir()
    rows: list[dict[str, str]] = []
    for number, (url, text) in enumerate(PAGES.items()):
        (folder / f"{number}.md").write_text(text, encoding="utf-8")
        rows.append({"url": url, "file": f"{number}.md"})
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "pages.jsonl").write_text(lines, encoding="utf-8")
    import_pages(folder, tmp_path / "snapshot")
    return Snapshot.open(tmp_path / "snapshot")


async def _no_claims() -> ClaimSet:
    raise AssertionError("nobody asked for claims")


def case(id: str, text: str) -> Case:
    return Case(id=id, report=parse_report(text), task=TASK)


async def test_a_domain_is_judged_once_for_all_reports(judge: Judge) -> None:
    dream = load_protocol("dream", {"parts": "authority"})
    context = EvalContext(judge=judge, claims=_no_claims)
    found = [
        (await dream.examine(case(name, text), context)).authority
        for name, text in (("a", REPORT), ("b", OTHER))
    ]
    first, second = (authority.domains for authority in found if authority is not None)
    assert [one.domain for one in first] == ["tunnel.example", "example.com"]
    assert [one.domain for one in second] == ["example.com"]
    assert judge.meter.made == 2  # by the first report; the second one's domain is among them
    for one in (*first, *second):
        assert one.score is not None or (one.failure and one.failure.kind in get_args(FailureKind))


async def test_statements_are_looked_up_within_limits(judge: Judge, snapshot: Snapshot) -> None:
    settings = {"statements": "shared", "limits": {"turns": 2, "reply_tokens": 250}}
    protocol = DeepResearchEval.configured({"parts": ["facts"], "facts": settings})
    report = case("r", REPORT)

    async def claims() -> ClaimSet:
        return await extract_claim_set(report.report, snapshot, judge, ClaimsConfig(extraction="sentences"))

    context = EvalContext(judge=judge, snapshot=snapshot, claims=claims)
    facts = (await protocol.examine(report, context)).facts
    assert facts is not None
    assert [one.text for one in facts.statements] == [
        "The Varn tunnel was opened in 1987.",
        "In 2019 it carried 99,000 vehicles a day.",
    ]
    assert len(facts.rulings) == len(facts.runs) == 2
    for ruling in facts.rulings:
        assert (ruling.label is None) == (ruling.failure is not None)
        # a label other than Unknown rests on words that a page has
        assert ruling.label in (None, "Unknown") or any(one.found for one in ruling.evidence)
        for one in ruling.evidence:
            assert not one.found or any(one.quote.strip() in text for text in PAGES.values())
    assert all(run.result.spent.turns <= 2 for run in facts.runs)
