"""Two reports on one task, judges that answer by a rule, and depth as a protocol by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import pytest

from local_judge.documents import parse_report
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.protocols import base
from local_judge.protocols.base import Bench, Case, Contest, Findings, Rated, Rival
from local_judge.protocols.liveresearchbench.depth import (
    DepthFindings,
    DepthSettings,
    depth_contests,
    depth_lacks,
    depth_together,
    judge_depth,
    over_depth,
    rated_depth,
    score_depth,
)
from local_judge.protocols.liveresearchbench.depth.defects import Defect
from local_judge.protocols.liveresearchbench.depth.findings import (
    DIMENSIONS,
    Marks,
    Opponent,
    Order,
    Outcome,
    Pair,
)
from local_judge.protocols.liveresearchbench.depth.outcome import decided
from local_judge.protocols.scores import Profile, ScoreNode
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


def bench(judge: Judge) -> Bench:
    async def none() -> Any:
        raise AssertionError("depth reads no claims")

    return Bench(judge=judge, claims=none)


def case(text: str = REPORT, task: Task | None = TASK, rivals: Sequence[Rival] = (), id: str = "a") -> Case:
    return Case(id=id, report=parse_report(text), task=task, rivals=tuple(rivals))


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


def pair(first: Order, second: Order, defects: tuple[Defect, ...] = (), rival: str | None = None) -> Pair:
    """Two orders, the report first and then the other."""
    assert (first.report_first, second.report_first) == (True, False)
    return Pair(
        opponent=Opponent(
            kind="rival" if rival else "baseline",
            name=rival or "baseline",
            case=rival and f"{rival}-1",
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


class AloneFindings(Findings):
    """The findings of depth."""

    depth: DepthFindings

    @property
    def n_failed(self) -> int:
        return self.depth.n_failed


class DepthAlone:
    """Depth without the other metrics."""

    name: ClassVar[str] = "depth"
    version: ClassVar[str] = "1"
    profiles: ClassVar[tuple[Profile, ...]] = ("paper", "upstream")
    findings = AloneFindings
    settings = DepthSettings
    needs_claims = False
    without_task = None

    def __init__(self, given: DepthSettings | None = None) -> None:
        self.given = given or DepthSettings()

    def data_digest(self) -> None:
        return

    def lacks(self, task: Task | None) -> str | None:
        return depth_lacks(task, self.given)

    async def examine(self, case: Case, bench: Bench) -> AloneFindings:
        found = await judge_depth(case, bench, self.given)
        return AloneFindings(case=case.id, document=case.report.id, depth=found)

    def score(self, findings: AloneFindings, profile: Profile) -> tuple[ScoreNode, ...]:
        return (score_depth(findings.depth, profile),)

    def over(
        self, findings: Sequence[AloneFindings], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        return (over_depth([(one.depth,) for one in findings], profile, n_missing),)

    def together(self, findings: Sequence[AloneFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        return (depth_together([one.depth for one in findings], profile),)

    def over_together(
        self, findings: Sequence[Sequence[AloneFindings]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        return (over_depth([[one.depth for one in judges] for judges in findings], profile, n_missing),)

    def rated(self, findings: AloneFindings) -> tuple[Rated, ...]:
        return rated_depth(findings.depth)

    def contests(self, findings: Sequence[AloneFindings], profile: Profile) -> tuple[Contest, ...]:
        return depth_contests([one.depth for one in findings], profile)


class Silent:
    """A protocol that compares nothing: a length."""

    name: ClassVar[str] = "length"
    version: ClassVar[str] = "1"
    profiles: ClassVar[tuple[Profile, ...]] = ("paper",)
    findings = Findings
    settings = DepthSettings
    needs_claims = False
    without_task = None

    def __init__(self, given: DepthSettings | None = None) -> None:
        self.given = given or DepthSettings()

    def data_digest(self) -> None:
        return

    async def examine(self, case: Case, bench: Bench) -> Findings:
        return Findings(case=case.id, document=str(len(case.report.text)))

    def score(self, findings: Findings, profile: Profile) -> tuple[ScoreNode, ...]:
        value = float(findings.document)
        return (ScoreNode.model_validate({"id": "overall", "label": "Length", "score": {"value": value}}),)


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make both known by name."""
    names: Mapping[str, str] = {"depth": "DepthAlone", "length": "Silent"}
    entries = [EntryPoint(name, f"{__name__}:{kind}", base.GROUP) for name, kind in names.items()]

    def known_ones(group: str) -> list[EntryPoint]:
        return entries

    monkeypatch.setattr(base, "entry_points", known_ones)
