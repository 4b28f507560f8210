"""Every score that an installed protocol can have has a place, and a run is read by these as one profile."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import product

import pytest

from local_judge.protocols.base import load_protocol, protocol_names
from local_judge.protocols.deepresearcheval import DeepResearchEval
from local_judge.protocols.deer.overall import score as deer_score
from local_judge.protocols.deer.verification.rows import Rows
from local_judge.protocols.fact import Fact
from local_judge.protocols.metric import MetricProtocol
from local_judge.protocols.race import Race
from local_judge.protocols.rubric import RubricProtocol
from local_judge.reporting.verticals import vertical_tables, verticals
from local_judge.runs.storage.records import CaseRecord, ScoreRecord
from local_judge.scoring.node import VERTICALS, Place, Scale, Score, ScoreNode, Tree, Vertical, placed

from ..printing import printed
from ..protocols.deepresearcheval import dre_cases
from ..protocols.deer import rubric_cases
from ..protocols.fact import fact_cases
from ..protocols.race import race_cases
from ..protocols.rubric import answer_cases
from ..rubric_run import record


def _deer() -> list[ScoreNode]:
    """With and without verification, and with and without the rubric."""
    rubric = rubric_cases.findings(rubric_cases.drawn(1))
    rows = Rows(claims=(), references=())
    trees = [deer_score(*one, "paper") for one in product(([rows], []), ([rubric], [])) if any(one)]
    return [root for tree in trees for root in tree]


def _race() -> Tree:
    """Both ways round and with two draws, so that all that it measures is there."""
    sheets = [
        race_cases.comparison(
            race_cases.TARGET_SCORES, race_cases.REFERENCE_SCORES, target_first=first, draw=draw
        )
        for first in (True, False)
        for draw in (0, 1)
    ]
    return Race().score([race_cases.findings(*sheets)], "paper")


TREES: dict[str, Callable[[], Tree]] = {
    "deer": _deer,
    "race": _race,
    "fact": lambda: Fact().score([fact_cases.findings("sudxnf")], "paper"),
    "rubric": lambda: RubricProtocol().score([answer_cases.findings(1, 0.5, 0)], "paper"),
    "deepresearcheval": lambda: DeepResearchEval().score([dre_cases.findings()], "paper"),
}
"""Scores with all roots that a protocol has beside one for each of its metrics."""


def roots_of(protocol: str) -> set[str]:
    kind = type(load_protocol(protocol))
    metrics = kind.metrics if issubclass(kind, MetricProtocol) else ()
    scored = TREES[protocol]() if protocol in TREES else ()
    return {metric.id for metric in metrics} | {root.id for root in scored}


def unplaced(places: Mapping[str, Place], roots: Iterable[str]) -> list[str]:
    """The roots that neither have a place nor stand above a score that has one."""
    return [root for root in roots if root not in {path.partition("/")[0] for path in places}]


@pytest.mark.parametrize("protocol", protocol_names())
def test_every_root_of_an_installed_protocol_has_a_place(protocol: str) -> None:
    roots = roots_of(protocol)
    assert roots and unplaced(load_protocol(protocol).places, roots) == []


def test_a_root_without_a_place_is_noticed() -> None:
    assert unplaced(load_protocol("race").places, ["insight", "wit", "overall"]) == ["wit"]
    assert unplaced({}, ["wit"]) == ["wit"]


@pytest.mark.parametrize("protocol", protocol_names())
def test_a_place_has_a_vertical_or_a_reason_and_none_below_it(protocol: str) -> None:
    places = load_protocol(protocol).places
    for path, place in places.items():
        assert (place.vertical is None) != (place.aside == ""), path
        above = [path[:end] for end, letter in enumerate(path) if letter == "/"]
        assert place.vertical is None or not any(
            places[one].vertical is not None for one in above if one in places
        ), f"{path} stands below another place"


def vertical_of(protocol: str, path: str) -> Vertical | None:
    """Of the score itself, or of the one above it that has one."""
    places = load_protocol(protocol).places
    steps = path.split("/")
    above = ["/".join(steps[:length]) for length in range(len(steps), 0, -1)]
    return next((places[one].vertical for one in above if one in places), None)


def test_what_stands_below_a_place_has_its_vertical() -> None:
    assert vertical_of("deer", "request_fulfillment/scope/2") == "compliance"
    assert vertical_of("deepresearcheval", "quality/general/clarity/1") == "presentation"
    assert vertical_of("deepresearcheval", "quality/specific/costs") == "compliance"
    assert vertical_of("deepresearcheval", "quality") is None
    assert vertical_of("race", "overall") is None
    # Table 1 of DREAM's paper: factual consistency is source quality.
    assert vertical_of("liveresearchbench", "consistency") == "sources"
    every = {place.vertical for name in protocol_names() for place in load_protocol(name).places.values()}
    assert every - {None} == set(VERTICALS)


@pytest.mark.parametrize(
    ("scale", "value", "expected"),
    [
        (Scale(), 40.0, 40.0),
        (Scale(high=10), 6.13, 61.3),
        (Scale(low=1, high=10), 5.5, 50.0),  # half of the way from 1 to 10
        (Scale(high=50, better="lower"), 10.0, 80.0),
        (Scale(high=None, better="lower"), 12.0, None),
    ],
)
def test_normalised(scale: Scale, value: float, expected: float | None) -> None:
    found = scale.normalised(value)
    assert found == (None if expected is None else pytest.approx(expected))


def root(id: str, value: float | None, *children: ScoreNode, failed: int = 0) -> ScoreNode:
    low, high = (value, value) if not failed else (0.0, 10.0)
    score = Score(value=value, n_expected=1, n_failed=failed, low=low, high=high)
    return ScoreNode(id=id, label=id.title(), score=score, children=children)


def row(case: str, protocol: str, *roots: ScoreNode) -> ScoreRecord:
    places: Mapping[str, Place] = load_protocol(protocol).places if protocol in protocol_names() else {}
    return ScoreRecord(
        case=case, protocol=protocol, version="1", profile="paper", scores=placed(roots, places)
    )


def quality(insight: float | None, failed: int = 0) -> ScoreNode:
    general = root("general", insight, root("insight", insight, failed=failed))
    return root("quality", insight, general, root("specific", 4.0))


RECORDS: list[CaseRecord] = [
    record("a1", "1", "ada"),
    record("a2", "2", "ada"),
    record("a3", "3", "ada", "unreadable"),
    record("b1", "1", "bob"),
]
SCORES = [
    row("a1", "race", root("insight", 60.0), root("overall", 55.0)),
    row("a2", "race", root("insight", 40.0), root("overall", 45.0)),
    row("b1", "race", root("insight", None), root("overall", 45.0)),
    row("a1", "deepresearcheval", quality(7.0), root("general_gap", 3.0)),
    row("a2", "deepresearcheval", quality(None, failed=1), root("general_gap", None, failed=1)),
    row("b1", "deepresearcheval", quality(6.0, failed=1), root("general_gap", 2.0)),
    row("a1", "mine", root("wit", 3.0)),
]


def test_a_run_as_a_profile() -> None:
    found = verticals(RECORDS, SCORES, "paper")
    ada = {(one.protocol, "/".join(one.path)): one for one in found.metrics if one.system == "ada"}
    assert [(one.vertical, one.protocol, one.path[-1]) for one in ada.values()] == [
        ("compliance", "deepresearcheval", "specific"),
        ("depth", "race", "insight"),
        ("depth", "deepresearcheval", "insight"),
        (None, "mine", "wit"),
    ]
    insight = ada["race", "insight"]
    # Two of three reports, 60 and 40; the third is not there and may have anything from 0 to 100.
    assert (insight.value, insight.normalised) == (50.0, 50.0)
    assert (insight.low, insight.high) == (pytest.approx(100 / 3), pytest.approx(200 / 3))
    assert (insight.n_reports, insight.n_values, insight.n_failed, insight.n_undefined) == (3, 2, 1, 0)
    depth = ada["deepresearcheval", "quality/general/insight"]
    # 7 of the first; the second failed and may be 0 to 10, and so may the third: one of three is known, so no value.
    assert (depth.value, depth.normalised, depth.scale) == (None, None, (0.0, 10.0))
    assert (depth.low, depth.high) == (pytest.approx(7 / 3), pytest.approx(9.0))
    assert (depth.n_values, depth.n_failed) == (1, 2)
    wit = ada["mine", "wit"]
    assert (wit.vertical, wit.value, wit.normalised, wit.better) == (None, None, None, "")  # one of three
    bob = {(one.protocol, one.path[-1]): one for one in found.metrics if one.system == "bob"}
    assert (bob["race", "insight"].n_undefined, bob["race", "insight"].n_failed) == (1, 0)
    assert (bob["deepresearcheval", "insight"].n_values, bob["deepresearcheval", "insight"].n_in_part) == (
        1,
        1,
    )
    assert found.aside == {
        "race/overall": "spans all verticals",
        "deepresearcheval/quality": "spans all verticals",
        "deepresearcheval/general_gap": "a difference of two scores",
    }


def test_a_value_of_which_a_part_is_unknown_is_counted_and_says_how_much_is_known() -> None:
    # Of three parts each: all known, and one without answer. No part lacks a value, so none counts as failed.
    whole, half = (
        Score(value=8.0, n_expected=3, known=known, low=low, high=9.0)
        for known, low in ((1.0, 8.0), (0.5, 3.0))
    )
    rows = [
        row(case, "deer", ScoreNode(id="information_integrity", label="Integrity", score=score))
        for case, score in (("a1", whole), ("a2", half))
    ]
    [placed] = verticals(RECORDS[:2], rows, "paper").metrics
    assert (placed.n_values, placed.n_failed, placed.n_in_part) == (2, 0, 1)
    assert placed.known == 0.75  # (1 + 0.5) / 2
    [table] = vertical_tables(verticals(RECORDS[:2], rows, "paper"))
    assert "8.00 │ 5.50 to 9.00 │ 75.0 % │ 0 to 10" in " ".join(printed(table).split())


def test_printed() -> None:
    *tables, aside = vertical_tables(verticals(RECORDS, SCORES, "paper"))
    assert len(tables) == 2
    quality, gap = "deepresearcheval/quality", "deepresearcheval/general_gap"
    assert re.fullmatch(
        rf"under no vertical: race/overall \(.*\); {quality} \(.*\); {gap} \(.*\)", str(aside)
    )


@pytest.mark.parametrize(
    ("protocol", "path", "value", "share"),
    [
        ("fact", "citation_accuracy", 0.95, 95.0),  # a share, 0 to 1
        ("deer", "format_style", 1.0, 0.0),  # a rubric's least is 1
        ("deepresearcheval", "quality/specific", 7.5, 75.0),
        ("liveresearchbench", "accuracy", 3.0, None),  # a number of errors has no upper end
    ],
)
def test_values_are_read_on_their_own_scale(
    protocol: str, path: str, value: float, share: float | None
) -> None:
    scale = load_protocol(protocol).places[path].scale
    assert scale is not None
    found = scale.normalised(value)
    assert found == (None if share is None else pytest.approx(share))
