"""Shards of a sweep: complete, balanced, and with pages together."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from local_judge.base.errors import ConfigError
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.sweeps.sharding import parse_shard, shards
from local_judge.runs.sweeps.sweep import Sweep


def sweep_of(reports: list[RawReport]) -> Sweep:
    run = SimpleNamespace(job=SimpleNamespace(reports=reports))
    return Sweep(cast("Any", None), Path("out"), Path("ledger"), (cast("Any", run),), cast("Any", None))


def reports_on(topics: int, per_topic: int, systems: int = 2) -> list[RawReport]:
    """Reports of tasks in random order; those on one topic cite the same ten pages."""
    found = [
        RawReport(
            f"s{system}-{topic}-{task}",
            b" ".join(b"https://%d.example/%d" % (topic, page) for page in range(10)),
            None,
            "",
            f"s{system}",
            f"{topic}-{task}",
        )
        for topic in range(topics)
        for task in range(per_topic)
        for system in range(systems)
    ]
    random.Random(0).shuffle(found)
    return found


def test_each_task_is_in_one_shard_and_shards_have_about_equal_lengths() -> None:
    sweep = sweep_of(reports_on(40, 5))
    found = shards(sweep, 4)
    tasks = [task for shard in found for task in shard.tasks]
    assert len(tasks) == len(set(tasks)) == 200
    assert [shard.name for shard in found] == ["1-of-4", "2-of-4", "3-of-4", "4-of-4"]
    assert max(len(shard.tasks) for shard in found) <= 1.1 * 200 / 4
    assert shards(sweep, 4) == found == shards(replace(sweep), 4)


def test_reports_that_share_pages_are_together() -> None:
    found = shards(sweep_of(reports_on(40, 5)), 4)
    topics = [{task.partition("-")[0] for task in shard.tasks} for shard in found]
    # A topic that is in one shard has its pages read once; a random division reads each on about 3 of 4 machines:
    # 4 x (1 - 0.75^5) = 3.05.
    assert sum(map(len, topics)) / 40 <= 1.3


def test_fewer_tasks_than_shards_leave_some_empty() -> None:
    found = shards(sweep_of(reports_on(1, 2)), 5)
    assert sorted(len(shard.tasks) for shard in found) == [0, 0, 0, 1, 1]
    with pytest.raises(ConfigError, match="give at least 1"):
        shards(sweep_of([]), 0)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/", "a/b", "1/2/3", "-1/2", ""])
def test_a_wrong_shard_is_one_line(text: str) -> None:
    with pytest.raises(ConfigError, match="expected i/n with i from 1 to n, such as 3/8"):
        parse_shard(text)


def test_a_shard_is_read() -> None:
    assert parse_shard("3/8") == (3, 8)
