"""What `show` prints of a report's quality and facts beside the scores."""

from __future__ import annotations

import io

from rich.console import Console

from local_judge.agents.observations import Observation, SnapshotRequest
from local_judge.base.failures import Failure
from local_judge.protocols.base import View
from local_judge.protocols.deepresearcheval import DeepResearchEval, DreFindings
from local_judge.protocols.deepresearcheval.facts.findings import Lookup
from local_judge.protocols.deepresearcheval.findings import QualityFindings

from . import dre_cases, facts_cases

FAILED = Failure(kind="incomplete", detail="none")


def shown(found: DreFindings, items: bool) -> tuple[View, str]:
    view = DeepResearchEval().view(found, (), items)
    out = io.StringIO()
    console = Console(file=out, width=200)
    for part in view.parts:
        console.print(part)
    return view, out.getvalue()


def test_a_line_of_quality_and_with_items_every_criterion() -> None:
    scores = {**dre_cases.SCORES, "insight.1": None}
    view, text = shown(dre_cases.findings(dre_cases.marked(scores)), items=False)
    assert view.data == {"deepresearcheval": None}
    line = (
        "quality: 9 criteria of 6 dimensions (given, joined by id); task-specific: Cost accounting (0.20), "
    )
    assert text == f"{line}Sources-of money (0.10); 1 failed\n"
    _, every = shown(dre_cases.findings(dre_cases.marked(scores)), items=True)
    rows = [" ".join(row.replace("│", " ").split()) for row in every.splitlines()]
    assert "coverage.1 Costs 0.75 8 So." in rows and "insight.1 Causes 1.00 – failed: incomplete" in rows


def test_dimensions_that_were_not_drafted_are_a_line() -> None:
    lost = QualityFindings(dimensions=None, origin="judge", failure=FAILED)
    _, text = shown(DreFindings(case="a", document="d", quality=lost), items=True)
    assert text == "quality: failed: no dimensions were drafted (incomplete)\n"


def test_lines_of_facts_and_with_items_every_statement() -> None:
    facts = facts_cases.findings("rRf", unread=1, method="search")
    ruling = facts.rulings[0].model_copy(
        update={"evidence": (facts_cases.evidence("supports", found=False),), "reasoning": "So."}
    )
    seen = Observation(
        tool="search", asked=(SnapshotRequest(kind="search", what="the mill", lack="nothing_found"),)
    )
    lookup = Lookup(statement=ruling.statement, observation=seen)
    facts = facts.model_copy(update={"rulings": (ruling, *facts.rulings[1:]), "lookups": (lookup,)})
    found = DreFindings(case="a", document="d", facts=facts)
    _, text = shown(found, items=False)
    assert text.splitlines() == [
        "facts: 3 statements; 1 sentence unread",
        "checked by search: 1 Right, 1 Unknown, 1 failed",
        "asked by search: 1, of which the snapshot could answer 0",
    ]
    _, every = shown(found, items=True)
    assert 'supports: "cost 9 million" https://mill.example/yearbook NOT IN THE PAGE' in every
    assert "Unknown (judge: Right)" in every and "incomplete: none" in every
    assert "search the mill" in every and "(0 passages)" in every
