"""Expected values over the scale: what is asked, what comes of it, what stays open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from local_judge.documents import parse_report
from local_judge.judge.judge import Judge
from local_judge.ledger.ledger import Ledger
from local_judge.protocols.race import Race, RaceFindings
from local_judge.protocols.race.judging import judge_race
from local_judge.protocols.race.settings import RaceSettings
from serving.engines.scripted import Call, Reply, ScriptedEngine
from serving.errors import EngineTimeout

from .race_cases import IDS, TARGET_SCORES, TASK, judge_by, known

REPORT = "It cost 8 million and a half."
NUMBERS = tuple(str(number) for number in range(11))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.sqlite") as opened:
        yield opened


async def judged(ledger: Ledger, engine: ScriptedEngine, **settings: Any) -> RaceFindings:
    given = RaceSettings.model_validate({"mode": "pointwise", **settings})
    return await judge_race("a", parse_report(REPORT), TASK, Judge(engine, ledger), given)


def sure(call: Call) -> Reply:
    """Half a point of doubt: 0.5 on 7, 0.5 on 8; what the judge writes is a 7."""
    if call.options is not None:
        return {"7": 0.5, "8": 0.5}
    return judge_by(lambda text, criterion: 7)(call)


async def test_each_criterion_is_asked_for_its_number_alone(ledger: Ledger) -> None:
    engine = ScriptedEngine(sure)
    found = await judged(ledger, engine, scoring="expected")
    [comparison] = found.comparisons
    assert [item.id for item in comparison.scores] == IDS
    # 0.5 x 7 + 0.5 x 8; its standard deviation is a half
    assert {(item.target, item.spread, item.sampled) for item in comparison.scores} == {(7.5, 0.5, None)}
    assert all(len(item.replies) == 1 and not item.rationale for item in comparison.scores)
    assert [call.options for call in engine.calls] == [NUMBERS] * len(IDS)
    assert found.scoring == "expected"
    first, second = (call.messages[1].content for call in engine.calls[:2])
    assert first.endswith(
        "\n\nArticle:\n```\nIt cost 8 million and a half.\n```\n\n"
        "Criterion:\n```\n[comprehensiveness.1] Costs: Are all costs named?\n```\n\n"
        "Task: score the article above as an answer to the request on this one criterion alone. Length is no merit. "
        "Judge by what the article says and does.\n\n"
        "Answer with its score on this criterion and nothing else: one whole number from 0 to 10."
    )
    # All up to the criterion is shared.
    assert first.partition("Criterion:\n")[0] == second.partition("Criterion:\n")[0]
    again = ScriptedEngine(sure)
    assert await judged(ledger, again, scoring="expected") == found
    assert again.calls == []
    # Every criterion is 7.5 of 10.
    nodes = {node.id: node.score.value for node in Race().score([found], "paper")}
    assert nodes["overall"] == pytest.approx(75.0)


async def test_after_its_analysis_both_scores_stand_beside_each_other(ledger: Ledger) -> None:
    engine = ScriptedEngine(sure)
    found = await judged(ledger, engine, scoring="analysed")
    assert {(item.target, item.sampled) for item in found.comparisons[0].scores} == {(7.5, 7.0)}
    assert all(len(item.replies) == 2 and item.rationale == "So." for item in found.comparisons[0].scores)
    written, *numbers = engine.calls
    assert written.schema is not None and list(written.schema["properties"]) == IDS
    assert all("What was found:\n```\nSo.\n```\n\nTask: score" in call.prompt for call in numbers)
    assert len(numbers) == len(IDS)


async def test_the_whole_has_one_number(ledger: Ledger) -> None:
    engine = ScriptedEngine([{"10": 0.25, "6": 0.75}])
    found = await judged(ledger, engine, mode="vanilla", scoring="expected")
    [item] = found.comparisons[0].scores
    assert (item.id, item.target) == ("overall", 7.0)
    assert engine.calls[0].prompt.endswith(
        "0-2: does nothing of it, or does the opposite\n\n"
        "Answer with its score and nothing else: one whole number from 0 to 10."
    )


async def test_a_number_that_could_not_be_had_is_a_failure(ledger: Ledger) -> None:
    def flaky(call: Call) -> Reply:
        if call.options is not None and "[insight.1]" in call.prompt.rpartition("Criterion:")[2]:
            return EngineTimeout("no answer")
        return sure(call)

    found = await judged(ledger, ScriptedEngine(flaky), scoring="analysed")
    failed = [item for item in found.comparisons[0].scores if item.failure is not None]
    assert [(item.id, item.target, item.sampled) for item in failed] == [("insight.1", None, 7.0)]
    assert found.n_failed == 1
    overall = next(node.score for node in Race().score([found], "paper") if node.id == "overall")
    assert overall.n_failed == 1 and overall.low is not None and overall.low < (overall.high or 0)
    # Without an analysis there is nothing to ask about.
    silent = ScriptedEngine(lambda call: {} if call.options is None else sure(call))
    none = await judged(ledger, silent, scoring="analysed", calls="dimension", order="paper")
    assert all(item.failure is not None for item in none.comparisons[0].scores)
    assert all(call.options is None for call in silent.calls)


async def test_what_is_sampled_stays_as_it_was(ledger: Ledger) -> None:
    engine = ScriptedEngine(judge_by(known))
    found = await judged(ledger, engine)
    assert {item.id: item.target for item in found.comparisons[0].scores} == TARGET_SCORES
    assert all(item.sampled is None and item.spread is None for item in found.comparisons[0].scores)
    assert len(engine.calls) == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"scoring": "expected", "mode": "reference"}, "scoring=expected scores one article"),
        ({"scoring": "analysed", "mode": "reference"}, "scoring=analysed scores one article"),
        ({"scoring": "expected", "draws": 3}, "draws=3 would all be the same"),
        ({"scoring": "guessed"}, "Input should be"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        RaceSettings.model_validate({"mode": "pointwise", **settings})
