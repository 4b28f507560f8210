"""Protocols derived from a table of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from local_judge.base.errors import ConfigError
from local_judge.base.model import Frozen
from local_judge.protocols.base import Case, EvalContext
from local_judge.protocols.metric import Metric, MetricFindings, MetricProtocol, NoSettings, PartFindings
from local_judge.scoring.algebra import exactly
from local_judge.scoring.node import UNIT, Place, Profile, ScoreNode
from local_judge.tasks.model import Task


class Limit(Frozen):
    most: int = 3


class Counted(MetricFindings):
    n: int


class Counting(Metric[Limit, Counted]):
    """A number that is known before anything is asked."""

    settings_type = Limit
    settings_key = "counting"
    findings_type = Counted
    scale = UNIT

    async def examine(self, case: Case, context: EvalContext) -> Counted:
        return Counted(n=self.settings.most)

    def score(self, judges: Sequence[Counted], profile: Profile) -> ScoreNode:
        return self.node(exactly(sum(one.n for one in judges) / len(judges)))


class First(Counting):
    id = "first"
    label = "First"
    vertical = "depth"


class Second(Counting):
    id = "second"
    label = "Second"
    default = False
    needs_task = False

    def missing_inputs(self, task: Task) -> str | None:
        return "its task has nothing to count; give --counts"


class Both(MetricProtocol[PartFindings]):
    name = "both"
    version = "1"
    metrics = (First, Second)


def found(**parts: Any) -> PartFindings:
    made = Both.findings_type.model_validate({"case": "a", "document": "d", **parts})
    assert isinstance(made, PartFindings)
    return made


def test_settings_are_those_of_the_metrics() -> None:
    assert Both().settings.model_dump() == {"parts": ("first",), "counting": {"most": 3}}
    chosen = Both.configured({"parts": "second", "counting": {"most": 5}})
    assert chosen.settings.parts == ("second",)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"parts": []}, r"settings\.both\.parts "),
        ({"parts": ["third"]}, r"settings\.both\.parts: 'third' .*first, second"),
        ({"counting": {"least": 1}}, r"settings\.both\.counting\.least: unknown setting"),
    ],
)
def test_settings_that_no_metric_has_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Both.configured(settings)


def test_places_are_those_of_the_metrics_under_a_vertical() -> None:
    assert Both.places == {"first": Place(vertical="depth", scale=UNIT)}
    assert (Both.compares_reports, Both.searches) == (False, False)


def test_what_is_missing_names_the_way_out() -> None:
    task = Task(id="t", prompt="How many?")
    assert Both().missing_inputs(None) == "no task; give --tasks"
    assert Both().without_task == "--set both.parts=[second]"
    assert Both().missing_inputs(task) is None
    assert Both.configured({"parts": ["second"]}).missing_inputs(None) is None
    assert Both.configured({"parts": ["first", "second"]}).missing_inputs(task) == (
        "its task has nothing to count; give --counts, or do without: --set both.parts=[first]"
    )


def test_a_metric_has_scores_where_it_was_asked_for_whatever_is_set_by_now() -> None:
    two = [found(first={"n": 1}, second={"n": 2}), found(first={"n": 2}, second=None)]
    assert {root.id: root.score.value for root in Both().score(two, "paper")} == {"first": 1.5, "second": 2}
    assert [root.id for root in Both().score([found(second={"n": 2})], "paper")] == ["second"]
    assert Both().score([found()], "paper") == ()


def test_a_metric_without_a_field_in_the_findings_gets_one() -> None:
    class Partial(PartFindings):
        first: Counted | None = None

    class Wider(MetricProtocol[Partial]):
        name = "wider"
        version = "1"
        findings_type = Partial
        metrics = (First, Second)

    one = cast("type[Partial]", Wider.findings_type).model_validate(
        {"case": "a", "document": "d", "second": {"n": 2}}
    )
    assert [root.id for root in Wider().score([one], "paper")] == ["second"]


def test_a_metric_without_settings_has_no_key() -> None:
    class Bare(First):
        settings_type = NoSettings

    class Alone(MetricProtocol[PartFindings]):
        name = "alone"
        version = "1"
        metrics = (Bare,)

    assert set(Alone.settings_type.model_fields) == {"parts"}
