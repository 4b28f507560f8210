"""Real pages as they were fetched, beside their main text as people marked it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from indexes.limits import gunzip
from indexes.making.importing import import_pages
from indexes.manifest import sha256
from indexes.snapshot import Snapshot
from indexes.text.chunk import OVERLAP, chunk_spans, make_chunks
from indexes.text.extract import extract
from indexes.verify import verify
from scripts.benchmarking.shingles import scores, without_marks

PAGES = Path(__file__).resolve().parents[2] / "../shared/data/pages"

pytestmark = pytest.mark.skipif(not PAGES.is_dir(), reason="the real pages are not here")


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
    """F1 0.946 over these; over the 118 that are no walls: precision 0.936, recall 0.977, F1 0.956.

    See `scripts/bench_extraction`.
    """
    pairs: list[tuple[str, str]] = []
    for line in map(json.loads, lines):
        page = snapshot.page(line["url"])
        assert page.status == "ok"
        pairs.append((line["text"], without_marks(page.text)))
        assert_covers(page.text)
    precision, recall, f1 = scores(pairs)
    print(f"precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}")
    assert f1 > 0.945
    assert verify(snapshot.path).ok


def assert_covers(text: str) -> None:
    """Chunks are in order, hold all of a text, and share a bounded part."""
    last = (-1, 0)
    spans = chunk_spans(text)
    for start, stop in spans:
        assert last[0] < start <= stop
        assert last[1] < stop
        assert last[1] - start <= OVERLAP
        assert not text[last[1] : start].strip()
        last = (start, stop)
    assert not text[last[1] :].strip()
    digest = sha256(text.encode())
    assert len({chunk.id for chunk in make_chunks(text, digest, spans)}) == len(spans)


def test_a_sentence_of_a_page_finds_its_own_chunk(snapshot: Snapshot) -> None:
    asked = hits = 0
    for page in snapshot.pages():
        chunks = snapshot.chunks(page)
        queries = [max(re.split(r"(?<=[.!?]) ", chunk.text), key=len) for chunk in chunks]
        for query, [best, *_] in zip(queries, snapshot.passages(page, queries, 1), strict=True):
            asked += 1
            hits += query in best.chunk.text  # what chunks share may be found in either
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
