"""Groups of tasks whose reports share pages: the shards of a sweep, and the order of its calls.

Invariant: groups depend on the reports alone, so that every machine computes the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from local_judge.runs.planning.inputs import RawReport, task_of

_URL = re.compile(rb"https?://[^\s<>()\[\]\"']+")
_AFFINITY = 4.0
"""Weight of shared pages against equal lengths."""


def divided(reports: Iterable[RawReport], n: int) -> list[list[str]]:
    """Divide tasks into `n` groups whose reports have about equal lengths together, and cite the same pages.

    Tasks are taken in input order. Each goes to the group with the greatest

        (1 + 4 x share of its pages that reports of the group cite) x (1 - bytes in the group / bytes per group)

    as in linear deterministic greedy partitioning (Stanton and Kliot, KDD 2012, doi 10.1145/2339530.2339722).

    Returns:
        Ids of the tasks of each group, in input order; a group may be empty.
    """
    tasks: dict[str, dict[str, RawReport]] = {}
    for report in reports:
        tasks.setdefault(task_of(report), {})[report.id] = report
    sizes = {task: sum(len(one.content) for one in own.values()) for task, own in tasks.items()}
    capacity = sum(sizes.values()) / n or 1.0
    loads, groups = [0.0] * n, [list[str]() for _ in range(n)]
    citing: dict[bytes, set[int]] = {}
    for task, own in tasks.items():
        pages = {url for report in own.values() for url in _URL.findall(report.content)}
        pages |= {source.address.encode() for report in own.values() for source in report.sources}
        shared = Counter(group for page in pages for group in citing.get(page, ()))
        best = max(
            range(n),
            key=lambda group: (
                (1 + _AFFINITY * shared[group] / max(1, len(pages))) * (1 - loads[group] / capacity),
                -group,
            ),
        )
        groups[best].append(task)
        loads[best] += sizes[task]
        for page in pages:
            citing.setdefault(page, set()).add(best)
    return groups


def planned(reports: Iterable[RawReport], per_round: int) -> dict[str, int]:
    """Return places of reports by id: tasks are together, and each round of `per_round` reports shares pages."""
    by_id = {report.id: report for report in reports}
    by_task: dict[str, list[str]] = {}
    for report in by_id.values():
        by_task.setdefault(task_of(report), []).append(report.id)
    groups = divided(by_id.values(), max(1, round(len(by_id) / per_round)))
    order = [id for tasks in groups for task in tasks for id in by_task[task]]
    return {id: place for place, id in enumerate(order)}
