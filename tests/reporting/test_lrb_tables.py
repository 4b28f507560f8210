"""Terminal tables of LiveResearchBench: plain text, whatever a report says, and nothing left out unsaid."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from local_judge.claims.model import Quote
from local_judge.documents.model import Span
from local_judge.protocols.checklist import SHOWN_PLACES, Location
from local_judge.protocols.liveresearchbench import LiveResearchBench, LrbFindings
from local_judge.protocols.liveresearchbench.metrics.accuracy import AccuracyFindings, CitedClaim, CitedPage
from local_judge.protocols.liveresearchbench.metrics.issues import PUBLISHED, Issue, IssueFindings

from ..protocols.liveresearchbench.depth_cases import findings as comparisons
from ..protocols.liveresearchbench.depth_cases import order, pair
from ..protocols.liveresearchbench.lrb_cases import FAILURE, presentation

SPAN = Span(start=0, end=1)


def printed(findings: LrbFindings) -> str:
    console = Console(file=StringIO(), width=200)
    for part in LiveResearchBench().view(findings, (), items=True).parts:
        console.print(part)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def lines(findings: LrbFindings) -> list[object]:
    return list(LiveResearchBench().view(findings, (), items=False).parts)


def test_places_quotations_and_failures_are_shown() -> None:
    checks = presentation("mumfmmmmmn").items
    places = tuple(Location(label=f"L{n}", span=SPAN, what=f"[{n}] is not cited") for n in range(1, 24))
    first = checks[0].model_copy(update={"quote": Quote(text="[red]so[/red]", start=0, end=1)})
    second = checks[1].model_copy(update={"by": "code", "places": places})
    third = checks[2].model_copy(update={"quote_rejected": "made up"})
    given = presentation("mumfmmmmmn").model_copy(update={"items": (first, second, third, *checks[3:])})
    findings = LrbFindings(case="a", document="d", presentation=given)
    shown = printed(findings)
    assert '"[red]so[/red]"' in shown and 'not in the report: "made up"' in shown
    assert "unmet (code)" in shown and "L20: [20] is not cited" in shown
    assert f"and {23 - SHOWN_PLACES} more" in shown and "L21" not in shown
    assert "failed: incomplete" in shown and "not applicable" in shown
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
    shown = printed(findings)
    assert "repeated: as 1" in shown and "covered: c1, c2" in shown and "misplaced: [b]7[/b]" in shown
    assert "1 supported, 1 no verdict" in shown and "failed: incomplete" in shown
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
    rows = [[cell.strip() for cell in line.split("│")] for line in printed(findings).splitlines()]
    # 20 and 12 over five dimensions: 4 each; 3, 3 and three times 2.
    first = next(row for row in rows if row[0].startswith("baseline"))
    assert first == [
        "baseline: no report (plan)",
        "report",
        "granularity 4 : 3",
        "20 : 12",
        "the report",
        "[b]Asks[/b] why.",
    ]
    beneath = rows[rows.index(first) + 1 : rows.index(first) + 3]
    assert [(row[2], row[5]) for row in beneath] == [
        ("insight 4 : 3", "report: Long."),
        ("critique 4 : 2", "other: Lists only."),
    ]
    assert [row[1:2] + row[3:5] for row in rows if row[0].startswith(("baseline", "bo"))] == [
        ["report", "20 : 12", "the report"],
        ["other", "18 : 19", "the other"],
        ["report", "–", "–"],
        ["other", "5 : 5", "neither"],
    ]
    assert "bo (bo-1)" in printed(findings) and "failed: timeout" in printed(findings)
    assert lines(findings) == [
        "depth: 1 baseline and 1 other system in both orders, 1 of 4 comparisons failed; the report itself is none "
        "(refusal); not compared, unreadable: cy-1"
    ]
