"""Real pages as they were fetched, beside their main text as people marked it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from indexes.importing import import_pages
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


def test_extraction_against_hand_made_text(tmp_path: Path) -> None:
    """Every sixth page. Over all 120: precision 0.934, recall 0.976, F1 0.954."""
    lines = (PAGES / "pages.jsonl").read_text(encoding="utf-8").splitlines()[::6]
    (tmp_path / "pages.jsonl").write_text("\n".join(lines), encoding="utf-8")
    import_pages(PAGES, tmp_path / "snap", pages=tmp_path / "pages.jsonl")
    snapshot = Snapshot.open(tmp_path / "snap")
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
    assert verify(tmp_path / "snap").ok


def test_a_sentence_of_a_page_finds_its_own_chunk(tmp_path: Path) -> None:
    lines = (PAGES / "pages.jsonl").read_text(encoding="utf-8").splitlines()[:12]
    (tmp_path / "pages.jsonl").write_text("\n".join(lines), encoding="utf-8")
    import_pages(PAGES, tmp_path / "snap", pages=tmp_path / "pages.jsonl")
    snapshot = Snapshot.open(tmp_path / "snap")
    asked = hits = 0
    for page in snapshot.pages():
        chunks = snapshot.chunks(page)
        queries = [max(re.split(r"(?<=[.!?]) ", chunk.text), key=len) for chunk in chunks]
        for chunk, [best, *_] in zip(chunks, snapshot.passages(page, queries, 1), strict=True):
            asked += 1
            hits += best.chunk == chunk
    assert asked > 30
    assert hits / asked > 0.95
