"""DREAM's tables in the user's copy of its text, in whatever form the copy is."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from local_judge.base.errors import ConfigError, InputError
from local_judge.lab.experiments.corruption import Topic, corruption, load_topics
from local_judge.lab.experiments.paper import claim_pairs, plan_rubric_of, reasoning_requests
from local_judge.lab.experiments.run import experiment_named

from .conftest import PAPER, PAPER_HERE

TOPICS = load_topics()
HOSTS = [f"host-{number}" if number % 2 else f"host{number}" for number in range(15)]
REQUESTS = [
    f"How will the price of {topic.matter} change over the next {topic.id.count('a')} years?"
    for topic in TOPICS
]
RUBRIC = {
    "relevance": "Bears on the main point of the request and on no other.",
    "verifiability": "Can be looked up on a page that anybody can read.",
    "clarity": "Means the same to a well-disposed reader and to a reader who is not well disposed.",
    "validation": "Has steps that lead to an answer without assuming it.",
}


def table_7(cell: str = "\t", row: str = "\n") -> str:
    """The packaged claims in the form of the paper's table."""
    rows = [
        cell.join([str(number), topic.id.capitalize(), "T", topic.true_claim, host])
        + row
        + cell.join(["", "", "F", topic.false_claim, f"{host}.net"])
        for number, (topic, host) in enumerate(zip(TOPICS, HOSTS, strict=True), 1)
    ]
    return row.join(["Table 7: Pairs.", cell.join(["ID", "Topic", "Variant", "Claim", "URL Domain"]), *rows])


def document(pairs: str) -> str:
    """A text with the three tables, other numbered lists, and a table with the same names."""
    requests = "\n".join(f"{number}\t{request}" for number, request in enumerate(REQUESTS[:10], 1))
    rubric = "\n".join(f"<i>{axis.capitalize()}</i>\t{text}" for axis, text in RUBRIC.items())
    lists = "1. Do this. 2. Do that.\n1\tA criterion. Does the report say so?\n"
    return (
        f"DREAM\n\n{lists}\nTable 6: Requests.\nID\tQuery\n{requests}\n\nAs said.\n\n{pairs}\n\nTable 8: Rubric.\n\n"
        f"Dimension\tScoring Guidelines\n{rubric}\n\nRelevance\t0.58\t.030\nVerifiability\t0.78\t.009\n"
    )


def wrapped(text: str) -> str:
    """All in lines of 44 characters, with words divided at their ends and a page break after every 30 lines."""
    lines = textwrap.wrap(" ".join(text.split()), 44, break_on_hyphens=True)
    lines = [
        re.sub(r" (\w{3})(\w{3,})$", r" \1-\n\2", line) if n % 3 else line for n, line in enumerate(lines)
    ]
    pages = ["\n".join(lines[start : start + 30]) for start in range(0, len(lines), 30)]
    return "".join(f"{page}\n\n{number}\n\f" for number, page in enumerate(pages, 1))


def in_columns(text: str) -> str:
    """Claims in a column of 50 characters, with the host beside the first line."""
    lines: list[str] = []
    for line in text.splitlines():
        cells = line.split("\t")
        if len(cells) != 5 or cells[2] not in ("T", "F"):
            lines.append(line)
            continue
        first, *more = textwrap.wrap(cells[3], 50)
        lines.append(f"{cells[0]:>4}   {cells[1]:<18}{cells[2]:<5}{first:<54}{cells[4]}")
        lines += [" " * 30 + part for part in more]
    return "\n".join(lines)


def markdown(text: str) -> str:
    return "\n".join(f"| {line.replace(chr(9), ' | ')} |" for line in text.splitlines())


FORMS: list[Callable[[str], str]] = [str, wrapped, in_columns, markdown]


@pytest.mark.parametrize("form", FORMS)
def test_tables_are_read_in_any_form(tmp_path: Path, form: Callable[[str], str]) -> None:
    path = tmp_path / "paper.txt"
    path.write_text(form(document(table_7())))
    found = claim_pairs(path)
    assert [(one.true_claim, one.false_claim) for one in found] == [
        (one.true_claim, one.false_claim) for one in TOPICS
    ]
    assert [(one.true_page.url, one.false_page.url) for one in found] == [
        (f"https://{host}.example/{number}", f"https://{host}.net.example/{number}")
        for number, host in enumerate(HOSTS, 1)
    ]
    assert list(reasoning_requests(path)) == REQUESTS[:10]
    assert plan_rubric_of(path) == RUBRIC


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (claim_pairs, "it lacks DREAM, Table 7: 15 numbered claim pairs with the variants T and F (7 found)"),
        (reasoning_requests, "it lacks DREAM, Table 6: 10 numbered requests (0 found)"),
        (plan_rubric_of, "it lacks DREAM, Table 8: the rows Relevance, Verifiability, Clarity, Validation"),
    ],
)
def test_a_text_without_a_table_is_refused_in_one_line(
    tmp_path: Path, read: Callable[[Path], object], said: str
) -> None:
    path = tmp_path / "other.txt"
    path.write_text(table_7().split("\n8\t")[0])
    with pytest.raises(InputError) as refused:
        read(path)
    assert str(refused.value) == f"{path}: not the text of arXiv 2602.18940; {said}"


def test_a_cell_that_a_column_of_another_divides_is_not_taken_into_a_claim(tmp_path: Path) -> None:
    path = tmp_path / "paper.txt"
    broken = in_columns(table_7()).replace(" " * 30, " " * 7 + "beliefs".ljust(23), 1)
    path.write_text(broken)
    with pytest.raises(InputError, match="Table 7"):
        claim_pairs(path)


def only(topics: tuple[Topic, ...], word: str) -> Topic:
    return next(one for one in topics if word in one.matter)


@PAPER_HERE
def test_the_papers_own_tables() -> None:
    pairs = claim_pairs(PAPER)
    assert len({one.true_page.url for one in pairs} | {one.false_page.url for one in pairs}) == 30
    assert only(pairs, "Crypto").true_page.url == "https://chainalysis.example/13"
    assert len(reasoning_requests(PAPER)) == 10 and all(
        one.endswith("?") for one in reasoning_requests(PAPER)
    )
    assert list(plan_rubric_of(PAPER)) == list(RUBRIC)
    made = experiment_named("corruption", paper=PAPER)
    assert (len(made.pages), made.published) == (30, True)
    assert [len(trial.planted) for trial in made.design.trials] == [0, 3, 6, 9, 12, 15]
    assert made.design.texts_sha256 != corruption().design.texts_sha256
    with pytest.raises(ConfigError, match="the paper prints neither pages nor reports for temporal"):
        experiment_named("temporal", paper=PAPER)


@PAPER_HERE
@pytest.mark.parametrize("form", FORMS)
def test_the_papers_own_tables_in_other_forms(tmp_path: Path, form: Callable[[str], str]) -> None:
    path = tmp_path / "paper.txt"
    path.write_text(form(PAPER.read_text()))
    assert [len(one.true_claim) for one in claim_pairs(path)] == [
        len(one.true_claim) for one in claim_pairs(PAPER)
    ]
    assert reasoning_requests(path) == reasoning_requests(PAPER)
    assert plan_rubric_of(path) == plan_rubric_of(PAPER)
