"""Two reports on one task, judges that answer by a rule, and depth as a protocol by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from local_judge.base.failures import Failure
from local_judge.documents import parse_report
from local_judge.judge.judge import Judge
from local_judge.protocols import base
from local_judge.protocols.base import BaseProtocol, Case, EvalContext, Findings, OtherReport
from local_judge.protocols.liveresearchbench.depth.defects import Defect
from local_judge.protocols.liveresearchbench.depth.games import (
    DIMENSIONS,
    DepthFindings,
    Marks,
    Opponent,
    Order,
    Outcome,
    Pair,
    decided,
)
from local_judge.protocols.liveresearchbench.metrics.depth import Depth
from local_judge.protocols.metric import MetricProtocol, NoSettings, PartFindings
from local_judge.scoring.algebra import exactly
from local_judge.scoring.node import Profile, ScoreNode
from local_judge.tasks.model import Reference, Task
from serving.engines.scripted import Call, Reply

BASELINE = (
    "# The mill\n\nIt cost 9 million [1]. The town paid.\n\n## References\n\n[1] https://a.example/mill"
)
REPORT = "# Mill\n\nIt cost 8 million, since steel was cheap.\n\nNobody asked who gained."
TASK = Task(id="900", prompt="What did the mill cost?", references=(Reference(text=BASELINE),))

FAILED = Failure(kind="timeout", detail="no answer")


def shown(prompt: str) -> tuple[str, str]:
    """The two reports of a prompt, by place."""
    found = re.findall(r"((?:Second r|R)eport):\n(`{3,})\n(.*?)\n\2(?=\n|$)", prompt, re.DOTALL)
    assert [title for title, _, _ in found] == ["Report", "Second report"]
    return found[0][2], found[1][2]


def scores(total: int) -> dict[str, int]:
    """Five scores with this sum, as even as can be."""
    return {name: total // 5 + (place < total % 5) for place, name in enumerate(DIMENSIONS)}


def answer(first: int, second: int, winner: str | None = None) -> dict[str, Any]:
    """A judge's reply with these totals; its word follows from them unless it is given."""
    said = {"report": "first", "other": "second", "tie": "tie"}[decided(first - second)]
    return {
        "analysis": "The one asks why.",
        "first_flaws": ["L2.S1 stays general"],
        "second_flaws": [],
        "first": scores(first),
        "second": scores(second),
        "winner": winner or said,
    }


def judge_by(total: Callable[[str], int]) -> Callable[[Call], Reply]:
    """A judge that knows reports by their text and not by their place."""

    def told(call: Call) -> Reply:
        first, second = shown(call.prompt)
        return answer(total(first), total(second))

    return told


def first_wins(call: Call) -> Reply:
    """A judge that favours what comes first."""
    shown(call.prompt)
    return answer(20, 15)


def context(judge: Judge) -> EvalContext:
    async def none() -> Any:
        raise AssertionError("depth reads no claims")

    return EvalContext(judge=judge, claims=none)


def case(
    text: str = REPORT, task: Task | None = TASK, others: Sequence[OtherReport] = (), id: str = "a"
) -> Case:
    return Case(id=id, report=parse_report(text), task=task, others=tuple(others))


def order(report_first: bool, own: int | None, other: int | None = 0, said: Outcome | None = None) -> Order:
    """One order with these totals; None failed. The judge's word follows from them unless it is given."""
    if own is None or other is None:
        return Order(report_first=report_first, failure=FAILED)
    return Order(
        report_first=report_first,
        report=Marks(**scores(own)),
        other=Marks(**scores(other)),
        said=said or decided(own - other),
    )


def pair(first: Order, second: Order, defects: tuple[Defect, ...] = (), system: str | None = None) -> Pair:
    """Two orders, the report first and then the other."""
    assert (first.report_first, second.report_first) == (True, False)
    return Pair(
        opponent=Opponent(
            kind="system" if system else "baseline",
            name=system or "baseline",
            case=system and f"{system}-1",
            document="other",
            n_characters=10,
            defects=defects,
        ),
        orders=(first, second),
    )


def against(
    own: tuple[int | None, int | None], other: tuple[int, int], defects: tuple[Defect, ...] = ()
) -> Pair:
    """A pair with these totals of the report and of the baseline, order by order."""
    return pair(order(True, own[0], other[0]), order(False, own[1], other[1]), defects)


def findings(*pairs: Pair, leave_out: bool = False) -> DepthFindings:
    return DepthFindings(task="900", document="own", leave_out=leave_out, pairs=pairs)


class AloneFindings(PartFindings):
    """The findings of depth."""

    depth: DepthFindings | None = None


class Default(Depth):
    """Depth, judged unless something else is asked for."""

    default = True


class DepthAlone(MetricProtocol[AloneFindings]):
    """Depth without the other metrics."""

    name = "depth"
    version = "1"
    profiles = ("paper", "upstream")
    findings_type = AloneFindings
    metrics = (Default,)


class Length(BaseProtocol[NoSettings, Findings]):
    """A protocol that compares nothing: a length."""

    name = "length"
    version = "1"
    settings_type = NoSettings
    findings_type = Findings

    async def examine(self, case: Case, context: EvalContext) -> Findings:
        return Findings(case=case.id, document=str(len(case.report.text)))

    def score(self, judges: Sequence[Findings], profile: Profile) -> tuple[ScoreNode, ...]:
        return (ScoreNode(id="overall", label="Length", score=exactly(float(judges[0].document))),)


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make both known by name, beside those that are installed."""
    names: Mapping[str, str] = {"depth": "DepthAlone", "length": "Length"}
    entries = [EntryPoint(name, f"{__name__}:{kind}", base.GROUP) for name, kind in names.items()]
    installed = base.registered

    def registered(group: str) -> list[EntryPoint]:
        return [*installed(group), *entries]

    monkeypatch.setattr(base, "registered", registered)
