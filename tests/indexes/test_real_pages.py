"""Real pages as they were fetched, beside their main text as people marked it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from indexes.extract import extract
from indexes.importing import import_pages
from indexes.limits import gunzip
from indexes.snapshot import Snapshot
from indexes.verify import verify

PAGES = Path(__file__).resolve().parents[2] / "../shared/data/pages"

pytestmark = pytest.mark.skipif(not PAGES.is_dir(), reason="the real pages are not here")

Shingles = Counter[tuple[str, ...]]


def shingles(text: str) -> Shingles:
    words = re.findall(r"\w+", text)
    return Counter(tuple(words[i : i + 4]) for i in range(max(1, len(words) - 3)))


def overlap(found: Shingles, wanted: Shingles) -> tuple[float, float]:
    """Precision and recall over runs of four words, as the benchmark of these pages counts them."""
    shared = sum((found & wanted).values())
    return shared / max(1, sum(found.values())), shared / max(1, sum(wanted.values()))


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Every fourth page."""
    return (PAGES / "pages.jsonl").read_text(encoding="utf-8").splitlines()[::4]


@pytest.fixture(scope="module")
def snapshot(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder = tmp_path_factory.mktemp("real")
    (folder / "pages.jsonl").write_text("\n".join(lines), encoding="utf-8")
    import_pages(PAGES, folder / "snap", pages=folder / "pages.jsonl")
    return Snapshot.open(folder / "snap")


def test_extraction_against_hand_made_text(snapshot: Snapshot, lines: list[str]) -> None:
    """F1 0.946 over these; over all 120: precision 0.934, recall 0.976, F1 0.954."""
    scores: list[tuple[float, float]] = []
    for line in map(json.loads, lines):
        page = snapshot.page(line["url"])
        assert page.status == "ok"
        scores.append(overlap(shingles(page.text), shingles(line["text"])))
        covered = "".join(chunk.text for chunk in snapshot.chunks(page))
        assert "".join(covered.split()) == "".join(page.text.split())
    precision, recall = (sum(column) / len(scores) for column in zip(*scores, strict=True))
    f1 = 2 * precision * recall / (precision + recall)
    print(f"precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}")
    assert f1 > 0.94
    assert verify(snapshot.path).ok


def test_a_sentence_of_a_page_finds_its_own_chunk(snapshot: Snapshot) -> None:
    asked = hits = 0
    for page in snapshot.pages():
        chunks = snapshot.chunks(page)
        queries = [max(re.split(r"(?<=[.!?]) ", chunk.text), key=len) for chunk in chunks]
        for chunk, [best, *_] in zip(chunks, snapshot.passages(page, queries, 1), strict=True):
            asked += 1
            hits += best.chunk == chunk
    print(f"{hits} of {asked}")
    assert asked > 100
    assert hits / asked > 0.97


def test_text_does_not_depend_on_what_was_read_before(lines: list[str]) -> None:
    lines = (PAGES / "pages.jsonl").read_text(encoding="utf-8").splitlines()[5:60:6]
    pages = {
        name: gunzip((PAGES / name).read_bytes()) for name in (json.loads(line)["file"] for line in lines)
    }
    first = {name: extract(data, name) for name, data in pages.items()}
    for name in reversed(pages):
        assert extract(pages[name], name) == first[name]
