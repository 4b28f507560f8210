"""What `show` prints of a report's quality and facts beside the scores."""

from __future__ import annotations

from local_judge.agents.observations import Observation, SnapshotRequest
from local_judge.base.failures import Failure
from local_judge.protocols.deepresearcheval import DeepResearchEval, DreFindings
from local_judge.protocols.deepresearcheval.facts.findings import Lookup
from local_judge.protocols.deepresearcheval.findings import QualityFindings

from . import dre_cases, facts_cases

FAILED = Failure(kind="incomplete", detail="none")


def lines(found: DreFindings) -> list[str]:
    return list(DeepResearchEval().view(found, (), items=False).lines)


def test_a_line_of_quality_and_with_items_every_criterion() -> None:
    scores = {**dre_cases.SCORES, "insight.1": None}
    found = dre_cases.findings(dre_cases.marked(scores))
    assert DeepResearchEval().view(found, (), items=False).data == {"deepresearcheval": None}
    line = (
        "quality: 9 criteria of 6 dimensions (given, joined by id); task-specific: Cost accounting (0.20), "
    )
    assert lines(found) == [f"{line}Sources-of money (0.10); 1 failed"]
    rows = {row.item: row for row in DeepResearchEval().items(found)}
    assert (rows["coverage.1"].text, rows["coverage.1"].value) == ("Costs", 8)
    assert rows["coverage.1"].details == ("weight 0.75",)
    assert rows["insight.1"].value is None and rows["insight.1"].failure == FAILED


def test_dimensions_that_were_not_drafted_are_a_line() -> None:
    lost = QualityFindings(dimensions=None, origin="judge", failure=FAILED)
    assert lines(DreFindings(case="a", document="d", quality=lost)) == [
        "quality: failed: no dimensions were drafted (incomplete)"
    ]


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
    assert lines(found) == [
        "facts: 3 statements; 1 sentence unread",
        "checked by search: 1 Right, 1 Unknown, 1 failed",
        "asked by search: 1, of which the snapshot could answer 0",
    ]
    first, second, last = DeepResearchEval().items(found)
    assert second.details[:1] == ("judge: Right",) and second.value == "Unknown"
    assert first.details == (
        'supports: "cost 9 million" https://mill.example/yearbook NOT IN THE PAGE',
        "searched: the mill (0 passages)",
    )
    assert last.failure == FAILED
