"""Tables of a judged rubric."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from rich.console import RenderableType

from local_judge.base.output import Table
from local_judge.claims.model import Quote
from local_judge.protocols.deer import Deer
from local_judge.protocols.deer.overall import score
from local_judge.protocols.deer.rubric.model import Grade, Path, RubricFindings, items_of_rubric
from local_judge.protocols.deer.rubric.tables import cost_table, costs, rubric_line
from local_judge.protocols.deer.verification.rows import ClaimRow, PairRow, Rows
from local_judge.reporting.claims import item_tables
from local_judge.reporting.tables import score_notes, score_table
from local_judge.scoring.node import Profile, ScoreNode, placed
from local_judge.tasks.model import Guidance

from ..printing import printed
from ..protocols.deer.rubric_cases import EC, FS, RF, everywhere, findings

HOSTILE = "\x1b]0;title\x07\x1b[31m[bold]x[/nonsense]\r\u202ez"
ROWS = Rows(
    claims=(
        ClaimRow(
            id="L1.S1.1",
            type="A",
            pairs=(PairRow(url="https://a.example", outcome="supported", reliable=True),),
        ),
    )
)


def cells(table: RenderableType | Table) -> dict[str, list[str]]:
    lines = [[cell.strip() for cell in line.split("│")] for line in printed(table).splitlines()]
    return {line[0]: line[1:] for line in lines}


def answered() -> RubricFindings:
    """101 answers: 6 throughout, but for one failure, two that are not applicable, and three told in full."""
    answers = everywhere(6)
    answers[FS, "readability", "1", "C1-1"] = "failed"
    answers[EC, "perspective_balance", "1", "C1-1"] = "N/A"
    answers[EC, "perspective_balance", "1", "Q1-1"] = "N/A"
    special: dict[Path, Grade] = {
        (RF, "scope", "1", "C1-1"): Grade(
            path=(RF, "scope", "1", "C1-1"),
            status="scored",
            score=2,
            judged=7,
            rationale=f"Not met: {HOSTILE}",
            quote=Quote(text=f"a passage {HOSTILE}", start=120, end=155),
        ),
        (FS, "report_format", "1", "C1-2"): Grade(
            path=(FS, "report_format", "1", "C1-2"),
            status="scored",
            score=9,
            judged=9,
            rationale="3 of 3.",
        ),
        (FS, "report_format", "3", "C3-2"): Grade(
            path=(FS, "report_format", "3", "C3-2"),
            status="scored",
            score=8,
            judged=8,
            rationale="Uniform.",
            quote_rejected=f"never written {HOSTILE}",
        ),
    }
    plain = findings(answers)
    return plain.model_copy(
        update={"grades": tuple(special.get(grade.path, grade) for grade in plain.grades)}
    )


def both(rubric: RubricFindings, *rows: Rows) -> dict[str, Sequence[ScoreNode]]:
    profiles: tuple[Profile, ...] = ("paper", "upstream")
    return {profile: placed(score(rows, [rubric], profile), Deer.places) for profile in profiles}


def test_the_table_goes_down_to_subdimensions() -> None:
    rubric = answered()
    table = cells(score_table("deer", both(rubric, ROWS)))
    # Of readability's two criteria, of one item each, one failed and is left out: (1 + 6) / 2 to (10 + 6) / 2.
    assert table["Readability"][:5] == ["6.00", "6/1", "", "1", "3.50 to 8.00"]
    assert table["Perspective Balance"][:5] == ["–", "", "2", "", ""]
    assert table["Ethics Compliance"][:5] == ["6.00", "12/2", "2", "", ""]
    # One item failed below it, and none of its four parts.
    assert table["Format & Style"][3] == "1"
    assert "Recency" in table and "Overall" in table and "Reproducibility" in table
    assert not any(label.startswith(("Criterion", "Coverage", "C1-1")) for label in table)


def test_all_items_can_be_shown() -> None:
    rubric = answered()
    shown = printed(score_table("deer", both(rubric), items=True))
    assert shown.count("Criterion 1") == 17
    # 101 items, each on one line of its own
    assert sum(line.strip()[:1] in "CQ" and line.strip()[1:2].isdigit() for line in shown.splitlines()) == 101


def test_the_line_counts_quotations_caps_and_guidance() -> None:
    rubric = answered()
    assert rubric_line(rubric) == (
        "rubric: 101 items (98 scored, 2 not applicable, 1 failed); "
        "quotations: 1 found in the report, 1 rejected; no guidance"
    )
    guided = rubric.model_copy(
        update={"guidance": Guidance(text="Cover costs.", status="drafted"), "guided": (RF, FS)}
    )
    assert rubric_line(guided).endswith("guidance drafted, shown for 2 dimensions: 1 item capped by it")
    assert rubric_line(findings({(): 4}, mode="vanilla")).startswith("rubric: 1 answer (1 scored)")


def test_the_ten_items_that_cost_most() -> None:
    rubric = answered()
    roots = score([], [rubric], "paper")
    table = cost_table(costs(roots, rubric), rubric)
    shown = printed(table).splitlines()
    assert len([line for line in shown if "│" in line and "." in line.split("│")[3]]) == 10
    # Readability has one criterion left, of one item: (10 - 6) / (1 * 1 * 4) of its dimension, a fifth of that overall.
    row = cells(table)[f"{FS}.readability.2.Q2-1"]
    assert row[1:] == ["6", "0.200", "1.00"]


def test_items_are_told_with_what_they_rest_on() -> None:
    rows = {row.item: row for row in items_of_rubric(answered())}
    assert rows[f"{RF}.scope.1.C1-1"].details == ("capped from 7",)
    shown = " ".join("".join(map(printed, item_tables(list(rows.values())))).split())
    assert '"a passage' in shown and 'not in the report: "never written' in shown
    assert "failed: timeout" in shown
    assert f"{FS}.report_format.1.C1-2 │ │ 9 │ 3 of 3." in shown
    assert "not_applicable │ Nothing of the kind." in shown


@pytest.mark.parametrize("kind", ["items", "costs", "notes", "scores"])
def test_nothing_is_left_that_a_terminal_would_act_on(kind: str) -> None:
    rubric = answered()
    odd = findings({(f"odd{HOSTILE}", "part", "1", "C1-1"): 3})
    shown = {
        "items": lambda: "".join(map(printed, item_tables(list(items_of_rubric(rubric))))),
        "costs": lambda: printed(cost_table(costs(score([], [rubric], "paper"), rubric), rubric)),
        "notes": lambda: "".join(printed(note) for note in score_notes({"paper": score([], [odd], "paper")})),
        "scores": lambda: printed(score_table("deer", {"paper": score([], [odd], "paper")})),
    }[kind]()
    assert shown.strip()
    assert not {"\x1b", "\x07", "\r", "\u202e"} & set(shown)


def test_notes_say_what_a_reader_must_know() -> None:
    notes = list(score_notes({"paper": both(answered(), ROWS)["paper"]}))
    assert any(note.startswith("Recency: not ") for note in notes)
    alone = list(score_notes({"paper": both(answered())["paper"]}))
    assert "Overall: evaluated: 5 of the 7 dimensions" in alone
    assert sum(note.startswith("Recency") for note in alone) == 1
    # What holds of every profile is said once.
    shared = list(score_notes(both(answered(), ROWS)))
    assert "Ethics Compliance: of 3 parts 1 undefined" in shared
    assert "Recency (upstream): a third metric of reference quality in the published code" in shared
