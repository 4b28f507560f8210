"""The table over all reports never shows a number without what failures leave open."""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.base.output import Table
from local_judge.documents import Problem
from local_judge.protocols.deer.verification.rows import ClaimRow, PairRow, Rows
from local_judge.protocols.deer.verification.scores import score
from local_judge.reporting.run_tables import TableOptions, run_summary
from local_judge.reporting.tables import score_table
from local_judge.reporting.verticals import verticals
from local_judge.runs.storage.records import CaseRecord, RunScoreRecord, ScoreRecord
from local_judge.runs.storage.summaries import summarised
from local_judge.scoring.algebra import mean_of
from local_judge.scoring.node import WHOLE, Profile, Score, ScoreNode
from local_judge.scoring.text import ratio

from ..printing import printed as print_all

PROFILES: tuple[Profile, ...] = ("paper", "upstream")


BOUNDS = TableOptions(bounds=True)


def drawn(*parts: Table | str, width: int = 160) -> list[str]:
    return print_all(*parts, width=width, terminal=False).splitlines()


def row(case: str, found: Score) -> tuple[CaseRecord, ScoreRecord]:
    root = ScoreNode(id="information_integrity", label="Integrity", score=found)
    record = CaseRecord(id=case, key=case, document=case, status="done")
    return record, ScoreRecord(case=case, protocol="deer", version="1", profile="paper", scores=(root,))


def printed(*rows: tuple[CaseRecord, ScoreRecord], options: TableOptions = BOUNDS) -> str:
    return " ".join(" ".join(drawn(*summary(rows, options))).split())


def summary(rows: Sequence[tuple[CaseRecord, ScoreRecord]], options: TableOptions) -> list[Table | str]:
    records, scores = [record for record, _ in rows], [row for _, row in rows]
    return run_summary(records, summarised(records, scores), options, scores=scores)


def test_a_dimension_that_rests_on_one_part_of_five_says_so() -> None:
    # Four of five parts failed: their bounds are 0 and 10, the fifth is 9.69. (0 + 9.69) / 5 and (40 + 9.69) / 5.
    found = Score(value=9.69, n_expected=5, n_failed=4, low=1.938, high=9.938)
    assert "│ 9.69 bounds 1.94 to 9.94 │ 1 │ – │ 0 │ 20.0 % known │" in printed(row("one", found))
    assert "│ 9.69 20.0 % known │" in printed(row("one", found), options=TableOptions())


def test_a_score_that_nothing_leaves_open_stands_alone() -> None:
    found = Score(value=9.17, n_expected=5, low=9.17, high=9.17)
    assert "│ 9.17 │" in printed(row("one", found))


def test_a_score_that_does_not_exist_is_a_dash() -> None:
    assert "│ – │" in printed(row("one", Score(value=None, n_undefined=1)))
    failed = Score(value=None, n_expected=3, n_failed=3, low=0.0, high=10.0)
    assert "│ – bounds 0.00 to 10.00 │ 1 │ – │ 0 │ 0.0 % known │" in printed(row("one", failed))


def test_a_dimension_whose_parts_all_have_values_shows_what_their_failures_leave_open() -> None:
    # 4 of 5 known pairs are supported, 2 failed: 8, and 4/7 or 6/7 when resolved; the other part is 10.
    parts = (
        Score(value=8, numerator=4, denominator=5, n_expected=7, n_failed=2, low=40 / 7, high=60 / 7),
        Score(value=10, numerator=1, denominator=1, n_expected=1, low=10, high=10),
    )
    dimension = mean_of(parts)
    assert dimension.n_failed == 0
    assert "9.00 bounds 7.86 to 9.29 │ 1 │ – │ 0 │ 85.7 % known" in printed(row("one", dimension))


def test_a_mean_says_of_how_many_reports_it_is() -> None:
    shown = printed(row("one", Score(value=4, low=4, high=4)), row("two", Score(value=None, n_undefined=1)))
    assert "all reports │ 4.00 n=1 │ 2 │" in shown
    both = printed(row("one", Score(value=4, low=4, high=4)), row("two", Score(value=6, low=6, high=6)))
    assert "all reports │ 5.00 (4.00 to 6.00) │ 2 │" in both


def test_each_system_has_its_mean_and_open_bounds_are_said_only_where_they_are() -> None:
    rows = [
        (record.model_copy(update={"system": system}), found)
        for system, (record, found) in zip(
            ("ada", "bob", "ada"),
            (
                row(case, Score(value=at, low=at, high=at))
                for case, at in (("1", 4.0), ("2", 9.0), ("3", 5.0))
            ),
            strict=True,
        )
    ]
    shown = printed(*rows, options=TableOptions(reports=True))
    assert "ada │ 4.50 (4.00 to 5.00) │ 2 │" in shown
    assert "bob │ 9.00 │ 1 │" in shown
    assert "all reports │ 6.00 (4.00 to 9.00) │ 3 │" in shown
    assert "bounds" not in shown
    # No claims were verified: there is no share of sources to speak of.
    assert "0/0" not in shown
    unread = CaseRecord(id="4", key="4", system="bob", status="unreadable")
    # Half of bob's second report failed: 6 to 10 beside the 9 of the other, and one report has no score at all.
    low = row("5", Score(value=8, n_expected=2, n_failed=1, low=6, high=10))
    records = [rows[1][0], unread, low[0].model_copy(update={"system": "bob"})]
    table = " ".join(
        " ".join(drawn(*run_summary(records, summarised(records, [rows[1][1], low[1]]), BOUNDS))).split()
    )
    assert "bob │ 8.50 n=2 (8.00 to 9.00) │ 2 of 3 │" in table
    # What the third would have is not known, and the scale of a score is not the table's to know: no bounds.
    assert "│ bounds unknown │" in table


def test_reports_that_were_read_in_part_are_counted() -> None:
    record, found = row("one", Score(value=4, low=4, high=4))
    problems = (Problem(kind="uncited_list", n=3, of=3),)
    rows = [(record.model_copy(update={"problems": problems}), found), row("two", Score(value=4))]
    assert "read in part" in printed(*rows) and "│ 2 │ – │ 0 │ 1 │" in f"{printed(*rows)} │"
    assert "read in part" not in printed(rows[1])


def test_counts_are_printed_to_the_last_digit() -> None:
    assert ratio(Score(value=1, numerator=12_345, denominator=1_234_567)) == "12345/1234567"
    assert ratio(Score(value=1, numerator=1_234_567)) == "1234567"
    assert ratio(Score(value=1, numerator=0.375, denominator=0.5)) == "0.375/0.5"


def test_each_profile_shows_its_own_failures_and_bounds() -> None:
    pair = PairRow(url="https://a.example", outcome="judge_failed")
    known = PairRow(url="https://a.example", outcome="supported", reliable=True)
    open_rows = Rows(
        claims=(
            ClaimRow(id="L1.S1.1", type="A", pairs=(known,)),
            ClaimRow(id="L1.S2.1", type="A", pairs=(pair,)),
        )
    )
    lines = drawn(score_table("deer", {name: score([open_rows], name) for name in PROFILES}))
    cells = [cell.strip() for cell in next(line for line in lines if "Citation Support" in line).split("│")]
    # Of two pairs one is supported and one failed: 1/1 by the paper, 1/2 by the code; 1/2 or 2/2 when resolved.
    # The paper has a column for what is undefined: the evenness of one source.
    paper, upstream = ["10.00", "1/1", "", "1", "5.00 to 10.00"], ["5.00", "1/2", "1", "5.00 to 10.00"]
    assert cells == ["Citation Support", *paper, *upstream]


def test_a_table_without_failures_has_no_columns_for_them() -> None:
    pair = PairRow(url="https://a.example", outcome="supported", reliable=True)
    rows = Rows(claims=(ClaimRow(id="L1.S1.1", type="A", pairs=(pair,)),), references=("https://a.example",))
    shown = "\n".join(drawn(score_table("deer", {name: score([rows], name) for name in PROFILES})))
    assert "paper" in shown and "upstream" in shown
    assert "failed" not in shown and "bounds" not in shown


SEVEN = (
    "Request Fulfillment",
    "Analytical Soundness",
    "Structural Coherence",
    "Format & Style",
    "Information Integrity",
    "Information Sufficiency",
    "Ethics Compliance",
    "Overall",
)


def eight(case: str, found: Score) -> tuple[CaseRecord, ScoreRecord]:
    record, scores = row(case, found)
    roots = tuple(ScoreNode(id=label.lower(), label=label, score=found) for label in SEVEN)
    return record, scores.model_copy(update={"scores": roots})


def test_eight_columns_fit_beside_each_other_with_their_bounds() -> None:
    open_ = Score(value=9.69, n_expected=5, n_failed=2, low=1.938, high=9.938)
    rows = [eight("a-report-of-a-long-name-" + "x" * 40, open_), eight("two", Score(value=4, low=4, high=4))]
    rows.append(eight("three", Score(value=5, low=5, high=5)))
    options = TableOptions(reports=True, all_scores=True, bounds=True)
    table = summary(rows, options)
    lines = drawn(*table)
    cells = [[cell.strip() for cell in line.split("│")] for line in lines]
    # What failures leave open stands below the value, cut at blanks alone.
    first = next(index for index, line in enumerate(cells) if line.count("9.69") == 8)
    columns = [" ".join(filter(None, column)) for column in zip(*cells[first : first + 4], strict=True)]
    assert columns[1:9] == ["9.69 bounds 1.94 to 9.94 60.0 % known"] * 8
    assert all(len(line) <= 160 for line in lines)
    # (9.69 + 4 + 5) / 3
    assert any(line.count("6.23") == 8 for line in cells)


def test_eight_columns_lose_no_digit_in_a_narrow_terminal() -> None:
    rows = [eight(name, Score(value=10, low=10, high=10)) for name in ("one", "two", "three")]
    lines = drawn(*summary(rows, TableOptions(reports=True)), width=100)
    cells = [[cell.strip() for cell in line.split("│")] for line in lines]
    assert all(len(line) <= 100 for line in lines)
    assert sum(line.count("10.00") for line in cells) == 8 * (3 + 1)


def test_a_system_has_one_number_where_the_protocol_pools() -> None:
    """3 of 3 and 1 of 4 decisive games: the mean of 100 and 25 is 62.5, and of all seven games 4 are won: 57.14."""
    rates = {"a": (3, 3), "b": (1, 4)}
    records = [CaseRecord(id=case, key=case, status="done", system="x") for case in rates]
    scores = [
        ScoreRecord(
            case=case,
            protocol="liveresearchbench",
            version="1",
            profile="paper",
            scores=(ScoreNode(id="depth", label="Depth", score=Score(value=100 * won / of, n_expected=of)),),
        )
        for case, (won, of) in rates.items()
    ]
    pooled = ScoreNode(id="depth", label="Depth: win rate", score=Score(value=400 / 7, n_expected=7))
    over = RunScoreRecord(
        protocol="liveresearchbench",
        version="1",
        profile="paper",
        system="x",
        n_reports=2,
        n_missing=0,
        scores=(pooled,),
    )
    table = " ".join(" ".join(drawn(*run_summary(records, summarised(records, scores, [over])))).split())
    assert "x │ 57.14* │ 2 │" in table
    assert "62.50" not in table
    [placed] = verticals(records, scores, "paper", [over]).metrics
    assert placed.value == 400 / 7
    # Of two systems, each has its own number; of both together there is the mean of the reports.
    other = [record.model_copy(update={"id": f"{record.id}2", "system": "y"}) for record in records]
    theirs = [score.model_copy(update={"case": f"{score.case}2"}) for score in scores]
    both = [over, over.model_copy(update={"system": "y"})]
    records, scores = [*records, *other], [*scores, *theirs]
    systems = summarised(records, scores, both)
    table = " ".join(
        " ".join(drawn(*run_summary(records, systems, TableOptions(reports=True), scores=scores))).split()
    )
    assert "x │ 57.14* │ 2 │" in table
    assert "y │ 57.14* │ 2 │" in table
    assert "all reports │ 62.50 (25.00 to 100.00) │ 4 │" in table
    assert {one.label for one in systems} == {"Depth"}  # one column, with the label of the reports


def overall(case: str, system: str, protocol: str = "deer") -> tuple[CaseRecord, ScoreRecord]:
    record, scores = row(case, Score(value=7, low=7, high=7))
    part = ScoreNode(id="part", label="Part", score=Score(value=2, low=2, high=2), vertical="depth")
    whole = part.model_copy(update={"id": "all", "label": "Overall", "vertical": None, "aside": WHOLE})
    return record.model_copy(update={"system": system}), scores.model_copy(
        update={"protocol": protocol, "scores": (part, whole)}
    )


def test_six_reports_of_two_systems_fit_one_screen() -> None:
    protocols = ("deer", "fact", "dream", "race", "liveresearchbench", "deresearcheval")
    found = [
        overall(f"{system}-{number}", system, protocol)
        for system in ("ada", "bo")
        for number in range(3)
        for protocol in protocols
    ]
    records = list({record.id: record for record, _ in found}.values())
    scores = [
        ScoreRecord.model_validate({**dict(row), "profile": profile})
        for _, row in found
        for profile in PROFILES
    ]
    for some in (["deer"], ["deer", "fact"], protocols):
        own = [row for row in scores if row.protocol in some]
        lines = drawn(*run_summary(records, summarised(records, own)), width=80)
        assert len(lines) <= 22
        assert all(len(line) <= 80 for line in lines)
        shown = "\n".join(lines)
        assert shown.count("Overall") == len(some) and "Part" not in shown
        assert "upstream" not in shown and "ada-1" not in shown
        assert "ada" in shown and "bo" in shown


def test_all_scores_reports_and_the_other_profile_come_with_options() -> None:
    rows = [overall("one", "ada"), overall("two", "bo")]
    records, paper = [record for record, _ in rows], [row for _, row in rows]
    scores = [*paper, *(row.model_copy(update={"profile": "upstream"}) for row in paper)]
    options = TableOptions("upstream", reports=True, all_scores=True)
    shown = "\n".join(drawn(*run_summary(records, summarised(records, scores), options, scores=scores)))
    assert all(name in shown for name in ("Part", "Overall", "one", "two", "ada", "bo", "all reports"))
    assert "upstream profile" in shown and "paper" not in shown
