"""What code decides of a report's form, on reports that break one thing each."""

from __future__ import annotations

import pytest

from local_judge.documents import parse_report
from local_judge.protocols.liveresearchbench.counted_checks import Decided, decide

from .lrb_cases import REPORT

A, B, C = (f"https://{name}.example/x" for name in "abc")


def listed(*entries: str, text: str = "So it is [1].") -> str:
    return "# T\n\n" + text + "\n\n## References\n\n" + "\n".join(entries) + "\n"


def decided(text: str) -> dict[str, Decided]:
    return decide(parse_report(text))


def whats(found: Decided) -> list[str]:
    return [place.what for place in found.places]


def test_a_sound_report_meets_all_that_code_decides() -> None:
    found = decided(REPORT)
    assert {name: one.status for name, one in found.items()} == dict.fromkeys(
        ("p3", "p4", "p5", "p10"), "met"
    )
    assert all(not one.places for one in found.values())
    assert found["p3"].rationale == "2 of 2 entries are cited."
    assert found["p4"].rationale == "3 of 3 citations have an entry or an address."


def test_each_entry_that_nobody_cites_is_a_place() -> None:
    text = listed(f"[1] A {A}", f"[2] B {B}", f"[3] C {C}", text="So [2].")
    found = decided(text)["p3"]
    assert (found.status, whats(found)) == ("unmet", ["[1] is not cited", "[3] is not cited"])
    assert [text[place.span.start : place.span.end] for place in found.places] == [f"[1] A {A}", f"[3] C {C}"]
    # Blocks: heading, paragraph, heading, list: the fourth.
    assert {place.label for place in found.places} == {"L4"}


def test_a_citation_without_entry_is_a_place() -> None:
    text = listed(f"[1] A {A}", text="So [1]. And so [7]. Or [so](https://c.example/x).")
    found = decided(text)["p4"]
    assert (found.status, whats(found)) == ("unmet", ["no entry 7"])
    place = found.places[0]
    assert (place.label, text[place.span.start : place.span.end]) == ("L2", "[7]")
    assert found.rationale.startswith("2 of 3 citations ")


def test_without_citations_and_references_there_is_nothing_to_cite() -> None:
    found = decided("# T\n\nA thing is so.\n")
    assert {name: one.status for name, one in found.items()} == {
        "p3": "not_applicable",
        "p4": "not_applicable",
        "p5": "unmet",
        "p10": "not_applicable",
    }


@pytest.mark.parametrize(
    ("entries", "status", "what"),
    [
        ((f"[1] Zeta {A}", f"[2] Beta {B}"), "met", []),
        ((f"[2] A {A}", f"[1] B {B}"), "unmet", ["[1] stands after a higher number"]),
        ((f"- Alpha, {A}", f"- Beta, {B}", f"- Gamma, {C}"), "met", []),
    ],
)
def test_one_list_in_one_order(entries: tuple[str, ...], status: str, what: list[str]) -> None:
    found = decided(listed(*entries))["p5"]
    assert (found.status, whats(found)) == (status, what)


def test_a_list_without_numbers_may_follow_the_text() -> None:
    text = f"So [zeta]({A}), and so [alpha]({B})."
    in_order = listed(f"- Zeta, {A}", f"- Alpha, {B}", text=text)
    assert decided(in_order)["p5"].rationale == "One list of 2 entries, in the order of their first citation."
    # Neither in the order of the alphabet nor of the text: nobody but a reader can say.
    other = listed(
        f"- Zeta, {A}", f"- Alpha, {B}", f"- Mu, {C}", text=f"So [mu]({C}) [alpha]({B}) [zeta]({A})."
    )
    assert "p5" not in decided(other)


def test_footnotes_are_no_list() -> None:
    found = decided(f"# T\n\nSo it is[^1]. And so[^2].\n\n[^1]: A {A}\n\n[^2]: B {B}\n")
    assert "p5" not in found  # whether they make one, the judge says
    assert (found["p3"].status, found["p4"].status, found["p10"].status) == ("met", "met", "not_applicable")


def test_two_lists_are_one_too_many() -> None:
    chapters = (
        f"## {n}\n\nSo [1].\n\n### References\n\n[1] {n} {url}\n\n" for n, url in (("A", A), ("B", B))
    )
    text = "# T\n\n" + "".join(chapters)
    found = decided(text)
    assert (found["p5"].status, whats(found["p5"])) == ("unmet", ["a list of references begins"] * 2)
    [what] = whats(found["p10"])
    assert what.startswith("[1] ")


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        ((f"[1] A {A}", f"[2] B {B}", f"[3] C {C}"), []),
        ((f"[1] A {A}", f"[3] B {B}"), ["no entry 2 before 3"]),
        ((f"[2] A {A}", f"[6] B {B}"), ["no entry 1 before 2", "no entry 3 to 5 before 6"]),
        ((f"[1] A {A}", f"[2] B {A}"), ["[1] and [2] are one source"]),
        ((f"[1] A {A}", f"[1] B {B}"), ["[1] stands for two sources"]),
        # The published item speaks of two sources under a number, and of gaps: neither is here.
        ((f"[1] A {A}", f"[1] A {A}"), []),
        (("[1] A book", "[1] A book"), []),
        (("[1] A book", "[1] Another"), ["[1] stands for two sources"]),
        ((f"[0] A {A}", f"[1] B {B}"), []),
        ((f"[0] A {A}", f"[2] B {B}"), ["no entry 1 before 2"]),
        # The same page, whatever fragment or tracking parameter it is given with.
        ((f"[1] A {A}", f"[2] A {A}?utm_source=x#part"), ["[1] and [2] are one source"]),
    ],
)
def test_numbers_without_gaps_and_doubles(entries: tuple[str, ...], what: list[str]) -> None:
    found = decided(listed(*entries))["p10"]
    assert (found.status, whats(found)) == ("unmet" if what else "met", what)


def test_numbers_that_no_entry_bears_are_for_the_judge() -> None:
    found = decided("# T\n\nSo it is [4], and so [4].\n")
    assert "p10" not in found
    assert (found["p4"].status, found["p5"].status) == ("unmet", "unmet")


TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("# T\n\n### A\n\nSo.\n\n#### B\n\nSo.\n", []),  # whether headings are proper, the judge says
        ("# T\n\n**A thing**\n\nSo it is.\n", []),
        (f"# T\n\n{TABLE}", []),
        (f"# T\n\n{TABLE}| 1 \\| 2 | `3` |\n", []),
        (f"# T\n\n{TABLE}| 1 |\n", []),  # a renderer fills the row
        (f"# T\n\n{TABLE}| 1 | 2 | 3 |\n", ["cells: 3, in the head: 2"]),  # and drops the third cell
        ("# T\n\n| a | b |\n| 1 | 2 |\n", ["lines of cells that make no table"]),
    ],
)
def test_code_decides_formatting_only_where_a_table_is_faulty(text: str, what: list[str]) -> None:
    found = decided(text).get("p9")
    assert (found and (found.status, whats(found))) == (("unmet", what) if what else None)


@pytest.mark.parametrize("title", ["9. Synthesis and Outlook (2025)", "Trends (2024) and Outlook (2025)"])
def test_a_year_in_a_heading_is_no_citation_without_an_entry(title: str) -> None:
    cited = f"# T\n\nA is so (Kim, 2024).\n\n## {title}\n\nB is so.\n\n## References\n\n- Kim, J. (2024). A. {A}\n"
    assert decided(cited)["p4"].status == "met"
    assert decided(cited.replace(title, "Work of Kim (2023)"))["p4"].status == "met"
    assert len(parse_report(cited.replace(title, "Work of Kim (2024)")).citations) == 2
