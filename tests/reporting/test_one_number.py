"""A system has one number of each score, in every table, ranking and export."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from local_judge.protocols import base
from local_judge.protocols.base import Findings
from local_judge.protocols.deepresearcheval import DreFindings
from local_judge.protocols.dream import DreamFindings
from local_judge.protocols.dream.authority import AuthorityFindings, CitedDomain
from local_judge.protocols.liveresearchbench import LrbFindings
from local_judge.reporting.formats import export_csv
from local_judge.reporting.groups import group_scores
from local_judge.reporting.leaderboard import as_markdown
from local_judge.reporting.run_tables import TableOptions, judge_tables, leaderboard, run_summary
from local_judge.reporting.verticals import verticals
from local_judge.runs.results.attributes import open_runs
from local_judge.runs.results.ranking import by_scores
from local_judge.runs.results.scored import system_scores
from local_judge.runs.results.tables import system_rows
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.records import CaseRecord, load_records, load_run_scores, load_scores
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.seal import reseal_scores, seal_run
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import mean_interval, summarised
from local_judge.scoring.node import Profile, Score

from ..printing import printed
from ..protocols.deepresearcheval import dre_cases
from ..protocols.deepresearcheval.facts_cases import findings as facts
from ..protocols.dream.test_dream_citation import findings as citations
from ..protocols.liveresearchbench.depth_cases import against
from ..protocols.liveresearchbench.depth_cases import findings as compared
from .test_groups import ACCURACY, fact_run, known_protocols, record

__all__ = ["known_protocols"]

VALUES: dict[Profile, dict[str, float | None]] = {
    # ada: of x 1 of 4 pairs is known, y has 2 of 4, w is not there: known are (1/4 + 1 + 0) / 3, less than half.
    # bo: (1 + 1/2) / 2. cy: one report of three. dee: the report known to a quarter is left out, (0 + 1) / 2.
    # eve: half of one report of two, (1/2 + 0) / 2.
    "paper": {"ada": None, "bo": 0.75, "cy": None, "dee": 0.5, "eve": None},
    # Pooled: ada 3 of the 5 known pairs, of 8: 5/8 known, at most 2/3 of the reports. bo 3 of 4. cy 1/3 of the reports.
    # dee (1 + 0 + 2) / (1 + 4 + 2). eve: the one known pair, and half of the reports.
    "upstream": {"ada": 0.6, "bo": 0.75, "cy": None, "dee": 3 / 7, "eve": 1.0},
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Five systems on up to three tasks: two reports are known to a quarter, four could not be read."""
    letters: dict[str, tuple[str, ...]] = {
        "ada": ("sfff", "ssuu", ""),
        "bo": ("ss", "su"),
        "cy": ("s", "", ""),
        "dee": ("sfff", "uuuu", "ss"),
        "eve": ("sf", ""),
    }
    rows = [
        (
            record(f"{system}-{task}", system, status="done" if text else "unreadable").model_copy(
                update={"task": str(task)}
            ),
            text,
        )
        for system, texts in letters.items()
        for task, text in enumerate(texts)
    ]
    return fact_run(tmp_path / "run", rows)


@pytest.mark.parametrize("profile", ["paper", "upstream"])
def test_all_tables_have_the_same_number(run: Path, tmp_path: Path, profile: Profile) -> None:
    store = RunStore(run)
    expected = {name: pytest.approx(value) if value else None for name, value in VALUES[profile].items()}
    records, scores = load_records(store), load_scores(store, ["fact"])
    over = load_run_scores(store, ["fact"])
    by_report = {row.case: row.scores[0].score for row in scores if row.profile == profile}
    # What is stored of a report that is known to a quarter: no value, and the bounds 1/4 to 4/4.
    assert (by_report["ada-0"].value, by_report["ada-0"].low, by_report["ada-0"].high) == (None, 0.25, 1.0)

    found = {one.system: one for one in system_scores(store, "fact", profile) if one.path == (ACCURACY,)}
    assert {name: one.score.value for name, one in found.items()} == expected
    assert [(one.n_values, one.n_reports) for one in found.values()] == [
        (1, 3),
        (2, 2),
        (1, 3),
        (2, 3),
        (1, 2),
    ]
    placed = verticals(records, scores, profile, over)
    assert {one.system: one.value for one in placed.metrics if one.path == (ACCURACY,)} == expected
    groups = group_scores(open_runs([run]), ("system",), profile, (ACCURACY,))
    assert {
        group.key["system"]: group.cells[0].value for group in groups.groups if group.cells[0]
    } == expected
    ranked = by_scores([run], "fact", profile, ACCURACY)
    assert {name: one.score.value for name, one in ranked.scores.items()} == expected
    export_csv(store, tmp_path / "csv", profile=profile)
    with (tmp_path / "csv" / "systems.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["path"] == ACCURACY]
    assert {row["system"]: float(row["value"]) if row["value"] else None for row in rows} == expected
    assert {row["profile"] for row in rows} == {profile}

    shown = printed(
        *run_summary(records, summarised(records, scores, over), TableOptions(profile)), width=200
    )
    for name, value in VALUES[profile].items():
        line = next(line for line in shown.splitlines() if line.startswith(f"{name} "))
        assert line.split("│")[1].strip().split()[0].rstrip("*") == ("–" if value is None else f"{value:.2f}")


def test_a_mean_counts_reports_that_could_not_be_evaluated(run: Path) -> None:
    store = RunStore(run)
    # Without the protocol's rule: cy has one report of three with a value, so the mean has none.
    own = [one for one in load_records(store) if one.system == "cy"]
    scores = [
        row for row in load_scores(store, ["fact"]) if row.case.startswith("cy") and row.profile == "paper"
    ]
    systems = summarised(own, scores)
    lines = printed(*run_summary(own, systems), *judge_tables(own, systems, ()), width=200).splitlines()
    (mean,) = [line for line in lines if line.startswith("cy ")]
    assert "1 of 3" in mean
    assert mean.split("│")[1].split("  ")[0].strip() == "– n=1 33.3 % known"
    (ensemble,) = [line for line in lines if line.startswith("ensemble")]
    assert ensemble.split("│")[1].strip() == "– n=1 33.3 % known"


PROTOCOLS = {
    "fact": "fact:Fact",
    "race": "race:Race",
    "deepresearcheval": "deepresearcheval:DeepResearchEval",
    "dream": "dream:Dream",
    "liveresearchbench": "liveresearchbench:LiveResearchBench",
}
WON, LOST = against((20, 20), (10, 10)), against((10, 10), (20, 20))
OF: dict[str, Any] = {"case": "a", "document": "d"}
POOLED: dict[str, tuple[str, float, dict[str, tuple[Findings, Findings]]]] = {
    # Won: 3 of 3 games and 1 of 2, 4 of 5 together. The mean of 100 and 50 would be 75.
    "liveresearchbench": (
        "depth",
        80.0,
        {
            "ada": (
                LrbFindings(**OF, depth=compared(WON, WON, WON)),
                LrbFindings(**OF, depth=compared(WON, LOST)),
            ),
            "bo": (LrbFindings(**OF, depth=compared(LOST)), LrbFindings(**OF, depth=compared(LOST))),
        },
    ),
    # Cited 1 of 2 claims, and 2 of 2; supported 1 of 1, and 1 of 2: of the means of both, 75 and 75. The mean of the
    # reports' 200/3 and 200/3 would be 66.67.
    "dream": (
        "citation",
        75.0,
        {
            "ada": (
                DreamFindings(**OF, citation=citations("s", "")),
                DreamFindings(**OF, citation=citations("s", "c")),
            ),
            "bo": (
                DreamFindings(**OF, citation=citations("c")),
                DreamFindings(**OF, citation=citations("c")),
            ),
        },
    ),
    # Right: 3 of 4 statements and 0 of 1, 3 of 5 together. The mean of 75 and 0 would be 37.5.
    "deepresearcheval": (
        "facts",
        60.0,
        {
            "ada": (DreFindings(**OF, facts=facts("rrrw")), DreFindings(**OF, facts=facts("w"))),
            "bo": (DreFindings(**OF, facts=facts("w")), DreFindings(**OF, facts=facts("w"))),
        },
    ),
}
"""By protocol: a score that is pooled, ada's number, and the findings of two systems on two tasks; bo's number is 0."""


def pooled_run(
    folder: Path, protocol: str, systems: Mapping[str, Sequence[Findings]] | None = None
) -> RunStore:
    """A finished run of systems with findings for tasks 0, 1 and so on; by default those of `POOLED`."""
    store = RunStore(folder)
    judge = {"name": "small", "identity": {"engine": "vllm", "model": "Small-1B"}, "sampling": {}}
    store.write_json(
        "manifest.json",
        {
            "format_version": 4,
            "config": {"protocols": [protocol]},
            "judges": [judge],
            "reports": {"n": 0},
        },
    )
    records: list[CaseRecord] = []
    stored: list[tuple[str, BaseModel]] = []
    for system, reports in (systems or POOLED[protocol][2]).items():
        for task, found in enumerate(reports):
            one = record(f"{system}-{task}", system).model_copy(update={"task": str(task)})
            stored.append((one.id, found))
            records.append(one)
    store.write_items(findings_file(protocol, None), stored)
    store.write_jsonl("cases.jsonl", records)
    rescore(store, [protocol], records)
    seal_run(store)
    reseal_scores(store)
    return store


@pytest.fixture
def pooling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the protocols of `POOLED` known by name."""

    def entries(group: str) -> list[EntryPoint]:
        return [
            EntryPoint(name, f"local_judge.protocols.{place}", group) for name, place in PROTOCOLS.items()
        ]

    monkeypatch.setattr(base, "registered", entries)


def authorities(scores: str) -> Any:
    """A report that cites a domain for each digit, which is its score."""
    domains = tuple(
        CitedDomain(domain=f"{place}.example", urls=(f"https://{place}.example/",), score=int(digit))
        for place, digit in enumerate(scores)
    )
    return DreamFindings(**OF, authority=AuthorityFindings(domains=domains, n_unresolved=0))


MEANS: dict[str, tuple[list[Findings], dict[Profile, dict[str, float]]]] = {
    # By protocol: findings of a system's reports, and the scores that are means of the reports', by profile.
    # 10 * (3 + 5) / 2 and 10 * 8, and a report that cites nothing: (40 + 80 + 0) / 3, and of those that cite 60.
    "dream": (
        [authorities("35"), authorities("8"), authorities("")],
        {"paper": {"authority": 40.0, "authority/when_cited": 60.0}},
    ),
    # The derivation of 6.13, 7 and 7.5 stands at `dre_cases.SCORES`; the other report has 5 everywhere. In `upstream`,
    # a mean is of reports with a total above 0 alone. Statements: 4 and 1.
    "deepresearcheval": (
        [
            dre_cases.findings().model_copy(update={"facts": facts("rrrw")}),
            dre_cases.findings(dre_cases.marked(dict.fromkeys(dre_cases.IDS, 5.0))).model_copy(
                update={"facts": facts("w")}
            ),
        ],
        {
            "paper": {
                "quality": 5.565,
                "quality/general/coverage": 6.0,
                "quality/general/clarity": 6.25,
                "facts/statements": 2.5,
            },
            "upstream": {"facts/statements": 2.5},
        },
    ),
}


@pytest.mark.parametrize("protocol", MEANS)
@pytest.mark.usefixtures("pooling")
def test_a_protocols_mean_over_reports_is_a_mean_like_any_other(protocol: str, tmp_path: Path) -> None:
    reports, means = MEANS[protocol]
    store = pooled_run(tmp_path / "run", protocol, {"ada": reports})
    for profile, expected in means.items():
        rows = {"/".join(row.path): row for row in system_scores(store, protocol, profile)}
        for path, value in expected.items():
            assert (rows[path].score.value, rows[path].by_rule) == (pytest.approx(value), False), path
            values = [
                node.score.value
                for row in load_scores(store, [protocol])
                if row.profile == profile
                for root in row.scores
                for at, node in root.walk()
                if "/".join(at) == path and node.score.value is not None
            ]
            assert rows[path].interval == mean_interval(values), path
        assert {row["path"] for row in system_rows(store, profile) if row["interval_low"] is not None} >= {
            *expected
        }


@pytest.mark.usefixtures("pooling")
def test_the_mark_of_a_rule_stands_where_the_value_is_not_the_mean(tmp_path: Path, run: Path) -> None:
    stores = [(name, pooled_run(tmp_path / name, name)) for name in POOLED]
    for protocol, store in [*stores, ("fact", RunStore(run))]:
        for row in load_run_scores(store, [protocol]):
            own = [
                dict(entry for root in one.scores for entry in root.walk())
                for one in load_scores(store, [protocol])
                if one.profile == row.profile and one.case.startswith(f"{row.system}-")
            ]
            for path, node in (entry for root in row.scores for entry in root.walk()):
                values = [nodes[path].score.value for nodes in own if path in nodes]
                known = [value for value in values if value is not None]
                if node.mean and known and node.score.value is not None:
                    assert node.score.value == pytest.approx(sum(known) / len(known)), (protocol, path)


@pytest.mark.usefixtures("pooling")
def test_a_score_without_a_value_has_a_reason(tmp_path: Path, run: Path) -> None:
    stores = [(name, pooled_run(tmp_path / name, name)) for name in POOLED]
    for protocol, store in [*stores, ("fact", RunStore(run))]:
        reports = [
            (path, node.score)
            for row in load_scores(store, [protocol])
            for root in row.scores
            for path, node in root.walk()
        ]
        for profile in ("paper", "upstream"):
            reports += [
                (row["path"], Score(value=row["value"], note=row["note"]))
                for row in system_rows(store, profile)
            ]
        assert [path for path, score in reports if score.value is None and not score.note] == []
    (opened,) = open_runs([run])
    [cells] = {
        tuple(group.cells for group in group_scores([opened], ("system",), "paper", (ACCURACY,)).groups)
    }
    assert all(cell.value is not None or cell.note for (cell,) in cells if cell)
    found = leaderboard(RunStore(run))
    assert "– Citation Accuracy of ada, Effective Citations of ada: no value: " in as_markdown(*found)


PAIRS: list[tuple[str, Profile]] = [
    ("liveresearchbench", "paper"),
    ("liveresearchbench", "upstream"),
    ("dream", "paper"),
    ("deepresearcheval", "paper"),
    ("deepresearcheval", "upstream"),
]


@pytest.mark.parametrize(("protocol", "profile"), PAIRS)
@pytest.mark.usefixtures("pooling")
def test_what_a_protocol_pools_is_the_systems_number_everywhere(
    protocol: str, profile: Profile, tmp_path: Path
) -> None:
    path, value, _ = POOLED[protocol]
    store = pooled_run(tmp_path / "run", protocol)
    expected = {"ada": pytest.approx(value), "bo": 0.0}
    records, scores = load_records(store), load_scores(store, [protocol])
    over = load_run_scores(store, [protocol])

    found = system_scores(store, protocol, profile)
    assert {one.system: one.score.value for one in found if one.path == (path,)} == expected
    placed = verticals(records, scores, profile, over)
    assert {one.system: one.value for one in placed.metrics if one.path == (path,)} == expected
    groups = group_scores(open_runs([store.root]), ("system",), profile, (path,))
    assert {
        group.key["system"]: group.cells[0].value for group in groups.groups if group.cells[0]
    } == expected
    ranked = by_scores([store.root], protocol, profile, path)
    assert {name: one.score.value for name, one in ranked.scores.items()} == expected
    export_csv(store, tmp_path / "csv", profile=profile)
    with (tmp_path / "csv" / "systems.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["path"] == path]
    assert {row["system"]: float(row["value"]) for row in rows} == expected
    assert {(row["profile"], row["aggregate"]) for row in rows} == {(profile, "rule")}
    shown = printed(
        *run_summary(records, summarised(records, scores, over), TableOptions(profile)), width=250
    )
    means = [line for line in shown.splitlines() if line.startswith("ada ")]
    assert [line.split("│")[1].strip().split()[0] for line in means] == [f"{value:.2f}*"]


@pytest.mark.parametrize(("protocol", "profile"), PAIRS)
@pytest.mark.usefixtures("pooling")
def test_what_stands_at_one_path_is_one_score(protocol: str, profile: Profile, tmp_path: Path) -> None:
    """A system's row has the protocol's score in the place of the mean of its reports' at the same path."""
    store = pooled_run(tmp_path / "run", protocol)
    trees = [row.scores for row in load_scores(store, [protocol]) if row.profile == profile]
    labels = {path: node.label for roots in trees for root in roots for path, node in root.walk()}
    shared = [
        (labels[path], node.label)
        for row in load_run_scores(store, [protocol])
        if row.profile == profile
        for root in row.scores
        for path, node in root.walk()
        if path in labels
    ]
    # `Right` of a report is `Right a report` of a system.
    assert shared and all(other.startswith(own) for own, other in shared)
