"""What the protocols show of one report beside its scores.

Invariant: a protocol that has no view here shows its scores, and nothing else needs to know which have one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import RenderableType

from local_judge.protocols.base import Findings
from local_judge.protocols.deepresearcheval import DeepResearchEval, DreFindings
from local_judge.protocols.deer import Deer, DeerFindings
from local_judge.protocols.deer.rubric.cost import costs
from local_judge.protocols.dream import Dream, DreamFindings
from local_judge.protocols.fact import Fact, FactFindings
from local_judge.protocols.liveresearchbench import LiveResearchBench, LrbFindings
from local_judge.protocols.race import Race, RaceFindings
from local_judge.protocols.scores import ScoreNode
from local_judge.reporting.dream import dream_lines, dream_tables
from local_judge.reporting.dream_plan import plan_lines, plan_tables
from local_judge.reporting.fact import fact_line, pair_table
from local_judge.reporting.facts import facts_lines, facts_table
from local_judge.reporting.liveresearchbench import lrb_lines, lrb_tables
from local_judge.reporting.quality import quality_line, quality_table
from local_judge.reporting.race import mark_table, race_line
from local_judge.reporting.rubric import cost_table, item_table, rubric_line


class View(NamedTuple):
    """What one protocol shows of one report."""

    data: Mapping[str, object]
    """For JSON, under keys that no other protocol has."""
    parts: tuple[RenderableType, ...] = ()
    """For the terminal, one below the other."""


class Viewed(NamedTuple):
    """A protocol with a view."""

    findings: type[Findings]
    nothing: Mapping[str, object]
    """The data where it was not run, or nothing was asked for."""
    view: Callable[[Any, Sequence[ScoreNode], bool], View]
    """Of findings, with the report's scores by the paper's profile, and whether every item is to be shown."""


def _deer(findings: DeerFindings, paper: Sequence[ScoreNode], items: bool) -> View:
    rubric = findings.rubric
    if rubric is None:
        return View({})
    cost = costs(paper, rubric) if paper else ()
    tables = [cost_table(cost, rubric)] if cost else []
    tables += [item_table(rubric)] if items else []
    data: dict[str, object] = {"costs": [one.model_dump(mode="json") for one in cost]}
    if items:
        data["rubric"] = rubric.model_dump(mode="json")
    return View(data, (rubric_line(rubric), *tables))


def _fact(findings: FactFindings, paper: Sequence[ScoreNode], items: bool) -> View:
    if not items:
        return View({}, (fact_line(findings),))
    return View({Fact.name: findings.model_dump(mode="json")}, (fact_line(findings), pair_table(findings)))


def _race(findings: RaceFindings, paper: Sequence[ScoreNode], items: bool) -> View:
    if not items:
        return View({}, (race_line(findings),))
    return View({Race.name: findings.model_dump(mode="json")}, (race_line(findings), mark_table(findings)))


def _liveresearchbench(findings: LrbFindings, paper: Sequence[ScoreNode], items: bool) -> View:
    lines = tuple(lrb_lines(findings))
    if not items:
        return View({}, lines)
    data = {LiveResearchBench.name: findings.model_dump(mode="json")}
    return View(data, (*lines, *lrb_tables(findings)))


def _deepresearcheval(findings: DreFindings, paper: Sequence[ScoreNode], items: bool) -> View:
    quality = findings.quality
    parts: list[RenderableType] = [] if quality is None else [quality_line(quality)]
    parts += [] if findings.facts is None else facts_lines(findings.facts)
    if not items:
        return View({}, tuple(parts))
    parts += [] if quality is None else [quality_table(quality)]
    parts += [] if findings.facts is None else [facts_table(findings.facts)]
    return View({DeepResearchEval.name: findings.model_dump(mode="json")}, tuple(parts))


def _dream(findings: DreamFindings, paper: Sequence[ScoreNode], items: bool) -> View:
    lines = (*dream_lines(findings), *plan_lines(findings))
    if not items:
        return View({}, lines)
    tables = (*dream_tables(findings), *plan_tables(findings))
    return View({Dream.name: findings.model_dump(mode="json")}, (*lines, *tables))


VIEWS: Mapping[str, Viewed] = {
    Deer.name: Viewed(DeerFindings, {"rubric": None, "costs": []}, _deer),
    Fact.name: Viewed(FactFindings, {Fact.name: None}, _fact),
    Race.name: Viewed(RaceFindings, {Race.name: None}, _race),
    LiveResearchBench.name: Viewed(LrbFindings, {LiveResearchBench.name: None}, _liveresearchbench),
    DeepResearchEval.name: Viewed(DreFindings, {DeepResearchEval.name: None}, _deepresearcheval),
    Dream.name: Viewed(DreamFindings, {Dream.name: None}, _dream),
}
"""By the protocol's name, in the order in which they are shown."""

NOTHING: Mapping[str, object] = {
    key: value for viewed in VIEWS.values() for key, value in viewed.nothing.items()
}
"""The data of no view at all."""
