"""Asking a judge: who is shown where, what is asked again, what stays open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import ConfigError
from local_judge.documents import parse_report
from local_judge.judge.judge import Judge, JudgeSettings
from local_judge.ledger.ledger import Ledger
from local_judge.protocols.race import Race, RaceFindings
from local_judge.protocols.race.judging import judge_race
from local_judge.protocols.race.protocol import race_line
from local_judge.protocols.race.settings import RaceSettings
from local_judge.tasks.model import Reference, Task
from serving.engines.scripted import Call, Reply, ScriptedEngine
from serving.types import Sampling

from .race_cases import IDS, REFERENCE_SCORES, TARGET_SCORES, TASK, articles, judge_by, known

REPORT = "# Mill\n\nIt cost 8 million [1] and a half.\n\n## References\n\n[1] https://b.example/x"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.sqlite") as opened:
        yield opened


async def judged(
    ledger: Ledger,
    engine: ScriptedEngine,
    task: Task = TASK,
    sampling: Sampling | None = None,
    **settings: Any,
) -> RaceFindings:
    judge = Judge(engine, ledger, JudgeSettings(sampling=sampling or Sampling()))
    given = RaceSettings.model_validate(settings)
    return await judge_race("a", parse_report(REPORT), task, judge, given)


async def test_one_call_asks_each_criterion_once_about_both_articles(ledger: Ledger) -> None:
    engine = ScriptedEngine(judge_by(known))
    found = await judged(ledger, engine)
    [call] = engine.calls
    assert call.schema is not None
    assert list(call.schema["properties"]) == IDS == call.schema["required"]
    one = call.schema["properties"]["insight.1"]
    assert list(one["properties"]) == ["analysis", "article_1", "article_2"]
    assert one["properties"]["article_2"] == {"type": "number", "minimum": 0, "maximum": 10.0}
    [comparison] = found.comparisons
    assert (comparison.reference, comparison.target_first, comparison.draw) == (0, True, 0)
    assert [item.id for item in comparison.scores] == IDS
    assert {item.id: item.target for item in comparison.scores} == TARGET_SCORES
    assert {item.id: item.reference for item in comparison.scores} == REFERENCE_SCORES
    assert all(item.replies and item.rationale == "So." for item in comparison.scores)
    assert (found.n_failed, found.language, found.request, found.task) == (0, "en", TASK.prompt, "900")


async def test_articles_are_shown_without_their_citations(ledger: Ledger) -> None:
    engine = ScriptedEngine(judge_by(known))
    found = await judged(ledger, engine)
    shown = articles(engine.calls[0].prompt)
    assert shown == {
        "Article 1": "# Mill\n\nIt cost 8 million and a half.",
        "Article 2": "# The mill\n\nIt cost 9 million. The town paid.",
    }
    assert found.report is not None
    assert (found.report.n_removed, found.references[0].n_removed, found.references[0].joined) == (2, 2, "id")
    raw = ScriptedEngine(judge_by(known))
    await judged(ledger, raw, cleaning="none")
    assert articles(raw.calls[0].prompt)["Article 1"] == REPORT


async def test_which_came_first_changes_no_score(ledger: Ledger) -> None:
    engine = ScriptedEngine(judge_by(known))
    found = await judged(ledger, engine, positions="both")
    assert [comparison.target_first for comparison in found.comparisons] == [True, False]
    first, second = (
        [(item.target, item.reference) for item in comparison.scores] for comparison in found.comparisons
    )
    assert first == second
    titles = [
        next(title for title, text in articles(call.prompt).items() if "8 million" in text)
        for call in engine.calls
    ]
    assert sorted(titles) == ["Article 1", "Article 2"]
    nodes = {node.id: node for node in Race().score([found], "paper")}
    assert nodes["position_bias"].score.value == 0.0


async def test_a_judge_that_favours_the_first_is_found_out(ledger: Ledger) -> None:
    def first_wins(call: Call) -> Reply:
        assert call.schema is not None
        item = {"analysis": "", "article_1": 6, "article_2": 4}
        return dict.fromkeys(call.schema["properties"], item)

    found = await judged(ledger, ScriptedEngine(first_wins), positions="both")
    nodes = {node.id: node for node in Race().score([found], "paper")}
    # 60 with the report first, 40 with it second.
    assert nodes["position_bias"].score.value == pytest.approx(20.0)
    assert nodes["overall"].score.value == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("order", "positions", "first"),
    [
        ("shared", "own", [False]),
        ("shared", "swapped", [True]),
        ("paper", "own", [True]),
        ("paper", "swapped", [False]),
        ("paper", "both", [True, False]),
    ],
)
async def test_orders(order: str, positions: str, first: list[bool], ledger: Ledger) -> None:
    found = await judged(ledger, ScriptedEngine(judge_by(known)), order=order, positions=positions)
    assert [comparison.target_first for comparison in found.comparisons] == first
    assert found.order == order


async def test_several_references_and_draws(ledger: Ledger) -> None:
    task = TASK.model_copy(
        update={"references": (*TASK.references, Reference(text="It cost 9 million.", joined="prompt"))}
    )
    engine = ScriptedEngine(judge_by(known))
    found = await judged(ledger, engine, task, Sampling(temperature=0.7, seed=5), draws=2)
    assert [(comparison.reference, comparison.draw) for comparison in found.comparisons] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]
    seeds = sorted(call.sampling.seed for call in engine.calls if call.sampling)
    assert seeds == [5, 5, 6, 6]
    assert [shown.joined for shown in found.references] == ["id", "prompt"]
    again = ScriptedEngine(judge_by(known))
    assert await judged(ledger, again, task, Sampling(temperature=0.7, seed=5), draws=2) == found
    assert again.calls == []


async def test_draws_of_a_judge_that_does_not_sample_are_refused(ledger: Ledger) -> None:
    engine = ScriptedEngine(judge_by(known))
    with pytest.raises(ConfigError, match=r"race\.draws=3: the judge's temperature is 0"):
        await judged(ledger, engine, draws=3)
    assert not engine.calls


async def test_a_call_for_each_dimension(ledger: Ledger) -> None:
    engine = ScriptedEngine(judge_by(known))
    found = await judged(ledger, engine, calls="dimension")
    asked = [list(call.schema["properties"]) for call in engine.calls if call.schema]
    assert asked == [IDS[:3], IDS[3:5], IDS[5:7], IDS[7:]]
    assert [item.id for item in found.comparisons[0].scores] == IDS
    whole = await judged(ledger, ScriptedEngine(judge_by(known)))
    assert Race().score([found], "paper") == Race().score([whole], "paper")


@pytest.mark.parametrize("wrong", [11, -0.5, "7", None, True, {}])
async def test_what_is_no_score_is_asked_again_alone(wrong: object, ledger: Ledger) -> None:
    def odd(call: Call) -> Reply:
        reply = judge_by(known)(call)
        assert isinstance(reply, dict)
        if len(reply) > 1:
            reply["insight.1"]["article_2"] = wrong
            del reply["readability.2"]
        return reply

    engine = ScriptedEngine(odd)
    found = await judged(ledger, engine)
    # All; the two that are missing, in one call, which goes wrong the same way; each by itself.
    asked = [list(call.schema["properties"]) for call in engine.calls if call.schema]
    assert asked == [IDS, ["insight.1", "readability.2"], ["insight.1"], ["readability.2"]]
    assert found.n_failed == 0
    assert {item.id: item.target for item in found.comparisons[0].scores} == TARGET_SCORES


async def test_what_stays_missing_is_a_failure_for_both_articles(ledger: Ledger) -> None:
    def silent(call: Call) -> Reply:
        reply = judge_by(known)(call)
        assert isinstance(reply, dict)
        return {key: value for key, value in reply.items() if key != "insight.2"}

    found = await judged(ledger, ScriptedEngine(silent))
    [item] = [item for item in found.comparisons[0].scores if item.failure]
    assert (item.id, item.target, item.reference) == ("insight.2", None, None)
    assert item.failure is not None and item.failure.kind == "incomplete"
    assert found.n_failed == 1


async def test_a_criterion_that_the_judge_invents_changes_nothing(ledger: Ledger) -> None:
    def eager(call: Call) -> Reply:
        reply = judge_by(known)(call)
        assert isinstance(reply, dict)
        return {**reply, "insight.9": {"analysis": "", "article_1": 0, "article_2": 10}}

    found = await judged(ledger, ScriptedEngine(eager))
    assert [item.id for item in found.comparisons[0].scores] == IDS
    assert found.n_failed == 0


async def test_a_small_context_splits_the_call_and_then_gives_up(ledger: Ledger) -> None:
    wide = ScriptedEngine(judge_by(known))
    await judged(ledger, wide)
    tokens = await wide.count_tokens(wide.calls[0].messages)
    # Nine answers want 9 * 60 tokens beside the prompt; one less, and they are asked in halves.
    engine = ScriptedEngine(judge_by(known), context_tokens=tokens + 9 * 60 - 1)
    found = await judged(ledger, engine)
    asked = [list(call.schema["properties"]) for call in engine.calls if call.schema]
    assert asked == [IDS[:4], IDS[4:]]
    assert [item.id for item in found.comparisons[0].scores] == IDS
    assert found.n_failed == 0
    tiny = ScriptedEngine(judge_by(known), context_tokens=300)
    lost = await judged(ledger, tiny)
    assert {item.failure.kind for item in lost.comparisons[0].scores if item.failure} == {"report_too_long"}
    assert (lost.n_failed, tiny.calls) == (9, [])


async def test_alone_and_as_a_whole(ledger: Ledger) -> None:
    engine = ScriptedEngine(judge_by(known))
    found = await judged(ledger, engine, mode="pointwise")
    assert list(articles(engine.calls[0].prompt)) == ["Article"]
    assert found.comparisons[0].reference is None and found.references == ()
    assert {item.id: item.target for item in found.comparisons[0].scores} == TARGET_SCORES
    assert all(item.reference is None for item in found.comparisons[0].scores)
    found = await judged(ledger, engine, mode="vanilla")
    assert [(item.id, item.target) for item in found.comparisons[0].scores] == [("overall", 6.0)]
    assert found.criteria is None


@pytest.mark.parametrize(
    ("settings", "overall", "said"),
    [
        # Weighted: 6.9375 against 8.6725. See `test_race_paper` for the sums of each ablation.
        ({}, 100 * 6.9375 / 15.61, []),
        ({"criterion_weights": False}, 100 * 6.9875 / 15.5875, ["no criterion weights"]),
        ({"dimension_weights": False}, 100 * 28.7 / 63.45, ["no dimension weights"]),
        (
            {"criterion_weights": False, "dimension_weights": False},
            100 * 28.9166667 / 63.4166667,
            ["no criterion weights", "no dimension weights"],
        ),
    ],
)
async def test_each_ablation_of_weights_changes_the_score_and_not_the_question(
    ledger: Ledger, settings: dict[str, Any], overall: float, said: list[str]
) -> None:
    engine = ScriptedEngine(judge_by(known))
    plain = await judged(ledger, engine)
    found = await judged(ledger, engine, **settings)
    assert len(engine.calls) == 1, "the second is answered by the ledger"
    assert found.comparisons == plain.comparisons
    root = next(root for root in Race().score([found], "paper") if root.id == "overall")
    assert root.score.value == pytest.approx(overall)
    assert [part for part in race_line(found).split("; ") if part.endswith("weights")] == said


async def test_static_criteria_need_none_of_the_task(ledger: Ledger) -> None:
    engine = ScriptedEngine(judge_by(known))
    bare = TASK.model_copy(update={"criteria": None})
    found = await judged(ledger, engine, bare, criteria="static")
    assert found.source == "static" and found.criteria is not None
    assert [dimension.id for dimension in found.criteria.dimensions] == [
        "comprehensiveness",
        "insight",
        "instruction_following",
        "readability",
    ]
    for dimension in found.criteria.dimensions:
        assert sum(criterion.weight for criterion in dimension.criteria) == pytest.approx(1)
    assert sum(dimension.weight for dimension in found.criteria.dimensions) == pytest.approx(1)
    assert "[readability.4] Presentation: " in engine.calls[0].prompt


@pytest.mark.parametrize(
    ("request_text", "setting", "name"),
    [
        ("收集整理目前中国九阶层实际收入和财务状况", None, "Chinese"),
        (
            "Was hat die Sanierung der Mühle in Fernholt insgesamt gekostet, und wer hat sie bezahlt?",
            None,
            "German",
        ),
        ("42", None, "the language of the request"),
        ("What did the mill cost?", "Swahili", "Swahili"),
    ],
)
async def test_one_template_for_every_language(
    request_text: str, setting: str | None, name: str, ledger: Ledger
) -> None:
    engine = ScriptedEngine(judge_by(known))
    task = TASK.model_copy(update={"prompt": request_text})
    await judged(ledger, engine, task, language=setting)
    assert f'"analysis": one to three sentences in {name}:' in engine.calls[0].prompt


def test_what_a_task_lacks_is_said_with_the_way_around_it() -> None:
    race = Race()
    assert race.missing_inputs(TASK) is None
    assert race.missing_inputs(None) == "no task; give --tasks"
    bare = TASK.model_copy(update={"criteria": None})
    assert "give --criteria" in (race.missing_inputs(bare) or "")
    alone = TASK.model_copy(update={"references": ()})
    assert "give --references" in (race.missing_inputs(alone) or "")
    assert Race(RaceSettings(criteria="static")).missing_inputs(bare) is None
    assert Race(RaceSettings(mode="pointwise")).missing_inputs(alone) is None
    assert Race(RaceSettings(mode="vanilla")).missing_inputs(Task(id="1", prompt="?")) is None
    assert (Race().data_digest(), Race(RaceSettings(mode="vanilla")).data_digest()) == (None, None)
    assert len(Race(RaceSettings(criteria="static")).data_digest() or "") == 64


@pytest.mark.parametrize(
    "settings",
    [{"mode": "pointwise", "positions": "both"}, {"draws": 0}, {"language": "a\nb"}, {"order": "none"}],
)
def test_settings_that_make_no_sense(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        RaceSettings.model_validate(settings)


def copying(bad: bool = False) -> Callable[[Call], Reply]:
    """A judge that copies parts of articles without `[1]`, or with a word too many, and scores as known."""
    score = judge_by(known)

    def answer(call: Call) -> Reply:
        match = re.search(r"Part of a report:\n```\n(.*)\n```", call.prompt, re.DOTALL)
        if match is None:
            return score(call)
        return {"text": match[1].replace(" [1]", "") + (" Done." if bad else "")}

    return answer


async def test_a_judge_cleans_report_and_reference_each_once(ledger: Ledger) -> None:
    engine = ScriptedEngine(copying())
    found = await judged(ledger, engine, cleaning="judge", positions="both")
    # A copy of either article, and two comparisons.
    assert len(engine.calls) == 4
    [first, second] = [call for call in engine.calls if "Article 1" in call.prompt]
    assert articles(second.prompt) | articles(first.prompt) == {
        "Article 1": "# Mill\n\nIt cost 8 million and a half.",
        "Article 2": "# The mill\n\nIt cost 9 million. The town paid.",
    }
    for shown in (found.report, *found.references):
        assert shown is not None
        assert (shown.n_pieces, shown.failures, shown.n_removed, len(shown.replies)) == (1, (), 2, 1)
    assert (found.cleaning, found.n_failed) == ("judge", 0)
    other = await judged(ledger, engine, cleaning="judge", draws=1)
    assert other.references == found.references
    assert len(engine.calls) == 4, "the ledger answers what was asked before"


async def test_what_a_judge_does_not_clean_is_cleaned_by_code_and_counted(ledger: Ledger) -> None:
    by_code = await judged(ledger, ScriptedEngine(judge_by(known)))
    found = await judged(ledger, ScriptedEngine(copying(bad=True), model="other"), cleaning="judge")
    assert found.report is not None and by_code.report is not None
    assert found.report.sha256 == by_code.report.sha256
    assert [shown.failures[0].kind for shown in (found.report, *found.references)] == ["invalid_reply"] * 2
    assert found.n_failed == 2
    overall = Race().score([found], "paper")[-1].score
    assert overall.note == "order: paper, report first; 2 of 2 pieces cleaned by code"
    assert overall.value == Race().score([by_code], "paper")[-1].score.value
