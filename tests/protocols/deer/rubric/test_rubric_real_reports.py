"""The counts on real reports: how many they decide, and that no part is named that a reader would not name so."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from local_judge.documents import Document, parse_report
from local_judge.documents.words import WordCounter
from local_judge.protocols.deer.rubric.counts import count
from local_judge.protocols.deer.rubric.parts import find_parts

REPORTS = Path(__file__).resolve().parents[4] / "../shared/data/reports"
pytestmark = pytest.mark.skipif(not REPORTS.exists(), reason="the shared reports are not here")


@cache
def documents() -> dict[str, Document]:
    """Thirty reports in Chinese, thirty in English, and six made of lists."""
    rows = [json.loads(line) for line in (REPORTS / "drb/raw.jsonl").read_text(encoding="utf-8").splitlines()]
    found = {f"drb/{row['id']}": parse_report(row["article"]) for row in rows}
    for path in sorted((REPORTS / "lrb").glob("*.md"))[::9]:
        found[f"lrb/{path.stem}"] = parse_report(path.read_text(encoding="utf-8"))
    return found


def test_how_many_are_decided() -> None:
    decided = Counter(
        (rule, name[:3])
        for rule in ("parts_present", "part_lengths", "paragraph_lengths")
        for name, document in documents().items()
        if count(rule, document, 10) is not None
    )
    # Of the 60, the other 29 open with a section on their subject or with a summary, or do not conclude; four are
    # mostly lists, as all of the second kind are.
    assert decided == {
        ("parts_present", "drb"): 31,
        ("part_lengths", "drb"): 31,
        ("paragraph_lengths", "drb"): 56,
    }


def test_parts_are_what_their_writers_call_so() -> None:
    opening, closing = re.compile(r"introduction|引言|背景"), re.compile(r"conclusion|结论|总结")
    for name, document in documents().items():
        parts = find_parts(document)
        if parts is None:
            continue
        headings = {
            block.index + 1: block.text.lower() for block in document.blocks if block.kind == "heading"
        }
        first, last = (
            int(re.findall(r"\(L(\d+)\)", part.place)[-1]) for part in (parts.introduction, parts.conclusion)
        )
        # One report (47) introduces itself under its title, without a heading.
        assert first not in headings if name == "drb/47" else opening.search(headings[first]), name
        assert closing.search(headings[last]), name
        assert first < last
        assert parts.body.words > max(parts.introduction.words, parts.conclusion.words), name


def test_words_are_as_many_in_both_languages() -> None:
    medians: dict[str, int] = {}
    for language in ("zh", "en"):
        lengths = sorted(
            WordCounter(document).block(block)
            for name, document in documents().items()
            if name[:3] == "drb" and document.language == language
            for block in document.blocks
            if block.role == "body" and block.kind == "paragraph"
        )
        medians[language] = lengths[len(lengths) // 2]
    # The same agent's paragraphs: were a character a word, or half of one, the Chinese would be far off.
    assert medians == {"zh": 58, "en": 62}
