"""The rubric's words: each item asks what the published item of its id asks, in words of this project's own."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from local_judge.protocols.deer.rubric.load import load_rubric
from scripts.write_reference import rubric

from ..rubric_cases import AS, EC, FS, II, RF, SC

ROOT = Path(__file__).resolve().parents[4]
PROMPTS = ROOT / "../shared/originals/deer/prompts/prompt_report.py"
ITEMS = dict(load_rubric().items())

published_prompts = pytest.mark.skipif(not PROMPTS.exists(), reason="the published prompts are not here")


@cache
def systems() -> tuple[str, ...]:
    """The five system prompts of the published code, in the order of its calls."""
    module = run_path(str(PROMPTS))
    guided = ("request_fulfillment", "analytical_soundness", "structural_coherence")
    return (
        *(module[f"get_prompt_{name}"]("", "", "")[0] for name in guided),
        *(module[f"get_prompt_{name}"]("", "")[0] for name in ("format_style", "information_ethics")),
    )


@cache
def published() -> Mapping[tuple[str, ...], tuple[str, str]]:
    """The kind and the text of each published item, from the headings and bullets of the prompts."""
    found: dict[tuple[str, ...], tuple[str, str]] = {}
    for system in systems():
        dimension = part = criterion = kind = ""
        for line in system.splitlines():
            if heading := re.match(r"## \d\. (.+)", line):
                dimension = slug(heading[1])
            elif heading := re.match(r"### \d\.\d ([^(]+)", line):
                part = slug(heading[1])
            elif heading := re.match(r"#### Criterion (\d)", line):
                criterion = heading[1]
            elif heading := re.match(r"\*\*(Coverage|Quality):\*\*", line):
                kind = heading[1].lower()
            elif item := re.match(r"[*-] ([CQ]\d-\d)\b(.+)", line):
                found[dimension, part, criterion, item[1]] = kind, item[2]
    return found


def slug(heading: str) -> str:
    return "_".join(re.findall(r"\w+", heading.lower()))


def listed(scores: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of the items in the example reply of a published prompt."""
    if "score" in scores:
        yield path
        return
    for key, below in scores.items():
        yield from listed(below, (*path, key))


@published_prompts
def test_ids_and_kinds_are_the_published_ones() -> None:
    assert {path: kind for path, (kind, _) in published().items()} == {
        path: item.kind for path, item in ITEMS.items()
    }
    replies = [json.loads(system.split("```json")[1].split("```")[0])["scores"] for system in systems()]
    assert [path for reply in replies for path in listed(reply)] == list(ITEMS)


@published_prompts
def test_no_run_of_seven_words_is_copied() -> None:
    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[a-z0-9]+", text.lower().replace("isation", "ization").replace("ise", "ize"))
        return set(zip(*(words[n:] for n in range(7)), strict=False))

    theirs = set[tuple[str, ...]]().union(*map(runs, systems()))
    assert theirs & runs("You may not copy: Even one core gap makes Excellent (7-8) impossible")
    package = ROOT / "local_judge/protocols/deer/rubric"
    texts = [
        *package.glob("data/*.yaml"),
        *package.glob("prompts/*.md"),
        ROOT / "docs/protocols/deer_rubric.md",
    ]
    assert len(texts) == 15
    assert {path.name: copied for path in texts if (copied := theirs & runs(path.read_text("utf-8")))} == {}


# What each threshold of the published prompts is, and how our item says it.
THRESHOLDS: Mapping[tuple[str, ...], tuple[tuple[str, str], ...]] = {
    (RF, "completeness", "1", "C1-2"): (
        (
            "two well-developed paragraphs or more (typically 4+ sentences each)",
            "two or more paragraphs of at least four sentences each",
        ),
        ("one substantial paragraph (typically 8+ sentences)", "or in one of at least eight"),
    ),
    (SC, "introduction", "1", "Q1-1"): (("200+ words", "200 words or more"),),
    (SC, "body", "1", "C1-4"): (
        (
            "at least one complete paragraph (typically 4+ sentences)",
            "one complete paragraph or more (as a rule of at least four sentences)",
        ),
    ),
    (SC, "conclusion", "1", "Q1-1"): (
        (
            "at least one paragraph (typically 4+ sentences)",
            "one paragraph or more (as a rule of at least four sentences)",
        ),
    ),
    (SC, "section", "3", "Q3-1"): (
        (
            "at least one complete paragraph (typically 4+ sentences)",
            "one complete paragraph or more (at least four sentences)",
        ),
    ),
    (FS, "report_format", "1", "C1-1"): (("at least two major sections", "two or more major sections"),),
    (FS, "report_format", "1", "C1-2"): (
        ("Introduction ≥200 words", "The introduction has at least 200 words"),
        ("Body ≥2000 words total", "the body at least 2,000 in all"),
        ("Conclusion ≥200 words", "the conclusion at least 200"),
    ),
    (FS, "report_format", "2", "C2-2"): (("not occupy more than 30%", "at most 30%"),),
    (FS, "paragraph_quality", "1", "C1-1"): (
        ("typically 4+ sentences", "as a rule of at least four sentences"),
    ),
    (FS, "readability", "2", "Q2-1"): (("at least one effective technique", "one effective means or more"),),
}


@pytest.mark.parametrize("path", THRESHOLDS)
def test_our_items_state_the_thresholds(path: tuple[str, ...]) -> None:
    for _, ours in THRESHOLDS[path]:
        assert ours in ITEMS[path].text


@published_prompts
def test_the_thresholds_are_the_published_ones_and_all_of_them() -> None:
    for path, pairs in THRESHOLDS.items():
        for theirs, _ in pairs:
            assert theirs in published()[path][1]
    threshold = re.compile(r"\d\+|≥|\d%|at least (?:one|two)")
    assert {path for path, (_, text) in published().items() if threshold.search(text)} == set(THRESHOLDS)
    # The other way round: no number of ours has no source.
    ours = re.compile(r"\d|\b(?:two|three|four|eight|one)\b (?:or more|of at least)")
    assert {path for path, item in ITEMS.items() if ours.search(item.text)} <= set(THRESHOLDS)


@published_prompts
def test_items_name_the_guidance_where_the_published_prompt_shows_it() -> None:
    # The calls for format, recency and ethics are not given the guidance.
    for path, item in ITEMS.items():
        if path[0] in (FS, II, EC):
            assert "guidance" not in item.text, path
        elif re.search(r"\bEG\b|Expert Guidance", published()[path][1]):
            assert "guidance" in item.text, path


def test_the_appendix_lists_every_item() -> None:
    rows = re.findall(r"^\| `([\w.-]+\.[CQ]\d-\d)` \| (.+) \|$", rubric(), re.MULTILINE)
    assert rows == [(".".join(path[1:]), item.text) for path, item in ITEMS.items()]


def test_each_item_is_at_most_three_plain_sentences() -> None:
    for path, item in ITEMS.items():
        assert item.text[0].isupper() and item.text.endswith("."), path
        assert "\n" not in item.text and "?" not in item.text, path
        assert len(re.findall(r"[.](?: |$)", item.text)) <= 3, path
        assert len(item.text.split()) <= 65, path


def test_no_item_says_the_same_as_another() -> None:
    def words(text: str) -> frozenset[str]:
        return frozenset(re.findall(r"[a-z]{4,}", text.lower()))

    paths = list(ITEMS)
    for n, first in enumerate(paths):
        for second in paths[n + 1 :]:
            a, b = words(ITEMS[first].text), words(ITEMS[second].text)
            assert len(a & b) / len(a | b) < 0.5, (first, second)


def test_not_applicable_only_where_it_is_published() -> None:
    admitted = {path[:3] for path, item in ITEMS.items() if item.not_applicable}
    assert admitted == {
        *((AS, "quantification", n) for n in "12345"),
        (SC, "body", "2"),
        *((SC, "section", n) for n in "23"),
        (FS, "paragraph_quality", "2"),
        (II, "recency", "1"),
        *((EC, "sensitive_handling", n) for n in "12"),
        (EC, "safety_impact", "1"),  # "where essential"
    }
    coherent = [path[1:] for path, item in ITEMS.items() if path[0] == SC and item.not_applicable]
    assert coherent == [("body", "2", "C2-2"), ("section", "2", "C2-2"), ("section", "3", "C3-2")]
    # Of the other criteria, every item: 8 + 2 + 3 + 4 + 4, and these three.
    assert sum(item.not_applicable is not None for item in ITEMS.values()) == 24
    # What is absent and need not be there is in no mean; nothing else is said to be met by absence.
    assert not [path for path, item in ITEMS.items() if "in full" in item.text]
    for item in ITEMS.values():
        if item.not_applicable:
            assert item.not_applicable.startswith("the report ") and not item.not_applicable.endswith(".")


def test_dimensions_are_described_in_one_sentence() -> None:
    for dimension in load_rubric().dimensions:
        assert dimension.description.startswith("Whether ") and dimension.description.count(".") == 1
    assert [dimension.label for dimension in load_rubric().dimensions] == [
        "Request Fulfillment",
        "Analytical Soundness",
        "Structural Coherence",
        "Format & Style",
        "Information Integrity",
        "Ethics Compliance",
    ]
