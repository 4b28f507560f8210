"""Measures of retrieval: known values, intervals, bad files of queries."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indexes.search.errors import QueriesRefused
from indexes.search.model import Ranked
from indexes.search.quality import MEASURES, JudgedQuery, evaluate, measure, ranked_pages, read_queries


def test_known_values() -> None:
    found = measure(["x", "a", "y", "b"], {"a": 1.0, "b": 1.0, "c": 1.0})
    # Relevant at ranks 2 and 4 of 3 relevant; the best order has them at 1, 2, 3.
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert found == {
        "recall@1": 0.0,
        "recall@5": pytest.approx(2 / 3),
        "recall@10": pytest.approx(2 / 3),
        "recall@100": pytest.approx(2 / 3),
        "ndcg@10": pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal),
        "mrr": 0.5,
    }
    assert tuple(found) == MEASURES


def test_grades() -> None:
    # 3 at rank 2 and 1 at rank 1: (1 + 3 / 1.58496) / (3 + 1 / 1.58496) = 2.892789 / 3.630930
    found = measure(["b", "a"], {"a": 3.0, "b": 1.0})
    assert found["ndcg@10"] == pytest.approx(2.892789 / 3.630930, abs=1e-6)
    assert measure(["a", "b"], {"a": 3.0, "b": 1.0})["ndcg@10"] == 1


def test_beyond_ten() -> None:
    ranked = [f"x{i}" for i in range(10)] + ["a"]
    found = measure(ranked, {"a": 1.0})
    assert (found["ndcg@10"], found["recall@10"], found["recall@100"]) == (0, 0, 1)
    assert found["mrr"] == pytest.approx(1 / 11)
    assert set(measure([], {"a": 1.0}).values()) == {0.0}


def test_a_page_has_the_rank_of_its_best_chunk() -> None:
    ranked = Ranked(np.array([5, 0, 4, 9], np.int64), np.array([4.0, 3, 2, 1]))
    urls = {0: "b", 4: "a", 5: "a", 9: "c"}
    assert ranked_pages(ranked, urls.__getitem__) == ["a", "b", "c"]


def judged(n: int) -> list[JudgedQuery]:
    return [JudgedQuery(query=f"q{i}", relevant=("a",), id=str(i)) for i in range(n)]


def test_means_and_intervals() -> None:
    # 30 of 100 queries find their page first: the share of a draw is binomial, and 95 % lie in 0.21 to 0.39.
    rankings = [["a"] if i < 30 else ["x", "a"] for i in range(100)]
    found = evaluate(judged(100), rankings, replicates=4000, seed=3)
    first = found.means["recall@1"]
    assert first.mean == pytest.approx(0.3)
    assert first.low == pytest.approx(0.21, abs=0.011)
    assert first.high == pytest.approx(0.39, abs=0.011)
    # 0.3 * 1 + 0.7 / 2, and half the spread.
    assert found.means["mrr"].mean == pytest.approx(0.65)
    assert found.means["mrr"].high - found.means["mrr"].low == pytest.approx((first.high - first.low) / 2)
    assert found.means["recall@5"].model_dump() == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert [one.first for one in found.queries[28:32]] == [1, 1, 2, 2]
    assert (found.n_queries, found.replicates, found.seed, found.level) == (100, 4000, 3, 0.95)
    assert evaluate(judged(100), rankings, replicates=4000, seed=3) == found
    few = [evaluate(judged(100), rankings, replicates=20, seed=seed).means["mrr"] for seed in range(5)]
    assert len(set(map(str, few))) > 1


def test_wrong_rankings() -> None:
    with pytest.raises(ValueError, match="0 rankings for 0 queries"):
        evaluate([], [])
    with pytest.raises(ValueError, match="1 rankings for 2 queries"):
        evaluate(judged(2), [["a"]])
    with pytest.raises(ValueError, match="a URL is ranked twice for query '0'"):
        evaluate(judged(1), [["a", "a"]])


def test_files_of_queries(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    rows: list[dict[str, Any]] = [
        {"query": "who", "relevant": ["HTTP://Example.org:80/a#top"]},
        {"query": "what", "relevant": ["https://b.org/", "https://c.org/"], "id": "w", "grades": [2, 1]},
    ]
    path.write_text("\n\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    first, second = read_queries(path)
    assert (first.id, first.relevant, first.gains) == (
        "1",
        ("https://example.org/a",),
        {"https://example.org/a": 1.0},
    )
    assert (second.id, second.gains) == ("w", {"https://b.org": 2.0, "https://c.org": 1.0})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"query": "a"}', r"line 1: relevant is missing"),
        ('{"query": "", "relevant": ["http://a.org"]}', r"line 1: query .*empty"),
        ('{"query": "a", "relevant": []}', r"line 1: relevant .*empty"),
        ('{"query": "a", "relevant": "http://a.org"}', r"line 1: relevant .*list"),
        ('{"query": "a", "relevant": ["http://a.org", "http://A.org/"]}', r"line 1: .*given twice"),
        ('{"query": "a", "relevant": ["http://a.org"], "grades": [1, 2]}', r"line 1: .*2 grades for 1"),
        (
            '{"query": "a", "relevant": ["http://a.org"], "grades": [0]}',
            r"line 1: grades.0 must be greater",
        ),
        ('{"query": "a", "relevant": ["http://a.org"], "k": 3}', r"line 1: k: unknown key"),
        ('{"query": "a", "relevant": ["nonsense"]}', r"line 1: "),
        ("[]", r"line 1: the line must be a"),
        ("{", r"line 1: Expecting"),
        ("", r"holds no queries"),
    ],
)
def test_bad_files_of_queries(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(QueriesRefused, match=reason):
        read_queries(path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(QueriesRefused, match=r"cannot read the queries in .*: No such file"):
        read_queries(tmp_path / "none")
    (tmp_path / "latin").write_bytes(b"\xe9")
    with pytest.raises(QueriesRefused, match="it is not UTF-8"):
        read_queries(tmp_path / "latin")
