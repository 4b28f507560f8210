"""Real reports: every change accounted for, and the texts that the benchmark's own cleaner published."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from local_judge.documents import parse_report
from local_judge.documents.clean import Cleaned, clean
from local_judge.documents.cleaning.diff import unified_diff
from local_judge.documents.cleaning.model import applied

REPORTS = Path(__file__).resolve().parents[2] / "../shared/data/reports"
pytestmark = pytest.mark.skipif(not REPORTS.exists(), reason="the shared reports are not here")


def rows(name: str) -> dict[str, str]:
    lines = (REPORTS / "drb" / name).read_text(encoding="utf-8").splitlines()
    return {str(row["id"]): row["article"] for row in map(json.loads, lines)}


@cache
def texts() -> dict[str, str]:
    found = {f"drb/{identity}": text for identity, text in rows("raw.jsonl").items()}
    for path in sorted((REPORTS / "lrb").glob("*.md")):
        found[f"lrb/{path.stem}"] = path.read_text(encoding="utf-8")
    for path in sorted((REPORTS / "dre").glob("deep_research_*.json")):
        found[f"dre/{path.stem}"] = json.loads(path.read_text(encoding="utf-8"))["entries"][0]["response"]
    return found


@cache
def results() -> dict[str, Cleaned]:
    return {name: clean(parse_report(text)) for name, text in texts().items()}


def test_the_text_is_the_original_with_the_removals_applied() -> None:
    for name, cleaned in results().items():
        text = texts()[name]
        assert applied(text, cleaned.removed) == cleaned.text, name
        assert all(text[r.span.start : r.span.end] == r.text for r in cleaned.removed), name
        ends = [0, *(removal.span.end for removal in cleaned.removed)]
        assert all(r.span.start >= end for r, end in zip(cleaned.removed, ends, strict=False)), name


def test_no_marker_is_left_outside_code() -> None:
    for name, cleaned in results().items():
        prose = re.sub(r"```.*?```", "", cleaned.text, flags=re.DOTALL)
        assert re.findall(r"\[\d{1,3}(?:[,–-] ?\d{1,3})*\]|https?://|\]\(", prose) == [], name


def test_what_goes_with_a_marker_is_no_word_of_the_report() -> None:
    """A marker, without links, is digits, brackets, separators, sites and words that introduce a source."""
    for name, cleaned in results().items():
        for removal in cleaned.removed:
            if removal.kind == "marker" and "](" not in removal.text:
                rest = re.sub(
                    r"\((?:[A-Z]\w+(?: et al\.)?,? (?:[A-Z]\w+ )?\d{4}(?:; )?)+\)", "", removal.text
                )
                rest = re.sub(r"(?i)\b(?:see|also|and|citations in text|sources?)\b", "", rest)
                rest = re.sub(r"\[[\w.-]+\.\w+\](?=\[)", "", rest)  # a site before its number
                assert not re.search(r"[^\W\d_]", rest), (name, removal)


def test_white_space_closes_without_traces() -> None:
    traces = re.compile(r"\w [,;]\s|\w \.(?=\s)|\( *\)|[（]\s*[）]")
    for name, cleaned in results().items():
        before = set(traces.findall(texts()[name]))
        assert set(traces.findall(cleaned.text)) <= before, name


def test_the_diff_has_every_removed_line() -> None:
    for name, cleaned in results().items():
        diff = list(unified_diff(texts()[name], cleaned, name))
        old = [line[1:] for line in diff[2:] if line[:1] in (" ", "-")]
        assert len(old) <= len(texts()[name].split("\n"))
        assert bool(diff) == bool(cleaned.removed)


def test_as_many_published_texts_are_met_as_by_a_plain_expression_and_more() -> None:
    """That expression equals 41 of the 60 (`scripts/bench_cleaning`), and this package 42."""
    published = rows("cleaned.jsonl")
    differing = {
        identity
        for identity, text in published.items()
        if "".join(text.split()) != "".join(results()[f"drb/{identity}"].text.split())
    }
    assert sorted(differing, key=int) == [
        *(
            "1",
            "2",
            "4",
            "6",
            "9",
            "11",
            "14",
            "19",
            "22",
            "36",
            "37",
            "39",
            "46",
            "49",
            "76",
            "79",
            "82",
            "89",
        )
    ]
