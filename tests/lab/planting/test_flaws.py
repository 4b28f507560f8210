"""A perturbed report has its one flaw, and is the report everywhere else."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from local_judge.demo.outcome import sample_folder
from local_judge.documents import Document, UnreadableReport, parse_report
from local_judge.lab.planting.flaws.flaws import (
    FLAWS,
    FlawSettings,
    Impossible,
    PerturbedReport,
    digest,
    perturbed_reports,
    undone,
)
from local_judge.lab.planting.flaws.insertions import passages
from local_judge.lab.planting.model import LANGUAGES
from local_judge.protocols.probes import FlawKind

REPORT = (sample_folder() / "report.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def report() -> Document:
    return parse_report(REPORT)


@pytest.fixture(scope="module")
def made(report: Document) -> dict[FlawKind, PerturbedReport]:
    found = [
        one
        for one in perturbed_reports("r", report, FlawSettings(seed=1))
        if isinstance(one, PerturbedReport)
    ]
    return {perturbed.flaw.kind: perturbed for perturbed in found}


def cited(document: Document) -> list[tuple[str, frozenset[str | None]]]:
    """Label of each sentence with its sources."""
    return [
        (one.label, frozenset(document.citation(citation).url for citation in one.citations))
        for one in document.sentences
    ]


def check(perturbed: PerturbedReport, report: Document) -> None:
    """What must hold of every perturbed report."""
    flaw = perturbed.flaw
    assert undone(perturbed.text, flaw.changes) == report.text != perturbed.text
    for change in flaw.changes:
        assert report.text[change.start : change.start + len(change.before)] == change.before
        assert (
            perturbed.text[change.perturbed_start : change.perturbed_start + len(change.after)]
            == change.after
        )
    assert (flaw.report_digest, flaw.perturbed_digest) == (digest(report.text), digest(perturbed.text))
    assert parse_report(perturbed.text) == perturbed.document
    assert set(flaw.sentences) <= {sentence.label for sentence in perturbed.document.sentences}
    assert set(flaw.about) <= {sentence.label for sentence in report.sentences}


def test_the_sample_report_has_all_perturbed_reports(
    made: dict[FlawKind, PerturbedReport], report: Document
) -> None:
    assert tuple(made) == FLAWS
    assert [perturbed.flaw.id for perturbed in made.values()] == [f"r~{kind}" for kind in FLAWS]
    for perturbed in made.values():
        check(perturbed, report)


def test_a_contradiction_says_a_sentence_of_the_report_with_one_thing_changed(
    made: dict[FlawKind, PerturbedReport], report: Document
) -> None:
    perturbed = made["contradiction"]
    assert len(perturbed.flaw.changes) == len(perturbed.flaw.sentences) == len(perturbed.flaw.about) == 3
    assert len(perturbed.document.sentences) == len(report.sentences) + 3
    texts = {sentence.label: sentence.text for sentence in report.sentences}
    put_in = {
        sentence.text
        for sentence in perturbed.document.sentences
        if sentence.label in perturbed.flaw.sentences
    }
    assert {change.after.strip() for change in perturbed.flaw.changes} == put_in
    contradicted = [re.sub(r" \[\d+\]", "", texts[label]) for label in perturbed.flaw.about]
    for text in put_in:
        # all words but one or two are those of the sentence that it contradicts
        words = Counter(text.split())
        assert min((words - Counter(other.split())).total() for other in contradicted) <= 2
        assert text not in contradicted


@pytest.mark.parametrize(
    "said",
    [
        "The mill of Fernholt makes more than 300 sacks of flour in the valley of Bergen.",
        "The mill of Fernholt makes flour for the valley of Bergen since 1950.",
        "芬霍尔特市的磨坊至少有300名工人在山谷中长期生产面粉。",
    ],
)
def test_a_bound_that_moves_contradicts_nothing(said: str) -> None:
    # More than 300 sacks and more than 450: both can be true. Turned round (less than 300), they cannot.
    document = parse_report(f"# Mills\n\n{said}\n\nFlour is made of grain.\n\n面粉是用谷物做成的。\n")
    for seed in range(12):
        (perturbed,) = perturbed_reports("r", document, FlawSettings(kinds=("contradiction",), seed=seed))
        if isinstance(perturbed, PerturbedReport):
            assert not re.match("number|date|unit", perturbed.flaw.detail), perturbed.flaw.detail


def test_moved_citations_lead_elsewhere_and_all_others_stay(
    made: dict[FlawKind, PerturbedReport], report: Document
) -> None:
    perturbed = made["moved_citations"]
    before, after = dict(cited(report)), dict(cited(perturbed.document))
    changed = [label for label in before if before[label] != after[label]]
    assert tuple(changed) == perturbed.flaw.sentences and len(changed) >= 2
    assert not any(before[label] & after[label] for label in changed)
    assert Counter(one.key for one in report.citations) == Counter(
        one.key for one in perturbed.document.citations
    )


@pytest.mark.parametrize("seed", range(12))
def test_fewer_citations_are_moved_where_most_lead_to_one_page(seed: int) -> None:
    # Nine of twelve lead to page 1: six marks could be exchanged only if the other three were all among them.
    said = "The mill with the number {} ground more flour than the other mills of the valley [{}]."
    body = "\n\n".join(said.format(n, 1 if n < 9 else n - 7) for n in range(12))
    listed = "\n".join(f"[{n}] Page {n}. https://p{n}.example/a" for n in range(1, 5))
    document = parse_report(f"# Mills\n\n## Flour\n\n{body}\n\n## References\n\n{listed}\n")
    (perturbed,) = perturbed_reports("r", document, FlawSettings(kinds=("moved_citations",), seed=seed))
    assert isinstance(perturbed, PerturbedReport)
    check(perturbed, document)
    assert 2 <= len(perturbed.flaw.changes) <= 6


def test_shuffled_references_have_the_same_texts_behind_other_keys(
    made: dict[FlawKind, PerturbedReport], report: Document
) -> None:
    perturbed = made["shuffled_references"]
    before = {one.key: one.url for one in report.references}
    after = {one.key: one.url for one in perturbed.document.references}
    assert sorted(map(str, before.values())) == sorted(map(str, after.values())) and list(before) == list(
        after
    )
    assert all(before[key] != after[key] for key in before) and len(before) == 7


def test_a_dropped_section_is_gone_with_its_heading(
    made: dict[FlawKind, PerturbedReport], report: Document
) -> None:
    perturbed = made["dropped"]
    (change,) = perturbed.flaw.changes
    assert change.after == "" and change.before.startswith("## ") and change.before.endswith("\n\n")
    assert len(report.sentences) - len(perturbed.document.sentences) == len(perturbed.flaw.about) >= 2
    assert not re.search(r"Overview|References", change.before.splitlines()[0])


def test_a_checklist_item_is_dropped_with_the_section_that_answers_it(report: Document) -> None:
    settings = FlawSettings(kinds=("dropped",))
    (perturbed,) = perturbed_reports(
        "r", report, settings, ["Does the report say how satisfied households and tenants were?"]
    )
    assert isinstance(perturbed, PerturbedReport) and perturbed.flaw.changes[0].before.startswith(
        "## What residents noticed"
    )
    assert perturbed.flaw.detail.endswith("were?")


def test_fallacies_stand_at_the_end_of_paragraphs_and_cite_nothing(
    made: dict[FlawKind, PerturbedReport],
) -> None:
    perturbed = made["reasoning"]
    assert len(perturbed.flaw.sentences) == 3 == len(perturbed.flaw.detail.split(", "))
    assert all(
        not one.citations for one in perturbed.document.sentences if one.label in perturbed.flaw.sentences
    )


def test_padding_makes_the_report_longer_by_the_share_asked_for(report: Document) -> None:
    (perturbed,) = perturbed_reports("r", report, FlawSettings(kinds=("padding",), padding=0.5))
    assert isinstance(perturbed, PerturbedReport)
    found = re.fullmatch(r"(\d+) words without content put into (\d+)", perturbed.flaw.detail)
    assert found is not None
    # the last paragraph may go over by its own length, three sentences of up to 30 words
    assert 0 <= int(found[1]) - 0.5 * int(found[2]) <= 90


def test_passages_hold_no_number_and_no_citation() -> None:
    for language in LANGUAGES:
        for name, least in (("reasoning", 10), ("padding", 24)):
            found = passages(name, language)
            assert len(found) == len({one.text for one in found}) == least
            assert not any(re.search(r"\d|\[|http", one.text) for one in found)


def test_what_has_no_place_is_named() -> None:
    report = parse_report("Just one line without an end")
    found = perturbed_reports("r", report, FlawSettings())
    assert [one.kind for one in found if isinstance(one, Impossible)] == list(FLAWS)
    french = parse_report(
        "Le chauffage urbain de la ville a été rénové entre 2019 et 2024 par la commune. " * 3
    )
    assert all(
        isinstance(one, Impossible) and "'fr'" in one.reason
        for one in perturbed_reports("r", french, FlawSettings())
    )


def test_the_same_seed_makes_the_same_perturbed_reports(report: Document) -> None:
    assert perturbed_reports("r", report, FlawSettings(seed=5)) == perturbed_reports(
        "r", report, FlawSettings(seed=5)
    )
    assert perturbed_reports("r", report, FlawSettings(seed=5)) != perturbed_reports(
        "r", report, FlawSettings(seed=6)
    )


def test_real_reports_have_perturbed_reports_that_differ_in_their_changes_alone(shared: Path) -> None:
    rows = (shared / "data/reports/drb/raw.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(row)["article"] for row in (*rows[:3], *rows[-3:])]
    texts += [
        path.read_text(encoding="utf-8") for path in sorted((shared / "data/reports/lrb").glob("*.md"))[:6]
    ]
    made: Counter[tuple[FlawKind, str]] = Counter()
    for number, text in enumerate(texts):
        try:
            report = parse_report(text)
        except UnreadableReport:
            continue
        for perturbed in perturbed_reports(str(number), report, FlawSettings()):
            if isinstance(perturbed, PerturbedReport):
                check(perturbed, report)
                made[perturbed.flaw.kind, report.language] += 1
    assert all(made[kind, language] >= 2 for kind in FLAWS for language in LANGUAGES), made
