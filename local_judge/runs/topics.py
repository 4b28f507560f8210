"""Topics of whole files of tasks: how they are distributed, and how far a judge agrees with those that were given.

Invariant: a task without a topic is counted apart and in no share; a topic that is none of the 22 keeps its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from local_judge.rows import read_jsonl
from local_judge.stats.agreement.kappa import cohen_kappa
from local_judge.stats.estimate import Estimate
from local_judge.tasks.load import load_tasks
from local_judge.tasks.topics import TOPICS


class TopicCounts(NamedTuple):
    """Distribution of the tasks of one file over topics."""

    path: Path
    counts: dict[str, int]
    """By topic: the 22 in their order, then others by name."""
    n_without: int
    """Tasks that have no topic."""

    @property
    def n(self) -> int:
        """Tasks that have one."""
        return sum(self.counts.values())

    def share(self, topic: str) -> float | None:
        """Of the tasks that have a topic; None where none has."""
        return self.counts.get(topic, 0) / self.n if self.n else None


class TopicAgreement(NamedTuple):
    """Agreement of a judge's topics with given ones."""

    n: int
    """Tasks that have both."""
    n_same: int
    kappa: Estimate
    """Cohen's, unweighted."""
    differ: Sequence[tuple[str, str, str]]
    """Id, given topic and judge's topic of each task in which they differ, in the file's order."""

    @property
    def accuracy(self) -> float:
        """`n_same / n`."""
        return self.n_same / self.n


def count_topics(path: Path) -> TopicCounts:
    """The topics of a file of tasks, such as `tasks classify` writes. Raises InputError."""
    topics = [task.topic for task in load_tasks(path).values()]
    found = Counter(topic for topic in topics if topic is not None)
    others = sorted(set(found) - set(TOPICS))
    return TopicCounts(path, {name: found[name] for name in (*TOPICS, *others)}, topics.count(None))


def total_variation(one: Mapping[str, int], other: Mapping[str, int]) -> float | None:
    """Total variation distance of two distributions given by counts; None where one of them is empty.

    Formula: 1/2 * sum over names of |p - q|, with p and q the shares. 0: the same; 1: no name in common. It is the
    share of one that would have to get another name for the two to be the same.
    """
    n, m = sum(one.values()), sum(other.values())
    if not (n and m):
        return None
    names = {*one, *other}  # a sum of fractions does not depend on the order
    gaps = (abs(Fraction(one.get(name, 0), n) - Fraction(other.get(name, 0), m)) for name in names)
    return float(sum(gaps, Fraction(0)) / 2)


def distance(one: TopicCounts, other: TopicCounts) -> float | None:
    """Total variation distance of two files' topics; None where one of them has none."""
    return total_variation(one.counts, other.counts)


def agreement_with_given(path: Path) -> TopicAgreement | None:
    """Agreement of the topics of a file of `tasks classify` with those given; None without any. Raises InputError."""
    both = [
        (str(row.get("id")), str(row["given"]), str(row["topic"]))
        for _, row in (read_jsonl(path) if path.is_file() and path.suffix.lower() != ".csv" else ())
        if row.get("given") and row.get("topic")
    ]
    if not both:
        return None
    names = list(dict.fromkeys(name for _, given, judged in both for name in (given, judged)))
    kappa = cohen_kappa(
        [names.index(given) for _, given, _ in both],
        [names.index(judged) for _, _, judged in both],
        "unweighted",
    )
    differ = [row for row in both if row[1] != row[2]]
    return TopicAgreement(len(both), len(both) - len(differ), kappa, differ)
