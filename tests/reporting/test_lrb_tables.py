"""Terminal tables of LiveResearchBench: plain text, whatever a report says, and nothing left out unsaid."""

from __future__ import annotations

from local_judge.base.failures import Failure
from local_judge.claims.model import Quote
from local_judge.documents.model import Span
from local_judge.protocols.checklist import Location
from local_judge.protocols.liveresearchbench import LiveResearchBench, LrbFindings
from local_judge.protocols.liveresearchbench.metrics.accuracy import AccuracyFindings, CitedClaim, CitedPage
from local_judge.protocols.liveresearchbench.metrics.issues import PUBLISHED, Issue, IssueFindings
from local_judge.reporting.claims import item_tables
from local_judge.rubric.answers import ItemRow

from ..printing import printed
from ..protocols.liveresearchbench.depth_cases import findings as comparisons
from ..protocols.liveresearchbench.depth_cases import order, pair
from ..protocols.liveresearchbench.lrb_cases import FAILURE, presentation

SPAN = Span(start=0, end=1)


def shown_items(findings: LrbFindings) -> str:
    return printed(*item_tables(list(LiveResearchBench().items(findings))), width=200)


def details(findings: LrbFindings) -> dict[str, tuple[str, ...]]:
    return {row.item: row.details for row in LiveResearchBench().items(findings)}


def lines(findings: LrbFindings) -> list[object]:
    return list(LiveResearchBench().view(findings, (), items=False).lines)


def test_places_quotations_and_failures_are_shown() -> None:
    checks = presentation("mumfmmmmmn").items
    places = tuple(Location(label=f"L{n}", span=SPAN, what=f"[{n}] is not cited") for n in range(1, 24))
    first = checks[0].model_copy(update={"quote": Quote(text="[red]so[/red]", start=0, end=1)})
    second = checks[1].model_copy(update={"by": "code", "places": places})
    third = checks[2].model_copy(update={"quote_rejected": "made up"})
    given = presentation("mumfmmmmmn").model_copy(update={"items": (first, second, third, *checks[3:])})
    findings = LrbFindings(case="a", document="d", presentation=given)
    shown = shown_items(findings)
    assert '"[red]so[/red]"' in shown and 'not in the report: "made up"' in shown
    assert "by code" in shown and "L23: [23] is not cited" in shown
    assert "failed: incomplete" in shown and "not_applicable" in shown
    assert lines(findings) == [
        "presentation: 7 met, 1 unmet, 1 not applicable, 1 failed; 1 quotation not in the report; 1 of 10 decided by "
        "code"
    ]


def test_issues_with_their_fate_and_pages_with_their_claims() -> None:
    issues = (
        Issue(quoted=("one", "two"), reason="So.", fate="counted"),
        Issue(quoted=("two", "one"), reason="So.", fate="repeated", of=0),
    )
    covered = (
        Issue(quoted=("three",), reason="So.", fate="covered", covered_by=("c1", "c2")),
        Issue(quoted=("four",), cited="[b]7[/b]", reason="So.", fate="counted", misplaced=("c7",)),
    )
    accuracy = AccuracyFindings(
        pages=(
            CitedPage(url="https://a.example/", status="ok", on_topic=False, probability=0.1),
            CitedPage(url="https://b.example/", status="ok", failure=FAILURE),
            CitedPage(url="https://c.example/", status="dead"),
        ),
        claims=(
            CitedClaim(claim="1", text="So.", url="https://a.example/", label="supported"),
            CitedClaim(claim="2", text="So.", url="https://a.example/", failure=FAILURE),
        ),
    )
    findings = LrbFindings(
        case="a",
        document="d",
        consistency=IssueFindings(metric="consistency", issues=issues, limit=2, table=PUBLISHED),
        citation=IssueFindings(metric="citation", issues=covered, limit=25, table=PUBLISHED),
        accuracy=accuracy,
    )
    shown = shown_items(findings)
    assert "as 1" in shown and "covered by c1, c2" in shown and "misplaced: [b]7[/b]" in shown
    assert "supported" in shown and "failed: incomplete" in shown
    assert lines(findings) == [
        "consistency: 2 issues listed (1 counted, 0 rejected, 0 covered, 1 repeated); the list is full at 2",
        "citation: 2 issues listed (1 counted, 0 rejected, 1 covered, 0 repeated); 1 misplaced citation",
        "accuracy: 3 cited pages (2 ok, 1 dead), 1 off topic",
    ]
    lost = IssueFindings(metric="citation", limit=25, table=PUBLISHED, failure=FAILURE)
    assert lines(LrbFindings(case="a", document="d", citation=lost)) == ["citation: failed: incomplete"]


def test_each_comparison_with_marks_word_flaws_and_why() -> None:
    told = order(True, 20, 12).model_copy(
        update={"analysis": "[b]Asks[/b] why.", "report_flaws": ("Long.",), "other_flaws": ("Lists\nonly.",)}
    )
    turned = order(False, 18, 19, said="other")
    pairs = (pair(told, turned, ("plan",)), pair(order(True, None), order(False, 5, 5), system="bo"))
    depth = comparisons(*pairs).model_copy(update={"defects": ("refusal",), "unreadable": ("cy-1",)})
    findings = LrbFindings(case="a", document="d", depth=depth)
    # 20 and 12 over five dimensions: 4 each; 3, 3 and three times 2.
    marks = ("granularity 4 : 3", "insight 4 : 3", "critique 4 : 2", "evidence 4 : 2", "density 4 : 2")
    assert details(findings) == {
        "baseline 1, report first": (*marks, "total 20 : 12"),
        "baseline 1, report second": details(findings)["baseline 1, report second"],
        "bo-1, report first": (),
        "bo-1, report second": (*(f"{mark.split()[0]} 1 : 1" for mark in marks), "total 5 : 5"),
    }
    assert next(iter(LiveResearchBench().items(findings))).rationale == (
        "[b]Asks[/b] why.; report: Long.; other: Lists\nonly."
    )
    assert "[b]Asks[/b] why." in shown_items(findings) and "failed: timeout" in shown_items(findings)
    assert lines(findings) == [
        "depth: 1 baseline and 1 other system in both orders, 1 of 4 comparisons failed; the report itself is none "
        "(refusal); not compared, unreadable: cy-1"
    ]


def test_an_item_is_shown_with_its_question_page_answer_and_reasons() -> None:
    rows = (
        ItemRow(
            "first",
            "a",
            "How?",
            2.5,
            "Counted.",
            quote_rejected="so",
            url="https://a.example",
            details=("By hand.",),
        ),
        ItemRow("first", "b", failure=Failure(kind="timeout", detail="late")),
    )
    [table] = item_tables(rows)
    assert [line.cells for line in table.lines] == [
        ("a", "How?\nhttps://a.example", "2.5", 'Counted.\nBy hand.\nnot in the page: "so"'),
        ("b", "", "–", "failed: timeout: late"),
    ]
