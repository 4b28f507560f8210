"""Sources in a report's row: the shapes that search APIs return, and where they are used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.documents import Source
from local_judge.runs.planning.inputs import load_reports
from local_judge.runs.planning.report_sources import MAX_SOURCES, read_sources

A, B = "https://a.example/1", "https://b.example/2"
TITLED = (Source(key="1", address=A, title="Heat"), Source(key="2", address=B, title="Flow"))
BARE = (Source(key="1", address=A), Source(key="2", address=B))


@pytest.mark.parametrize(
    ("value", "sources"),
    [
        pytest.param([A, B], BARE, id="perplexity and xai: citations"),
        pytest.param(
            [
                {"title": "Heat", "url": A, "date": "2024-01-01", "last_updated": None},
                {"title": "Flow", "url": B, "date": None},
            ],
            TITLED,
            id="perplexity: search_results",
        ),
        pytest.param(
            [{"url": A, "title": "Heat", "raw_content": "…"}, {"url": B, "title": "Flow"}],
            TITLED,
            id="gpt-researcher",
        ),
        pytest.param(
            [{"web": {"uri": A}}, {"retrievedContext": {"uri": B}}],
            None,
            id="gemini's chunks without their object",
        ),
        pytest.param(
            {"groundingChunks": [{"web": {"uri": A, "title": "Heat"}}, {"web": {"uri": B, "title": "Flow"}}]},
            TITLED,
            id="gemini",
        ),
        pytest.param(
            {"grounding_chunks": [{"maps": {"uri": "x"}}, {"web": {"uri": B}, "retrieved_context": None}]},
            BARE[1:],
            id="gemini in Python, a map counts as a position",
        ),
        pytest.param(
            {
                "url_to_unified_index": {B: 2, A: 1},
                "url_to_info": {A: {"title": "Heat", "snippets": []}, B: {"title": "Flow"}},
            },
            (TITLED[1], TITLED[0]),
            id="storm",
        ),
        pytest.param({"1": A, "2": {"url": B}}, BARE, id="keys"),
        pytest.param(
            [{"url": A, "key": "kim2024"}], (Source(key="kim2024", address=A),), id="a key of its own"
        ),
        pytest.param([], (), id="none"),
    ],
)
def test_shapes_of_sources(value: Any, sources: tuple[Source, ...] | None) -> None:
    if sources is None:
        with pytest.raises(InputError):
            read_sources(value, "Text.", "row")
    else:
        assert read_sources(value, "Text.", "row") == ("Text.", sources)


def annotation(start: int, end: int, url: str = A) -> dict[str, Any]:
    return {"type": "url_citation", "start_index": start, "end_index": end, "url": url, "title": "Heat"}


def support(start: int | None, end: int, text: str, *chunks: int) -> dict[str, Any]:
    segment = {"startIndex": start, "endIndex": end, "text": text}
    return {"segment": segment, "groundingChunkIndices": list(chunks), "confidenceScores": [0.9]}


CHUNKS = [{"web": {"uri": A}}, {"web": {"uri": B}}]


@pytest.mark.parametrize(
    ("report", "value", "text", "keys"),
    [
        # The text between 9 and 36 is the link itself.
        (f"It rose. ([a]({A}))", [annotation(9, 35)], f"It rose. ([a]({A}))", "1"),
        (f"It rose.[[1]]({A})", [annotation(8, 34)], f"It rose.[[1]]({A})", "1"),
        # A statement without a link gets one at its end; a source that several statements have is listed once.
        (
            "It rose. It fell.",
            [annotation(0, 8), annotation(9, 17, B), annotation(9, 17)],
            f"It rose.[1](<{A}>) It fell.[2](<{B}>)[1](<{A}>)",
            "12",
        ),
        # Each has the key of its place in the list, and its address ends with the link.
        (
            "It rose.",
            [{"url": B}, annotation(0, 8, f"{A}>)\n\nIt fell.")],
            f"It rose.[2](<{A}%3E)%0A%0AIt%20fell.>)",
            "12",
        ),
        (
            "It rose.",
            [
                {"type": "url_citation", "url_citation": annotation(0, 8)},
                {"type": "file_citation", "file_id": "f"},
            ],
            f"It rose.[1](<{A}>)",
            "1",
        ),
        # Gemini counts bytes: "Zürich." has seven characters and eight bytes.
        (
            "Zürich. Ärger!",
            {
                "groundingChunks": CHUNKS,
                "groundingSupports": [support(None, 8, "Zürich.", 0, 1), support(9, 16, "Ärger!", 1)],
            },
            f"Zürich.[1](<{A}>)[2](<{B}>) Ärger![2](<{B}>)",
            "12",
        ),
    ],
)
def test_places_of_sources_become_links(report: str, value: Any, text: str, keys: str) -> None:
    found = read_sources(value, report, "row")
    assert found.text == text
    assert "".join(str(source.key) for source in found.sources) == keys


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("https://a.example/1", ": sources "),
        (3, ": sources "),
        ([A, 3], "sources.1 "),
        ([{"title": "Heat"}], "sources.0.url "),
        ([{"url": ""}], "sources.0.url "),
        ([{"url": ["x"]}], "sources.0.url "),
        ({"1": {"url": 3}}, "sources.1.url "),
        ({A: "1"}, "a key must be a mark, and its value the address"),
        ({"1": "https://a.example/\ud800"}, "lone surrogate"),
        ([A] * (MAX_SOURCES + 1), "sources must"),
        (["https://a.example/" + "x" * 5_000], "sources.0.url must"),
        ([annotation(0, 99)], "sources.0: no part of the report ends at 99"),
        ({"groundingChunks": {}}, "groundingChunks "),
        (
            {"groundingChunks": CHUNKS, "groundingSupports": [support(0, 2, "no", 0)]},
            "groundingSupports.0: its segment is not a part of the report",
        ),
        ({"url_to_unified_index": {A: "1"}}, "url_to_unified_index"),
    ],
)
def test_other_values_are_refused_by_name(tmp_path: Path, value: Any, problem: str) -> None:
    path = tmp_path / "reports.jsonl"
    path.write_text("\n" + json.dumps({"id": "q", "report": "It rose.", "sources": value}))
    with pytest.raises(InputError) as caught:
        load_reports([path])
    assert str(caught.value).startswith(f"{path}:2: ")
    assert problem in str(caught.value)


def test_a_row_of_objects_that_are_not_json() -> None:
    with pytest.raises(InputError, match="sources: not JSON"):
        load_reports([{"id": "q", "report": "It rose.", "sources": [object()]}])


def test_sources_resolve_what_the_text_lacks_and_are_part_of_the_report() -> None:
    row = {"id": "q", "report": f"It rose [1]. It fell [2].\n\n## References\n\n[1] {A}\n"}
    (with_sources,) = load_reports([{**row, "sources": ["https://other.example/", B]}])
    (without,) = load_reports([row])
    assert [citation.url for citation in with_sources.parse().citations] == [A, B]
    assert [citation.url for citation in without.parse().citations] == [A, None]
    assert with_sources.content == without.content
    assert with_sources.digest() != without.digest()
    assert with_sources.parse().id != without.parse().id


def test_the_examples_of_the_documentation_resolve() -> None:
    text = (Path(__file__).parents[2] / "docs/reference/formats/inputs.md").read_text()
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{") and '"sources"' in line]
    assert len(rows) == 7
    for report in load_reports(rows):
        assert [citation.url for citation in report.parse().citations] == ["https://heat.example/renewal"], (
            report.id
        )
