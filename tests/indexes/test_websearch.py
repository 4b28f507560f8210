"""Recorded searches: what a file may hold, and which pages it names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from indexes.errors import ImportRefused
from indexes.model import FoundBy
from indexes.websearch import WebResult, WebSearch, append_search, found_pages, read_searches, render_search

AT = "2026-01-31T12:00:00Z"


def search(query: str, *urls: str, first: int = 1, **more: Any) -> WebSearch:
    results = tuple(WebResult(rank=rank, url=url) for rank, url in enumerate(urls, start=first))
    return WebSearch(query=query, at=AT, results=results, **more)


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "searches.jsonl"
    given = [search("ice", "https://a.test/1"), search("naïve 冰", failures=("bing: timeout",))]
    for one in given:
        append_search(path, one)
    assert list(read_searches(path)) == given
    assert path.read_text() == "".join(map(render_search, given))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"query": "a", "query": "b"}', "not JSON"),
        ("[]", "the line must be a mapping"),
        ({"query": "ice", "at": AT, "rank": 1}, "rank: unknown key"),
        ({"query": "", "at": AT}, "query must"),
        ({"query": "ice"}, "at is missing"),
        ({"query": "ice", "at": "now"}, "at"),
        (
            {"query": "ice", "at": AT, "results": [{"rank": 0, "url": "https://a.test"}]},
            "results.0.rank must",
        ),
        ({"query": "ice", "at": AT, "results": [{"rank": 1, "url": "u"}] * 2}, "results must be in order"),
        (
            {"query": "ice", "at": AT, "results": [{"rank": n, "url": "u"} for n in range(1, 102)]},
            "results must",
        ),
    ],
)
def test_what_is_no_search_is_named_with_its_line(tmp_path: Path, line: object, problem: str) -> None:
    path = tmp_path / "searches.jsonl"
    path.write_text("\n" + (line if isinstance(line, str) else json.dumps(line)) + "\n")
    with pytest.raises(ImportRefused) as refused:
        list(read_searches(path))
    assert str(refused.value).startswith(f"{path}:2: {problem}")
    with pytest.raises(ImportRefused, match="cannot be read"):
        list(read_searches(tmp_path / "none"))


def test_the_first_usable_results_of_each_search_name_pages() -> None:
    searches = [
        search("ice", "http://a.test/1", "javascript:alert(1)", "https://www.a.test/1/", "https://b.test/2"),
        search("lake", "https://c.test/3", "https://a.test/1#top", first=4),
    ]
    # Of "ice", ranks 2 (no web address) and 3 (the address of rank 1) do not count, so rank 4 is the second.
    assert found_pages(searches, 2) == {
        "http://a.test/1": (FoundBy(query="ice", rank=1, at=AT), FoundBy(query="lake", rank=5, at=AT)),
        "https://b.test/2": (FoundBy(query="ice", rank=4, at=AT),),
        "https://c.test/3": (FoundBy(query="lake", rank=4, at=AT),),
    }
    assert list(found_pages(searches, 1)) == ["http://a.test/1", "https://c.test/3"]
    assert found_pages([*searches, *searches], 2) == found_pages(searches, 2)
