"""The protocol `rubric`: scores by hand counts, needs, and a run from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_judge.base.errors import ConfigError
from local_judge.documents import parse_report
from local_judge.protocols.base import load_protocol
from local_judge.protocols.rubric.protocol import RubricAnswers, RubricProtocol
from local_judge.rubric.items import Item
from local_judge.rubric.judging import repeated_items
from local_judge.tasks.model import Task

from .answer_cases import findings


@pytest.mark.parametrize(
    ("judges", "overall", "content", "tone"),
    [
        # (2 * 0.9 + 0.65 - 0.4) / 3; 0.9; (0.65 - 0.4) / 1
        ([findings(0.9, 0.65, 0.4)], (68.333333, 68.333333, 68.333333), 90.0, 25.0),
        # without the ease: (2 * 0.9) / 2 - 0.4 / 3; the ease from 0 to 1: (1.8 + 0 - 0.4) / 3, (1.8 + 1 - 0.4) / 3
        ([findings(0.9, None, 0.4)], (76.666667, 46.666667, 80.0), 90.0, None),
        # without the fault: (1.8 + 0.65) / 3; the fault from 1 to 0: less 1 / 3, less nothing
        ([findings(0.9, 0.65, None)], (81.666667, 48.333333, 81.666667), 90.0, 65.0),
        # void: (0 + 0.65 - 0.4) / 3
        ([findings(0.9, 0.65, 0.4, void=True)], (8.333333, 8.333333, 8.333333), 0.0, 25.0),
        # two judges: means 0.7, 0.325, 0.7: (1.4 + 0.325 - 0.7) / 3
        ([findings(0.9, 0.65, 0.4), findings(0.5, 0, 1)], (34.166667, 34.166667, 34.166667), 70.0, -37.5),
    ],
)
def test_scores_are_hand_counts(
    judges: list[RubricAnswers], overall: tuple[float, float, float], content: float, tone: float | None
) -> None:
    [root] = RubricProtocol().score(judges, "paper")
    score = root.score
    assert (score.value, score.low, score.high) == pytest.approx(overall)
    assert root.find("content").score.value == pytest.approx(content)
    assert root.find("tone").score.value == (None if tone is None else pytest.approx(tone))
    assert score.n_expected == 3 * len(judges) and score.n_failed == sum(one.n_failed for one in judges)
    assert ("void" in score.note) == any(one.answers[0].void is not None for one in judges)


def test_a_scale_starts_at_the_least_score() -> None:
    [root] = RubricProtocol().score([findings(0.9, 0.65, 0.4)], "paper")
    assert root.scale is not None and root.scale.low == pytest.approx(-100 / 3)  # (0 + 0 - 1) / 3
    praise = root.find("tone", "praise").scale
    assert praise is not None and praise.better == "lower"


def test_a_void_item_counts_by_any_judge_and_leaves_failed_draws_unknown() -> None:
    read, void = findings(1, 1, 0), findings(1, 1, 0, void=True)
    cost, *others = void.answers
    failed = void.model_copy(update={"answers": (cost.model_copy(update={"values": (1.0, None)}), *others)})
    [root] = RubricProtocol().score([read, failed], "paper")
    assert "1 item void" in root.score.note
    score = root.find("content", "cost").score
    # 1, 0 and one unknown: (1 + 0) / 2, from (1 + 0 + 0) / 3 to (1 + 0 + 1) / 3
    assert (score.value, score.low, score.high) == pytest.approx((50, 100 / 3, 200 / 3))


def test_faults_alone_are_scored_below_zero() -> None:
    found = findings(1, 1, 0.4)
    alone = found.model_copy(update={"answers": found.answers[2:]})
    [root] = RubricProtocol().score([alone], "paper")
    assert root.score.value == pytest.approx(-40) and root.find("tone", "praise").score.value == 40


def test_a_file_per_task_needs_its_task(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give --rubric"):
        load_protocol("rubric").missing_inputs(None)
    file = tmp_path / "r.jsonl"
    file.write_text('{"task_id": "mill", "prompt": "Why?", "criteria": [{"text": "C."}]}')
    protocol = load_protocol("rubric", {"file": str(file)})
    assert "give --tasks" in (protocol.missing_inputs(None) or "")
    assert "'well' has no rubric" in (protocol.missing_inputs(Task(id="well", prompt="How?")) or "")
    for task in (Task(id="mill", prompt="How?"), Task(id="well", prompt="Why? ")):
        assert protocol.missing_inputs(task) is None
    assert (protocol.needs_snapshot, protocol.needs_claims, protocol.without_task) == (False, False, None)


def test_items_that_the_report_repeats_are_named() -> None:
    report = parse_report(b"# A\n\nThe report states what the retrofit cost. It is short.\n")
    items = (Item(id="a", text="the report states what the retrofit cost"), Item(id="b", text="It is short."))
    assert repeated_items(report, items) == ("a",), "four words may be a coincidence"
