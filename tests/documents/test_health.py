"""What of a report's citations is read, and what the health check names."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_judge.documents import Problem, check_health, parse_report
from local_judge.documents.health import n_unread_citations

SHARED = Path(__file__).parents[3] / "shared/data/reports/found"
LIST = "\n## References\n\n" + "".join(f"[{n}] Source {n}. https://s{n}.example/\n\n" for n in range(1, 4))


def report(*marks: str, sources: str = "") -> str:
    """Return a report of one sentence for each mark: `word MARK`, in paragraphs of their own."""
    return "# T\n\n" + "".join(f"The lake heats the town{mark}\n\n" for mark in marks) + sources


def problems(text: str) -> list[tuple[str, int, int]]:
    return [(one.kind, one.n, one.of) for one in check_health(parse_report(text)).problems]


def test_counts_of_a_report_that_was_read() -> None:
    health = check_health(parse_report(report(" [1, 2].", " [3].", ".", sources=LIST)))
    assert health.model_dump() == {
        "language": "en",
        "n_sentences": 3,
        "marks": {"number": 3},
        "n_resolved": 3,
        "dangling": {},
        "n_without_address": 0,
        "n_entries": 3,
        "n_uncited": 0,
        "unread": {},
        "n_entries_in_text": 0,
        "problems": (),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nothing is cited here.", []),
        (report(" [1].", " [2].", " [4].", sources=LIST), [("dangling_marks", 1, 3)]),
        (report(" [1].", sources="\n## References\n\n[1] Kim, J. (2024). A book."), [("marks_without_address", 1, 1)]),
        (report(".", ".", sources=LIST), [("uncited_list", 3, 3)]),
        ("It rose.\n\n## Sources\n\n- A: https://a.org/x\n- B: https://b.org/y\n", [("uncited_list", 2, 2)]),
        # One of the four marks names an entry, and one is at least a fifth of the three entries.
        (report(" [1].", ".", sources=LIST), []),
        (report(" ⟦A1⟧.", " ⟦A2⟧.", " ⟦A1, A3⟧."), [("unread_marks", 3, 3)]),
        (report(" ⟦A1⟧.", " ⟦A1⟧.", " ⟦A1⟧."), []),
        (report(" ⟦A1⟧.", " ⟦A2⟧."), []),
        (report(" ⟦A0⟧.", " ⟦A1⟧.", " ⟦A2⟧."), [("unread_marks", 3, 3)]),
        (report(" ⟦chunk 7⟧ for long.", " ⟦chunk 2⟧ for long.", " ⟦chunk 4⟧ for long."), [("unread_marks", 3, 3)]),
        (report(' <y:ref id="1"/>.', ' <y:ref id="2"/>.') * 2, [("unread_marks", 4, 4)]),
        (report(".1", ".2", ".3"), [("unread_marks", 3, 3)]),
        (report(" (1).", " (2).", " (1)."), []),
    ],
)  # fmt: skip
def test_what_was_not_read_is_a_problem(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert problems(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        report(" by 4 km².", " by 3 m³.", " in R¹."),
        report(" as CD8 T cells.", " as GB200.", " in [2019]."),
        report(": (1) first, (2) second and (3) third.", " (Table 1).", " (Art. 6)."),
        report(" `a[i1]`, `a[i2]`, `a[i3]`.", r" \(x^{1}\), \(x^{2}\), \(x^{3}\)."),
        report(" [6 papers].", " [5 papers].", " [4 papers]."),
        report(*(f" of {thing}." for thing in ("U(1)", "SU(2)", "SU(3)"))),
        report(": x^1, x^2, x^3.", " by ¹H, ²H and ³H."),
        report(" in [0, 5].", " in [0,1].", " in [0, 9].", " in [-1, 1]."),
        report(" in round no.1", " in round no.2", " in round no.3"),
        report(": ISO.1", ": ISO.2", ": ISO.3"),
        report(" of vol.1", " of vol.2", " of vol.3"),
        *(report(*(f" ({word} {n})." for n in (1, 2, 3))) for word in ("Table", "Step", "Phase")),
        *(report(*(f" by [{name} {n}]." for n in range(1, 5))) for name in ("Name", "Company")),
        report(
            ": [Name 1], [Name 2], [Name 3], [Name 4].", *(f" [L](https://s{n}.example/)." for n in (1, 2, 3))
        ),
    ],
)
def test_what_looks_like_marks_and_is_none_is_no_problem(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize(
    "place", ["Article 5", "Article 5 ", "Equation ", "§ 3 ", "Rule 10b-5", "Abs. ", "Annex IV "]
)
def test_numbers_of_provisions_are_no_marks(place: str, *, linked: bool) -> None:
    rules = "".join(f"Under {place}({n % 3 + 1}), the firm has to act.\n\n" for n in range(12))
    links = [f" [page](https://s{n}.example/)." for n in range(10)] if linked else []
    assert problems(report(*links, sources=rules)) == []


def test_unread_marks_are_named_beside_numbers_of_other_things() -> None:
    marks = report(*(f" ({n})." for n in range(1, 6)))
    assert problems(f"{marks}Under Article 5(1), it acts.\n\n") == [("unread_marks", 5, 5)]
    # The first source is cited only after a capitalised word, which an abbreviation may be.
    assert problems(report(" of NASA.1", ".2", ".3", ".4")) == [("unread_marks", 4, 4)]


@pytest.mark.parametrize(
    "link", ["([Reuters]({u}))", "([reuters.example]({u}))", "({u})", "[as Reuters reports]({u})"]
)
def test_prose_around_links_is_no_entry(link: str) -> None:
    bullets = "".join(
        f"- Company {n} grew in May {link.format(u=f'https://s{n}.example/')}.\n" for n in range(6)
    )
    assert problems(f"# T\n\nThe market grows.\n\n## News\n\n{bullets}") == []


@pytest.mark.parametrize(
    "text",
    [
        "The score lies in [0, 5].",
        "It lies in [0,1] or [-1, 1].",
        "It lies in [1, 5], on a scale of [1, 10].",
        "So it is. ¹H is common.",
        "It is. <sup>13</sup>C is rare.",
        "It is. $^{13}$C is.",
    ],
)
def test_intervals_and_isotopes_are_no_citations(text: str) -> None:
    from_zero = "\n## References\n\n" + "".join(f"[{n}] Source. https://s{n}.example/\n\n" for n in range(3))
    cited = report(" [0].", " [1].", " [2].", sources=f"{text}\n\n{from_zero}")
    for whole in (text, cited):
        assert problems(whole) == []


@pytest.mark.parametrize("before", ["", " https://s1.example/ https://s2.example/ https://s3.example/"])
def test_a_list_in_the_text_is_a_problem_unless_its_addresses_are_new(before: str) -> None:
    last = "".join(f"Title {n}, read in May: https://s{n}.example/\n\n" for n in range(1, 4))
    table = f"\n# Dove ho letto\n\n{last}"
    assert ("entries_in_text", 3, 0) in problems(report(f" for long.{before}", sources=table))
    other = report(" for long https://other.example/.", sources=table)
    assert "entries_in_text" not in {kind for kind, _, _ in problems(other)}


@pytest.mark.parametrize("title", ["Sources", "Dove ho letto queste cose"])
@pytest.mark.parametrize(
    ("mark", "entry"),
    [
        (" [{n}]_", ".. [{n}] Title {u}"),
        (" <<src{n}>>", "* [[src{n}]] Title {u}"),
        (" {{{n}}}", "{{{n}}} Title {u}"),
        (" #{n}", "#{n}: Title {u}"),
        (" [Smith 202{n}]", "[Smith 202{n}] Smith. Title. {u}"),
        (" @src{n}", "- src{n}: Title {u}"),
        (" <{n}>", "<{n}> Title {u}"),
        (" [[Title {n}]]", "[[Title {n}]]: {u}"),
        ("", "Title {n}, {u}"),
    ],
)
def test_a_style_that_nobody_has_listed_is_read_or_named(mark: str, entry: str, title: str) -> None:
    marks = [f"{mark.format(n=n)}." for n in (1, 2, 3, 1)]
    entries = "\n\n".join(entry.format(n=n, u=f"https://s{n}.example/") for n in (1, 2, 3))
    health = check_health(parse_report(report(*marks, sources=f"\n## {title}\n\n{entries}\n")))
    assert health.problems or (health.n_resolved, health.n_entries) == (4, 3)


NUMBERED = "\n## References\n\n" + "".join(
    f"[{n}] Source {n}. https://s{n}.example/\n\n" for n in range(1, 7)
)
AUTHORS = """
## References

- Bank of England (2019). Report. https://boe.example/
- Kim, A. (2024). Heat. https://kim.example/
- Lee, J. (in press). Cold. https://lee.example/
- "A silent spring in the north." (2018). https://spring.example/
"""


@pytest.mark.parametrize(
    ("mark", "shape"),
    [
        (" (2)", "round"), (" (2, 4)", "round"), (" {2}", "round"), (" «2»", "round"), (" ((2))", "round"),
        (" (n. 2)", "labelled"), (" (cf. 2)", "labelled"), (" so³", "raised"),
    ],
)  # fmt: skip
def test_a_mark_of_another_style_that_names_an_entry_is_unread(mark: str, shape: str) -> None:
    cited = report(*(f" [{n}]." for n in range(1, 7)), f"{mark}.", sources=NUMBERED)
    health = check_health(parse_report(cited))
    assert (health.n_resolved, health.unread) == (6, {shape: 1})


def test_numbers_below_the_title_of_sources_are_unread_marks() -> None:
    table = "| No. | Claim | Ref. |\n|---|---|---|\n| 1 | Mills turn | 2 |\n| 2 | Lakes heat | 3 |\n"
    text = report(*(f" [{n}]." for n in range(1, 7)), sources=f"{table}{NUMBERED}")
    assert check_health(parse_report(text)).unread == {"cell": 2}


@pytest.mark.parametrize(
    ("mark", "unread"),
    [
        (" (Lee, in press)", 0), (" (Kim and colleagues, 2024)", 0), (" (Bank of England, 2019)", 0),
        (' ("A silent spring", 2018)', 1), (" (as of 2019: Kim, 2024)", 1), (" (World Health Organization, 2023)", 1),
        (" (World Bank, 2019)", 1), (" {Kim, 2024 #14}", 1), (" (in May 2019)", 0), (" (the 2015 Paris Agreement)", 0),
    ],
)  # fmt: skip
def test_a_bracket_with_a_name_and_a_year_is_read_or_named(mark: str, unread: int) -> None:
    health = check_health(parse_report(report(" (Kim, 2024).", f"{mark}.", sources=AUTHORS)))
    assert sum(health.unread.values()) == unread


def test_an_unread_mark_and_an_uncited_entry_may_be_one_citation() -> None:
    found = [
        Problem(kind="uncited_list", n=3, of=3),
        Problem(kind="dangling_marks", n=1, of=6),
        Problem(kind="unread_marks", n=5, of=6),
        Problem(kind="entries_in_text", n=2),
    ]
    assert n_unread_citations(found) == 5 + 1 + 2
    assert n_unread_citations(found[:2]) == 3 + 1


@pytest.mark.skipif(not SHARED.is_dir(), reason="the reports of other projects are not at hand")
@pytest.mark.parametrize("name", ["05_Grok_3_DeeperSearch", "10_Claude", "14_TTD-DR", "20_DeepScholar_base"])
def test_real_reports_whose_marks_are_read_have_no_problem(name: str) -> None:
    assert problems((SHARED / f"{name}.md").read_text(encoding="utf-8")) == []
