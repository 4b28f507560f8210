"""Retrieval quality: measures of a search on queries with known relevant pages.

Invariant: measures are pure functions of ranked and relevant URLs; intervals are also of a recorded seed. Pages are
judged, not chunks: a page's rank is that of its best chunk among pages.

With relevant pages r of grade g(r) > 0 (1 where none is given) and ranks from 1:

    recall@k   share of the relevant pages among the first k
    ndcg@10    sum over the first 10 of g / log2(rank + 1), divided by the same sum for the best order there is
               (Järvelin and Kekäläinen 2002, gains linear in the grade as in trec_eval)
    mrr        1 / rank of the first relevant page; 0 if there is none among those ranked

A mean over queries comes with a percentile bootstrap interval: queries are drawn with replacement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError, model_validator

from indexes.search.errors import QueriesRefused
from indexes.search.model import Ranked
from indexes.urls import normalise_url
from local_judge.base.files import read_utf8
from local_judge.base.model import Frozen
from local_judge.base.problems import first_problem
from local_judge.base.strict_json import strict_json

RECALL_AT = (1, 5, 10, 100)
NDCG_AT = 10
MEASURES = (*(f"recall@{k}" for k in RECALL_AT), f"ndcg@{NDCG_AT}", "mrr")
REPLICATES = 2000
LEVEL = 0.95


class JudgedQuery(Frozen):
    """One line of a file of queries."""

    query: str = Field(min_length=1)
    relevant: tuple[str, ...] = Field(min_length=1)
    """URLs."""
    id: str = ""
    grades: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] | None = None
    """One a relevant URL, in their order."""

    @model_validator(mode="after")
    def _whole(self) -> JudgedQuery:
        if len(set(self.relevant)) != len(self.relevant):
            raise ValueError("a relevant URL is given twice")
        if self.grades is not None and len(self.grades) != len(self.relevant):
            raise ValueError(f"{len(self.grades)} grades for {len(self.relevant)} relevant URLs")
        return self

    @property
    def gains(self) -> dict[str, float]:
        """Grades by URL."""
        return dict(zip(self.relevant, self.grades or [1.0] * len(self.relevant), strict=True))


class Estimate(Frozen):
    """A mean over queries with its interval."""

    mean: float
    low: float
    high: float


class QueryQuality(Frozen):
    """One query's measures."""

    id: str
    query: str
    measures: dict[str, float]
    first: int | None
    """Rank of the first relevant page."""


class Quality(Frozen):
    """Quality of one search."""

    n_queries: int
    means: dict[str, Estimate]
    """Means by measure, in the order of `MEASURES`."""
    queries: tuple[QueryQuality, ...]
    replicates: int
    seed: int
    level: float = LEVEL


def read_queries(path: Path) -> tuple[JudgedQuery, ...]:
    """Queries of a JSONL file: `{"query": ..., "relevant": [URL, ...]}`, optionally `id` and `grades`.

    URLs are normalised as a snapshot's are. A query without an id gets its line's number.

    Raises:
        QueriesRefused: the file, or a line of it, is not that.
    """
    try:
        lines = read_utf8(Path(path)).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise QueriesRefused(f"cannot read the queries in {path}: {reason}") from None
    found: list[JudgedQuery] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            fields: Any = strict_json(line)
            if isinstance(fields, dict) and isinstance(urls := fields.get("relevant"), list):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
                fields = {**fields, "relevant": [normalise_url(str(url)) for url in urls]}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            judged = JudgedQuery.model_validate(fields)
        except ValidationError as error:
            raise QueriesRefused(f"{path}, line {number}: {first_problem(error, 'the line')}") from None
        except (ValueError, RecursionError) as error:
            raise QueriesRefused(f"{path}, line {number}: {error}") from None
        found.append(judged if judged.id else judged.model_copy(update={"id": str(number)}))
    if not found:
        raise QueriesRefused(
            f"{path} holds no queries; one a line, as {{'query': ..., 'relevant': [URL, ...]}}"
        )
    return tuple(found)


def under_own_urls(judged: JudgedQuery, own: Callable[[str], str]) -> JudgedQuery:
    """A query whose relevant pages are named as the snapshot names them; of two names of one page the higher grade."""
    gains: dict[str, float] = {}
    for url, grade in judged.gains.items():
        name = own(url)
        gains[name] = max(grade, gains.get(name, 0.0))
    return judged.model_copy(update={"relevant": tuple(gains), "grades": tuple(gains.values())})


def ranked_pages(ranked: Ranked, url_of: Callable[[int], str]) -> list[str]:
    """URLs of the pages of ranked chunks, each at the place of its first one."""
    return list(dict.fromkeys(url_of(row) for row in ranked.rows.tolist()))


def measure(ranked: Sequence[str], gains: dict[str, float]) -> dict[str, float]:
    """All `MEASURES` of one ranking of different URLs."""
    found = {f"recall@{k}": sum(url in gains for url in ranked[:k]) / len(gains) for k in RECALL_AT}
    best = sorted(gains.values(), reverse=True)
    found[f"ndcg@{NDCG_AT}"] = _dcg([gains.get(url, 0.0) for url in ranked]) / _dcg(best)
    first = first_relevant(ranked, gains)
    found["mrr"] = 1 / first if first else 0.0
    return found


def first_relevant(ranked: Sequence[str], gains: dict[str, float]) -> int | None:
    """Rank of the first relevant URL, from 1."""
    return next((rank for rank, url in enumerate(ranked, start=1) if url in gains), None)


def evaluate(
    queries: Sequence[JudgedQuery],
    rankings: Sequence[Sequence[str]],
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Quality:
    """Measures of every query, and their means with intervals.

    The same seed draws the same queries, so that two searches over the same queries are compared on the same draws.

    Args:
        queries: at least one.
        rankings: for each query different URLs, best first; normalised as the relevant ones are.
        replicates: bootstrap draws.
        seed: of the draws.

    Raises:
        ValueError: no queries, another number of rankings, or a URL that is ranked twice.
    """
    if not queries or len(queries) != len(rankings):
        raise ValueError(f"{len(rankings)} rankings for {len(queries)} queries")
    each: list[QueryQuality] = []
    for judged, ranked in zip(queries, rankings, strict=True):
        if len(set(ranked)) != len(ranked):
            raise ValueError(f"a URL is ranked twice for query {judged.id or judged.query!r}")
        gains = judged.gains
        each.append(
            QueryQuality(
                id=judged.id,
                query=judged.query,
                measures=measure(ranked, gains),
                first=first_relevant(ranked, gains),
            )
        )
    values = np.array([[one.measures[name] for name in MEASURES] for one in each], np.float64)
    low, high = _interval(values, replicates, seed)
    means = {
        name: Estimate(mean=float(values[:, i].mean()), low=float(low[i]), high=float(high[i]))
        for i, name in enumerate(MEASURES)
    }
    return Quality(n_queries=len(queries), means=means, queries=tuple(each), replicates=replicates, seed=seed)


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:NDCG_AT], start=1))


def _interval(values: Any, replicates: int, seed: int) -> tuple[Any, Any]:
    """Percentiles of the means of `replicates` draws of rows, by column."""
    rng = np.random.default_rng(seed)
    n = len(values)
    means = np.array([values[rng.integers(n, size=n)].mean(axis=0) for _ in range(replicates)])
    tail = 50 * (1 - LEVEL)
    return np.percentile(means, tail, axis=0), np.percentile(means, 100 - tail, axis=0)
