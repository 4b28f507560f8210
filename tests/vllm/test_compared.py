"""RACE on a real server: the reference is computed once for all systems, and every criterion gets its marks."""

from __future__ import annotations

import asyncio
from typing import get_args

import pytest

from local_judge.base.failures import FailureKind
from local_judge.documents import parse_report
from local_judge.judge.judge import Judge
from local_judge.protocols.race import judging
from local_judge.protocols.race.scores import score
from local_judge.protocols.race.settings import RaceSettings
from local_judge.protocols.race.static import static_criteria
from local_judge.tasks.model import Criteria, Reference, Task
from serving.types import Message

from .conftest import BLOCK_TOKENS, counted

pytestmark = pytest.mark.vllm

YEARS = " ".join(
    f"In {year} the mills of Tarn ground {900 + 7 * n} tons of barley and paid {n + 3} millers for the work."
    for n, year in enumerate(range(1901, 1941))
)
TASK = Task(
    id="mills",
    prompt="What did the mills of Tarn grind?",
    references=(Reference(text=f"# The mills of Tarn\n\n{YEARS}\n"),),
)
REPORTS = [
    parse_report(
        f"# Report {n}\n\nThe mills of Tarn ground barley for {n + 2} decades, and paid their millers.\n"
    )
    for n in range(4)
]
SETTINGS = RaceSettings(criteria="static", calls="dimension")


async def test_the_reference_is_computed_once_for_all_systems(
    random_url: str, judge_of_random_weights: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = judge_of_random_weights
    # What is measured are prompts: a reply may end after a token for each criterion.
    monkeypatch.setattr(judging, "REPLY_TOKENS", 1)
    before = counted(random_url, "prefix_cache_hits")
    await asyncio.gather(
        *(judging.judge_race(f"r{n}", report, TASK, judge, SETTINGS) for n, report in enumerate(REPORTS))
    )
    found = counted(random_url, "prefix_cache_hits") - before
    opened = await judge.engine.count_tokens((Message(role="user", content=TASK.references[0].text),))
    assert opened > 8 * BLOCK_TOKENS
    # Four reports by four dimensions: all prompts but the first find the reference there, up to the last whole block.
    assert judge.meter.made == 16
    assert found >= 15 * (opened - BLOCK_TOKENS)


async def test_every_criterion_has_two_marks_or_a_typed_failure(judge: Judge) -> None:
    # Two criteria of the first dimension, and one of each other: the time is that of the longest reply.
    dimensions = [
        dimension.model_copy(update={"criteria": dimension.criteria[: 1 + (number == 0)]})
        for number, dimension in enumerate(static_criteria().dimensions)
    ]
    task = Task(
        id="mills",
        prompt=TASK.prompt,
        references=(Reference(text="# Tarn\n\nIts mills ground 900 tons of barley.\n"),),
        criteria=Criteria(dimensions=tuple(dimensions)),
    )
    settings = RaceSettings(criteria="adaptive", calls="dimension")
    findings = await judging.judge_race("r", REPORTS[0], task, judge, settings)
    (comparison,) = findings.comparisons
    assert [mark.id for mark in comparison.scores] == [
        criterion.id for dimension in dimensions for criterion in dimension.criteria
    ]
    assert judge.meter.made == len(dimensions) == 4
    for mark in comparison.scores:
        if mark.failure is not None:
            assert mark.failure.kind in get_args(FailureKind)
            continue
        assert mark.target is not None and 0 <= mark.target <= 10
        assert mark.reference is not None and 0 <= mark.reference <= 10
        assert mark.replies
    overall = next(node for node in score([findings], "paper") if node.id == "overall")
    assert overall.score.n_expected > 0
    if overall.score.value is not None:
        assert overall.score.low is not None and overall.score.high is not None
        assert 0 <= overall.score.low <= overall.score.value <= overall.score.high <= 100
