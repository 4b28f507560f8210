"""Segments: a partition of the report's sentences, by code and by the judge."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from local_judge.documents import parse_report
from local_judge.documents.model import Document
from local_judge.protocols.deepresearcheval.facts.findings import SegmentSettings
from local_judge.protocols.deepresearcheval.facts.segments import (
    Segment,
    body_sentences,
    cut_report,
    cut_segments,
    cutting_prompt,
)

from ...scripted_judge import MakeJudge
from .facts_cases import REPORT

LONG = "# A\n\n" + "\n\n".join(
    f"## Part {part}\n\n"
    + " ".join(f"Sentence {part} of number {n} is here." for n in range(1, n_sentences + 1))
    for part, n_sentences in enumerate((1, 2, 5, 9), 1)
)


def check_partition(document: Document, segments: tuple[Segment, ...], sizes: SegmentSettings) -> None:
    """All that the module's invariant says, by labels and by offsets."""
    body = body_sentences(document)
    assert [label for one in segments for label in one.sentences] == [sentence.label for sentence in body]
    ends = [0, *(one.span.end for one in segments)]
    assert all(one.span.start >= end for one, end in zip(segments, ends, strict=False))
    by_label = {sentence.label: sentence for sentence in body}
    for one in segments:
        own = [by_label[label] for label in one.sentences]
        text = document.text[one.span.start : one.span.end]
        assert text.startswith(document.text[own[0].span.start : own[0].span.end])
        assert text.endswith(document.text[own[-1].span.start : own[-1].span.end])
        inside = [
            sentence.label
            for sentence in body
            if one.span.start <= sentence.span.start and sentence.span.end <= one.span.end
        ]
        assert inside == list(one.sentences)
        assert len(own) <= sizes.sentences
        assert len(own) == 1 or sum(len(sentence.text) for sentence in own) <= sizes.characters


def lengths(segments: tuple[Segment, ...]) -> list[int]:
    return [len(one.sentences) for one in segments]


def test_headings_begin_segments_behind_enough_sentences() -> None:
    document = parse_report(LONG)
    # 1 and 2 sentences make the first, for want of three before the second heading; 9 do not fit into 6.
    assert lengths(cut_segments(document, SegmentSettings(sentences=6))) == [3, 5, 6, 3]
    assert lengths(cut_segments(document, SegmentSettings(sentences=6, least=1))) == [1, 2, 5, 6, 3]
    assert lengths(cut_segments(document, SegmentSettings(sentences=50, least=50))) == [17]
    # Each sentence has 33 characters: three of them are 99, and six 198.
    assert lengths(cut_segments(document, SegmentSettings(characters=200))) == [3, 5, 6, 3]
    first = cut_segments(document, SegmentSettings())[0]
    assert (first.id, first.sentences[0]) == ("g1", "L3.S1")
    assert document.text[first.span.start :].startswith("Sentence 1 of number 1")


def test_references_and_an_empty_report_have_no_segments() -> None:
    document = parse_report(REPORT)
    [only] = cut_segments(document, SegmentSettings())
    assert document.text[only.span.start : only.span.end].endswith("One may hope for more.")
    assert cut_segments(parse_report("# Only a heading"), SegmentSettings()) == ()


def test_any_sizes_give_a_partition() -> None:
    document = parse_report(LONG)
    draw = random.Random(7)
    labels = [sentence.label for sentence in body_sentences(document)]
    for _ in range(60):
        sizes = SegmentSettings(
            sentences=draw.randint(1, 12), characters=draw.randint(200, 600), least=draw.randint(1, 6)
        )
        check_partition(document, cut_segments(document, sizes), sizes)
        begins = draw.sample(labels, draw.randint(0, len(labels)))
        check_partition(document, cut_segments(document, sizes, begins), sizes)


def test_real_reports_are_partitioned(shared: Path) -> None:
    files = sorted((shared / "data/reports/lrb").glob("*.md"))
    texts = [file.read_bytes() for file in files]
    texts += [
        json.loads(file.read_text(encoding="utf-8"))["entries"][0]["response"].encode()
        for file in sorted((shared / "data/reports/dre").glob("deep_research_*.json"))
    ]
    if not texts:
        pytest.skip("no reports")
    for text in texts:
        document = parse_report(text)
        for sizes in (SegmentSettings(), SegmentSettings(sentences=3, characters=300, least=1)):
            check_partition(document, cut_segments(document, sizes), sizes)


async def test_the_judge_names_beginnings_and_no_text(make_judge: MakeJudge) -> None:
    document = parse_report(LONG)
    judge, engine = make_judge([{"begins": ["L5.S1", "L7.S3"]}])
    sizes = SegmentSettings(by="judge", sentences=8)
    made = await cut_report(document, judge, sizes)
    # 1 | 2 and 2 of 5 | the other 3, to which 9 are too many | 8 of them, and 1
    assert (lengths(made.segments), made.failure) == ([1, 4, 3, 8, 1], None)
    check_partition(document, made.segments, sizes)
    [call] = engine.calls
    assert call.messages[1].content == cutting_prompt(document).shared + "\n\n" + cutting_prompt(document).own
    assert call.messages[1].content.startswith(
        "Report:\n```\n# A\n\n## Part 1\n\nL3.S1: Sentence 1 of number 1"
    )
    assert call.schema is not None and call.schema["properties"]["begins"]["maxItems"] == 17


@pytest.mark.parametrize(
    "begins",
    [["L99.S1"], ["L7.S1", "L5.S1"], ["L5.S1", "L5.S1"], ["Sentence 3 of number 1"]],
)
async def test_what_is_no_partition_is_asked_for_again_and_then_made_by_code(
    make_judge: MakeJudge, begins: list[str]
) -> None:
    document = parse_report(LONG)
    judge, engine = make_judge([{"begins": begins}, {"begins": ["L9.S1"]}])
    sizes = SegmentSettings(by="judge")
    made = await cut_report(document, judge, sizes)
    assert (len(engine.calls), lengths(made.segments), made.failure) == (2, [8, 9], None)
    judge, engine = make_judge([{"begins": begins}] * 3)
    made = await cut_report(document, judge, sizes)
    assert made.failure is not None and made.failure.kind == "invalid_reply"
    assert made.segments == cut_segments(document, SegmentSettings())
