"""Issues: how they are asked for, which of them count, and what they score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from local_judge.base.failures import Failure
from local_judge.documents import parse_report
from local_judge.protocols.liveresearchbench import LiveResearchBench, LrbFindings
from local_judge.protocols.liveresearchbench.export import grading_results
from local_judge.protocols.liveresearchbench.issue_prompts import Contradiction, Unlinked
from local_judge.protocols.liveresearchbench.metrics.issues import (
    PUBLISHED,
    CitationAssociation,
    Consistency,
    Issue,
    IssueFindings,
    IssueSettings,
    decide_issues,
    score_of,
)

from ...scripted_judge import MakeJudge
from .lrb_cases import case, context

CITATION = """Task: find the statements of the report above that need a source and are not linked to one that fits. \
Today is 2025-09-30.

A statement needs a source if it gives a figure, date, event or other specific fact; if it quotes or restates what a \
source says; if it gives a finding of research or an expert's opinion; or if it asserts as a fact that one thing \
causes another or goes with it. Common knowledge, the report's own analysis, what it concludes from statements with a \
source, its recommendations, transitions and headings need none.

A citation (a bracketed number, a link, a footnote, an author and year) covers the words before it in its sentence. \
One that stands at the end of a paragraph, of a list's item or of a table's row covers all sentences before it there.

Each statement to be listed has one of two faults:
- Its citation is missing: none covers it.
- Its citation is misplaced: it stands with the statement, and by its title or address, as the report gives them, its \
source is clearly about another subject. An example is the address of a page on healthcare behind a sentence on market \
shares.

List no statement because its source may be weak or may not say so: whether a page on the subject supports a statement \
is not asked here, nor whether the statement is true, nor how citations are written.

For each statement give:
"quote": the words of the report, copied exactly, at most two sentences, without labels.
"citation": the misplaced citation, copied exactly as it stands in the report, such as [3] or an address; empty if the \
citation is missing.
"reason": one sentence on what a source is needed for, or on what the misplaced one is about.

Each statement once, the weightiest first, 25 at most. Answer with one JSON object with the one key "issues"; its list \
is empty if there is no such statement."""

REFERENCES = """The report's references:
```
References
[1] Mill yearbook. https://a.example/mill
[2] Town accounts. https://b.example/town
```"""

REQUEST = """Request:
```
What did the mill cost, and who paid?
```"""

CONSISTENCY = """Task: find the places where the report above disagrees with itself: statements that cannot both be \
true, and conclusions that do not follow from what the report says.

Such places are: two values, dates, names or rankings for one and the same thing; sums, shares or periods that do not \
add up; causes and effects, or steps in time, that exclude each other; a summary, table or recommendation that says \
otherwise than the text it rests on.

List none that is: a statement that is wrong only by what you know of the world; a missing source, or one source cited \
for several statements; an answer that falls short of what was asked; a matter of style; \
a difference that the report itself names and explains, such as two sources that give two figures; a rounding.

For each place give:
"quote": the words of the report, copied exactly, at most two sentences, without labels.
"other": the words that they disagree with, copied in the same way; empty only if the first quote disagrees with itself.
"reason": one or two sentences on why both cannot hold.

Each place once, the gravest first, 4 at most. Answer with one JSON object with the one key "issues"; its list is \
empty if there is no such place."""


def unlinked(quote: str, citation: str = "") -> Unlinked:
    """A statement as the judge lists it: with no citation, or with one that is misplaced."""
    return Unlinked(quote=quote, citation=citation, reason="So.")


def saying(*issues: dict[str, str]) -> Callable[[Any], dict[str, Any]]:
    return lambda call: {"issues": [{"reason": "So.", **issue} for issue in issues]}


async def test_citation_association_as_it_is_asked(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(saying())
    found = await CitationAssociation().examine(case(), context(judge))
    [call] = engine.calls
    report, _, own = call.messages[1].content.partition("\n```\n\n")
    assert report.startswith("Report:\n```\n# The mill") and "References" not in report
    assert own == "\n\n".join([REFERENCES, REQUEST, CITATION])
    assert call.schema is not None
    listed = call.schema["properties"]["issues"]
    assert (listed["maxItems"], list(listed["items"]["properties"])) == (25, ["quote", "citation", "reason"])
    assert (found.issues, found.failure, found.full) == ((), None, False)
    assert CitationAssociation().score([found], "paper").score.value == 100


async def test_consistency_as_it_is_asked(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(saying())
    settings = IssueSettings(limit=4)
    await Consistency(settings).examine(case(), context(judge, today=None))
    await Consistency(settings).examine(case(task=None), context(judge, today=None))
    call, without = engine.calls
    report, _, own = call.messages[1].content.partition("\n```\n\n")
    assert own == REQUEST + "\n\n" + CONSISTENCY
    assert without.messages[1].content == f"{report}\n```\n\n{CONSISTENCY}"
    assert call.schema is not None
    listed = call.schema["properties"]["issues"]
    assert (listed["maxItems"], list(listed["items"]["properties"])) == (4, ["quote", "other", "reason"])


TEXT = """# The cost of mills

The mill cost 9 million in 2019. It has 40 workers, and it opened in 2018 [1]. The roof leaks.

- The town paid half. The rest came from the bank. It was repaid in 2021 [2].
- The mill cost 8 million.

| year | cost |
|---|---|
| 2019 | 7 million [1] |
| 2020 | 6 million |

It was sold in 2022 [9].

## References

[1] A https://a.example/x
[2] B https://b.example/x
"""


def fates(issues: Sequence[Issue]) -> list[str]:
    return [issue.fate for issue in issues]


def test_a_contradiction_counts_once_and_only_with_both_sides_in_the_report() -> None:
    document = parse_report(TEXT)

    def told(quote: str, other: str) -> Contradiction:
        return Contradiction(quote=quote, other=other, reason="So.")

    issues = decide_issues(
        "consistency",
        document,
        [
            told("The mill cost 9 million in 2019", "The mill cost 8 million."),
            told(
                "L5.S1: The mill cost 8 million.", "cost 9 million"
            ),  # the same two places, the other way round
            told("The mill cost 9 million", "The mill cost 12 million"),  # nobody says 12
            told("The mill cost 9 million", "2019 | 7 million"),  # another contradiction
            told("The mill cost 9 million in 2019", ""),  # one place: not the same as two
            told("The roof leaks", "The roof leaks"),
        ],
    )
    assert fates(issues) == ["counted", "repeated", "rejected", "counted", "counted", "counted"]
    assert issues[1].of == 0
    assert issues[0].quoted == ("The mill cost 9 million in 2019", "The mill cost 8 million.")
    assert [TEXT[quote.start : quote.end] for quote in issues[0].quotes] == [
        "The mill cost 9 million in 2019",
        "The mill cost 8 million",
    ]
    assert issues[2].quotes == ()


@pytest.mark.parametrize(
    ("quote", "fate", "by"),
    [
        ("It has 40 workers", "covered", ("c1",)),  # the citation stands behind it in its sentence
        ("it opened in 2018 [1]", "covered", ("c1",)),
        ("The mill cost 9 million in 2019.", "counted", ()),  # the paragraph ends without a citation
        ("The roof leaks.", "counted", ()),
        ("The town paid half.", "covered", ("c2",)),  # the list item ends with one
        ("The rest came from the bank. It was repaid", "covered", ("c2",)),
        ("The mill cost 8 million.", "counted", ()),  # another item
        ("2019", "rejected", ()),  # too short to show anything
        ("| 2019 | 7 million", "covered", ("c3",)),
        ("2020 | 6 million", "counted", ()),
        ("It was sold in 2022 [9]", "counted", ()),  # [9] leads to nothing
        ("It was burnt in 2023", "rejected", ()),
        ("The cost of mills", "rejected", ()),  # a heading
        ("B https://b.example", "rejected", ()),  # an entry of the list of references
    ],
)
def test_what_a_citation_covers_is_no_issue(quote: str, fate: str, by: tuple[str, ...]) -> None:
    [issue] = decide_issues("citation", parse_report(TEXT), [unlinked(quote)])
    assert (issue.fate, issue.covered_by) == (fate, by)


def test_words_behind_the_last_citation_of_their_sentence_are_not_covered() -> None:
    document = parse_report(
        "# T\n\nThe mill cost 9 million [1] and the town paid half of it.\n\n## References\n\n[1] A https://a.example/x\n"
    )
    issues = decide_issues(
        "citation",
        document,
        [
            unlinked("The mill cost 9 million"),
            unlinked("the town paid half of it"),
            unlinked("The mill cost 9 million [1] and the town paid half"),
        ],
    )
    # The third quotes the same words as the second, and more.
    assert fates(issues) == ["covered", "counted", "repeated"]


MARKET = """# Market

Brand A sells 30 % of all cars [1, 3]. It was founded in 1901. Sales [2] rose to 5 million.

- Prices fell. They fell by 9 % [cut](https://news.example/prices).

Exports doubled [9]. Imports did not.

## References

[1] Waiting times in clinics. https://clinic.example/waiting
[2] Car sales. https://cars.example/sales
[3] Brands. https://cars.example/brands
"""


@pytest.mark.parametrize(
    ("quote", "named", "fate", "misplaced"),
    [
        ("Brand A sells 30 % of all cars", "[1]", "counted", ["c1"]),
        ("Brand A sells 30 % of all cars", "[1, 3]", "counted", ["c1", "c2"]),  # the mark as it stands
        ("Brand A sells 30 % of all cars", "https://clinic.example/waiting", "counted", ["c1"]),  # its entry's address
        ("Sales [2] rose to 5 million", "[2]", "counted", ["c3"]),  # inside its sentence: beside it, if not behind it
        ("Prices fell. They fell", "https://news.example/prices", "counted", ["c4"]),
        ("Prices fell.", "[cut](https://news.example/prices)", "counted", ["c4"]),  # from the end of the list item
        ("Exports doubled [9]", "[9]", "counted", ["c5"]),  # leads nowhere, and stands there
        ("Brand A sells 30 % of all cars", "[2]", "rejected", []),  # with another sentence
        ("Brand A sells 30 % of all cars", "none", "rejected", []),  # covered, and no such citation
        ("It was founded in 1901.", "[1]", "counted", []),  # no citation is with it: a missing one
        ("Waiting times in clinics", "[1]", "rejected", []),  # an entry of the list
        ("Brand A sells 40 % of all cars", "[1]", "rejected", []),
    ],
)  # fmt: skip
def test_a_misplaced_citation_counts_where_it_stands_with_the_statement(
    quote: str, named: str, fate: str, misplaced: list[str]
) -> None:
    [issue] = decide_issues("citation", parse_report(MARKET), [unlinked(quote, named)])
    assert (issue.fate, list(issue.misplaced), issue.cited) == (fate, misplaced, named)


IN_A_ROW = """# Market

Brand B sells 20 % of all cars [1] [2].

Brand C sells 9 % of all cars [[2]](https://clinic.example/waiting).

- Brand D sells 5 % of all cars [Waiting times](https://clinic.example/d).

## References

[1] Car sales. https://cars.example/sales
[2] Waiting times in clinics. https://clinic.example/waiting
"""


@pytest.mark.parametrize(
    ("quote", "named", "fate", "misplaced"),
    [
        ("Brand B sells 20 % of all cars", "[1] [2]", "counted", ["c1", "c2"]),
        ("Brand B sells 20 % of all cars", "[1][2]", "counted", ["c1", "c2"]),
        ("Brand B sells 20 % of all cars", "[2] Waiting times, https://clinic.example/waiting", "counted", ["c2"]),
        ("Brand B sells 20 % of all cars", "[3] [4]", "rejected", []),
        ("Brand C sells 9 % of all cars", "[2]", "counted", ["c3"]),  # the text of a link
        ("Brand D sells 5 % of all cars", "Waiting times", "counted", ["c4"]),
        ("Brand D sells 5 % of all cars", "Waiting", "rejected", []),
    ],
)  # fmt: skip
def test_a_misplaced_citation_is_known_in_a_row_and_by_the_text_of_its_link(
    quote: str, named: str, fate: str, misplaced: list[str]
) -> None:
    [issue] = decide_issues("citation", parse_report(IN_A_ROW), [unlinked(quote, named)])
    assert (issue.fate, list(issue.misplaced)) == (fate, misplaced)


async def test_an_address_on_healthcare_behind_market_shares_costs_points(make_judge: MakeJudge) -> None:
    """The paper's own example (section 4.2, figure 11), with a missing citation and a repetition beside it."""
    judge, _ = make_judge(
        saying(
            {"quote": "Brand A sells 30 % of all cars", "citation": "[1]"},
            {"quote": "It was founded in 1901.", "citation": ""},
            {"quote": "Brand A sells 30 % of all cars", "citation": "[1, 3]"},
        )
    )
    found = await CitationAssociation().examine(case(MARKET), context(judge))
    assert fates(found.issues) == ["counted", "counted", "repeated"]
    node = CitationAssociation().score([found], "paper")
    assert node.score.value == 90  # two issues
    assert [(kind.id, kind.score.value) for kind in node.find("counted").children] == [
        ("missing", 1),
        ("misplaced", 1),
    ]
    # The published code counts what its judge lists: three issues.
    assert CitationAssociation().score([found], "upstream").score.value == 80
    assert IssueFindings.model_validate_json(found.model_dump_json()) == found
    results = grading_results(lrb(found), LiveResearchBench().score)
    assert results["citation_grading_results"]["specific_issues"] == [
        '"Brand A sells 30 % of all cars" ([1]): So.',
        '"It was founded in 1901": So.',
        '"Brand A sells 30 % of all cars" ([1, 3]): So.',
    ]


def lrb(found: IssueFindings) -> LrbFindings:
    return LrbFindings(case="a", document="d", citation=found)


def findings(n_counted: int, **fields: Any) -> IssueFindings:
    issues = tuple(Issue(quoted=(f"{n}",), reason="So.", fate="counted") for n in range(n_counted))
    given: dict[str, Any] = {"metric": "citation", "issues": issues, "limit": 25, "table": PUBLISHED}
    return IssueFindings(**{**given, **fields})


@pytest.mark.parametrize(
    ("n_issues", "score"),
    [(0, 100), (1, 90), (2, 90), (3, 80), (14, 30), (15, 20), (17, 20), (18, 10), (25, 10)],
)
def test_the_published_table(n_issues: int, score: float) -> None:
    # The closed form of its first fourteen steps: 100 - 10 * ceil(n / 2).
    assert score_of(n_issues, PUBLISHED) == score
    if n_issues <= 14:
        assert score == 100 - 10 * -(-n_issues // 2)
    node = CitationAssociation().score([findings(n_issues)], "paper")
    assert (node.score.value, node.find("counted").score.value) == (score, n_issues)


def test_rejected_repeated_and_covered_issues_do_not_count_in_the_paper() -> None:
    rejected = Issue(quoted=("x",), reason="So.", fate="rejected")
    repeated = Issue(quoted=("y",), reason="So.", fate="repeated", of=0)
    covered = Issue(quoted=("z",), reason="So.", fate="covered", covered_by=("c1",))
    found = findings(2)
    found = found.model_copy(update={"issues": (*found.issues, rejected, repeated, covered)})
    paper = CitationAssociation().score([found], "paper")
    assert paper.score.value == 90  # 2 issues
    assert paper.score.note == "1 of 5 issues rejected: the report does not say so"
    assert {child.id: child.score.value for child in paper.children} == {
        "counted": 2,
        "rejected": 1,
        "repeated": 1,
        "covered": 1,
    }
    assert (
        CitationAssociation().score([found], "upstream").score.value == 70
    )  # 5 issues: nothing is checked there
    assert [row.value for row in CitationAssociation().decisions(found)] == [2]


def test_a_judge_that_cannot_answer_finds_no_report_perfect() -> None:
    found = findings(0, failure=Failure(kind="timeout", detail="no answer"))
    for profile in ("paper", "upstream"):
        node = CitationAssociation().score([found], profile)
        assert (node.score.value, node.score.low, node.score.high) == (None, 10, 100)
        assert (node.score.n_failed, node.find("counted").score.value) == (1, None)
    assert [row.value for row in CitationAssociation().decisions(found)] == [None]
    assert found.n_failed == 1


def test_a_full_list_may_be_longer() -> None:
    node = CitationAssociation().score([findings(3, limit=3)], "paper")
    assert (node.score.value, node.score.low, node.score.high) == (80, 10, 80)
    assert node.score.note == "the list is full at 3: there may be more issues"


async def test_a_report_that_does_not_fit_is_a_failure(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(saying(), context_tokens=1300)
    found = await Consistency().examine(case(), context(judge))
    assert found.failure is not None and found.failure.kind == "report_too_long"
    assert engine.calls == []


async def test_more_issues_than_allowed_are_no_answer(make_judge: MakeJudge) -> None:
    judge, _ = make_judge(saying(*({"quote": f"Statement {n}", "citation": ""} for n in range(3))))
    found = await CitationAssociation(IssueSettings(limit=2)).examine(case(), context(judge))
    assert found.failure is not None and found.failure.kind == "invalid_reply"


def uncited(text: str, quote: str) -> str:
    """What becomes of a statement that a judge found without a source."""
    references = "\n\n## References\n\n[1] A https://a.example/x\n[2] B https://b.example/x\n"
    [issue] = decide_issues("citation", parse_report(text + references), [unlinked(quote)])
    return issue.fate


def test_words_behind_several_citations_in_one_bracket_are_not_covered() -> None:
    assert uncited("# Mill\n\nIt cost 9 million [1][1, 2] and more.", "It cost 9 million") == "covered"
    assert (
        uncited("# Mill\n\nThe town had paid [1][1, 2] all.", "The town had paid [1][1, 2] all") == "counted"
    )


def test_thousands_of_citations_in_a_sentence() -> None:
    many = "[1]" * 3000
    assert uncited(f"# Mill\n\nAs known {many} it cost 9 million.", "it cost 9 million") == "counted"
    assert uncited(f"# Mill\n\nIt cost 9 million {many}.", "It cost 9 million") == "covered"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([], "the first step must be for 0 issues"),
        ([[1, 100]], "the first step must be for 0 issues"),
        ([[0, 100], [2, 50], [2, 40]], "the numbers of issues must rise: 2 follows 2"),
        ([[0, 90], [2, 95]], "scores must not rise: 2 issues score 95, more than 0 issues"),
        ([[0, 101]], "less than or equal to 100"),
    ],
)
def test_a_table_falls(table: list[list[int]], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        IssueSettings.model_validate({"penalties": table})


def test_another_table_is_in_the_findings_and_scores_by_itself() -> None:
    given = IssueSettings.model_validate({"penalties": [[0, 10], [1, 0]]})
    found = IssueFindings.model_validate_json(findings(1, table=given.penalties).model_dump_json())
    assert CitationAssociation().score([found], "paper").score.value == 0
    assert CitationAssociation().score([findings(0, table=given.penalties)], "paper").score.value == 10
