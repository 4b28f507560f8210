"""Chunks and queries that search is measured on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scripts.benchmarking.corpora import CHUNK_CHARACTERS, Text, chunked, judged_queries, leads, recombined
from scripts.benchmarking.vectors import HashedWords, moved

pytestmark = pytest.mark.slow

DATA = Path(__file__).absolute().parents[2] / "../shared/data"

TEXTS = [
    Text(
        "https://a.org/nile",
        "Nile",
        "The Nile is a river. For many thousands of years the Nile has flooded the fields of old Egypt. It is long.",
    ),
    Text("https://a.org/short", "Short", "Only one sentence about something that is rather short."),
]


def test_queries_are_later_sentences_without_the_title() -> None:
    [found] = judged_queries(TEXTS, 5, 0)
    assert found.query == "For many thousands of years the has flooded the fields of old Egypt."
    assert found.relevant == ("https://a.org/nile",)
    [few] = judged_queries(TEXTS, 5, 0, words=3)
    long = ["many", "thousands", "years", "flooded", "fields", "Egypt"]
    positions = [long.index(word) for word in few.query.split()]
    assert len(positions) == 3
    assert positions == sorted(positions)
    assert judged_queries(TEXTS, 5, 0, words=7) == ()


def test_recombined_chunks_are_real_sentences() -> None:
    found = list(recombined(TEXTS, 20, 1))
    assert found == list(recombined(TEXTS, 20, 1))
    assert found != list(recombined(TEXTS, 20, 2))
    assert len({chunk.id for chunk in found}) == 20
    for chunk in found:
        assert len(chunk.text) >= CHUNK_CHARACTERS - 1
        rest = chunk.text
        for text in TEXTS:
            for sentence in text.text.replace(". ", ".|").split("|"):
                rest = rest.replace(sentence, "")
        assert rest.strip() == ""


def test_moved_vectors_stay_near() -> None:
    real = HashedWords().encode_documents(["a", "b", "c"])
    found = moved(real, 100, 0)
    assert np.array_equal(found, moved(real, 100, 0))
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(100), abs=1e-6)
    # 1 / sqrt(1 + 0.3^2) = 0.958 and 1 / sqrt(1 + 0.8^2) = 0.781, give or take what chance adds in 384 dimensions.
    nearest = (found @ real.T).max(axis=1)
    assert nearest.min() > 0.70
    assert nearest.max() < 1


def test_real_leads_give_queries() -> None:
    if not (DATA / "wiki").is_dir():
        pytest.skip("no shared data")
    texts = leads(DATA)
    queries = judged_queries(texts, 20, 0)
    assert len(queries) == 20
    by_url = {text.url: text for text in texts}
    for one in queries:
        text = by_url[one.relevant[0]].text
        assert all(word in text for word in one.query.split())
    assert len({one.url for one in chunked(texts[:50])}) == 50
