"""Scores and labels of groups of reports, from runs whose findings are known."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from local_judge.base.errors import InputError, RunError
from local_judge.base.output import Table
from local_judge.protocols import base
from local_judge.protocols.liveresearchbench import LiveResearchBench, LrbFindings
from local_judge.reporting.group_tables import group_tables, label_counts, label_tables
from local_judge.reporting.groups import Groups, group_scores
from local_judge.runs.results.attributes import groups_of, load_attributes, open_runs
from local_judge.runs.storage.items import file_key, findings_file
from local_judge.runs.storage.records import CaseRecord, ScoreRecord
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.seal import reseal_scores, seal_run
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import write_scores
from local_judge.scoring.node import PERCENT, Score, ScoreNode

from ..printing import printed
from ..protocols.fact.fact_cases import findings, write_run

ACCURACY = "citation_accuracy"


def entries(group: str) -> list[EntryPoint]:
    return [
        EntryPoint("fact", "local_judge.protocols.fact:Fact", group),
        EntryPoint("liveresearchbench", "local_judge.protocols.liveresearchbench:LiveResearchBench", group),
    ]


@pytest.fixture(autouse=True)
def known_protocols(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "registered", entries)


def record(name: str, system: str | None, topic: str | None = None, status: str = "done") -> CaseRecord:
    return CaseRecord.model_validate(
        {
            "id": name,
            "key": file_key(name),
            "document": f"d-{name}",
            "task": f"t-{name}",
            "system": system,
            "attributes": {} if topic is None else {"topic": topic},
            "status": status,
        }
    )


def fact_run(folder: Path, reports: Iterable[tuple[CaseRecord, str]]) -> Path:
    """A run of FACT; each report's pairs as letters, '' for one that could not be read."""
    records = [record for record, _ in reports]
    found = {record.id: findings(letters, record.id) for record, letters in reports if letters}
    store = write_run(folder, found, *records)
    rescore(store, ["fact"], records)
    reseal_scores(store)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two systems, two topics; bo's report on law could not be read."""
    return fact_run(
        tmp_path / "run",
        [
            (record("x", "ada", "Health"), "ssu"),
            (record("y", "ada", "Law"), "s"),
            (record("z", "bo", "Health"), "uu"),
            (record("w", "bo", "Law", "unreadable"), ""),
        ],
    )


def values(found: Groups) -> dict[tuple[str | None, ...], list[float | None]]:
    return {
        tuple(group.key.values()): [cell and cell.value for cell in group.cells] for group in found.groups
    }


def drawn(parts: Iterable[Table | str]) -> str:
    return " ".join(printed(*parts).split())


def test_a_group_of_one_system_is_scored_by_the_protocols_rule(run: Path) -> None:
    wanted = [f"{ACCURACY}/all", f"{ACCURACY}/pooled"]
    # ada: the mean of 2/3 and 1, and 3 of 4 pairs. bo: 0 of 2 pairs, and a report of which nothing is known.
    found = group_scores(open_runs([run]), ["system"], wanted=wanted)
    assert values(found) == {("ada",): [pytest.approx(5 / 6), 0.75], ("bo",): [0.0, 0.0]}
    # The paper's accuracy is a mean over reports; what is pooled is not.
    assert [[cell and cell.by_rule for cell in group.cells] for group in found.groups] == [[False, True]] * 2
    # Of ada's report on health alone: 2 of 3 pairs.
    found = group_scores(open_runs([run]), ["topic", "system"], wanted=wanted)
    assert values(found)["Health", "ada"] == [pytest.approx(2 / 3)] * 2
    assert [group.n_reports for group in found.groups] == [1, 1, 1, 1]


def test_a_group_of_several_systems_has_plain_means_and_open_bounds(run: Path) -> None:
    found = group_scores(open_runs([run]), ["topic"], wanted=[ACCURACY, f"{ACCURACY}/pooled"])
    health, law = (group.cells for group in found.groups)
    # The interval of a mean of 2/3 and 0: a draw of two reports has the mean 0, 1/3 or 2/3.
    mean = health[0]
    assert mean is not None and (mean.interval_low, mean.interval_high) == (0.0, pytest.approx(2 / 3))
    assert health[0] and health[0].value == pytest.approx(1 / 3)  # of 2/3 and 0
    assert not health[0].by_rule
    assert health[1] is None and law[1] is None  # pooled is a score of one system's reports
    # One report with 1, and one that could not be read: from (1 + 0) / 2 to (1 + 1) / 2.
    assert law[0] and (law[0].value, law[0].low, law[0].high) == (1.0, 0.5, 1.0)
    assert (law[0].n_reports, law[0].n_values, law[0].n_failed) == (2, 1, 1)
    assert [(group.n_reports, group.n_evaluated) for group in found.groups] == [(2, 2), (2, 1)]
    shown = drawn(group_tables(found))
    assert "fact by topic (paper profile)" in shown
    assert "Law │ 1 of 2 │ 1.00 n=1 │ –" in shown
    assert "bounds 0.50 to 1.00" in shown


def test_ranks_follow_the_better_end_and_say_how_they_differ_from_the_first(tmp_path: Path) -> None:
    # ada: 4 of 5 pairs, 4 effective citations. cy: 1 of 1, 1. di: 4 of 5 and 4, as ada.
    run = fact_run(
        tmp_path / "run",
        [(record("a", "ada"), "ssssu"), (record("c", "cy"), "s"), (record("d", "di"), "ssssu")],
    )
    found = group_scores(
        open_runs([run]), ["system"], wanted=[ACCURACY, "effective_citations", "citations"], ranks=True
    )
    ranks = [[cell and (cell.rank, cell.rank_change) for cell in group.cells] for group in found.groups]
    assert ranks == [
        [(2, None), (1, 1), (None, None)],  # a count is not ranked
        [(1, None), (3, -2), (None, None)],
        [(2, None), (1, 1), (None, None)],
    ]
    shown = drawn(group_tables(found))
    assert "0.80 #2 │ 4.00 #1 +1 │ 5.00" in shown
    assert "rank by fact: Citation Accuracy less this rank" in shown


def test_means_that_differ_by_the_order_of_their_additions_share_a_rank(tmp_path: Path) -> None:
    # Accuracies of 0.1, 0.1 and 0.4 in one order and in the other: 0.6000000000000001 / 3 and 0.6 / 3.
    letters = ("s" + "u" * 9, "s" + "u" * 9, "ssssuuuuuu")
    reports = [
        (record(f"{topic}{place}", f"system {place}", topic), pairs)
        for topic, order in (("Health", letters), ("Law", letters[::-1]))
        for place, pairs in enumerate(order)
    ]
    runs = open_runs([fact_run(tmp_path / "run", reports)])
    found = group_scores(runs, ["topic"], wanted=[ACCURACY], ranks=True)
    health, law = (group.cells[0] for group in found.groups)
    assert health and law and health.value != law.value
    assert (health.value, law.value) == (pytest.approx(0.2), pytest.approx(0.2))
    assert (health.rank, law.rank) == (1, 1)


def test_systems_are_ranked_within_each_topic(run: Path) -> None:
    found = group_scores(open_runs([run]), ["topic", "system"], wanted=[ACCURACY], ranks=True)
    ranks = {tuple(group.key.values()): group.cells[0] and group.cells[0].rank for group in found.groups}
    assert ranks["Health", "ada"] == 1 and ranks["Health", "bo"] == 2 and ranks["Law", "ada"] == 1


def test_repeated_runs_have_a_mean_and_a_spread(tmp_path: Path) -> None:
    first = fact_run(tmp_path / "first", [(record("a", "ada"), "ssssu"), (record("b", "bo"), "s")])
    second = fact_run(tmp_path / "second", [(record("a", "ada"), "sssuu")])
    found = group_scores(open_runs([first, second]), ["system"], wanted=[ACCURACY])
    [ada], [bo] = (group.cells for group in found.groups)
    assert ada and ada.spread and bo
    # 0.8 and 0.6: their mean, and sqrt(2 * 0.1^2 / (2 - 1)).
    assert ada.value == pytest.approx(0.7)
    assert ada.spread.sd == pytest.approx(0.02**0.5)
    assert (ada.spread.least, ada.spread.most) == (0.6, 0.8)
    assert ada.spread.runs == {"first": 0.8, "second": 0.6}
    assert (bo.value, bo.spread) == (1.0, None)
    shown = drawn(group_tables(found))
    assert "ada │ 2 │ 0.70" in shown and "sd 0.14 of 2, 0.60 to 0.80" in shown
    each = group_scores(open_runs([first, second]), ["run", "system"], wanted=[ACCURACY])
    assert values(each) == {("first", "ada"): [0.8], ("first", "bo"): [1.0], ("second", "ada"): [0.6]}


def lrb_run(folder: Path, *scores: float | None) -> Path:
    """A run of one report with these scores for presentation, consistency and citation association."""
    store = RunStore(folder)
    case = record("a", "ada")
    store.write_json(
        "manifest.json",
        {
            "format_version": 4,
            "config": {"protocols": ["liveresearchbench"]},
            "reports": {"n": 0},
        },
    )
    store.write_jsonl("cases.jsonl", [case])
    found = LrbFindings(case="a", document="d-a")
    store.write_items(findings_file("liveresearchbench", None), [("a", found)])
    roots = tuple(
        ScoreNode(
            id=name, label=name, score=Score(value=value, n_undefined=int(value is None)), scale=PERCENT
        )
        for name, value in zip(("presentation", "consistency", "citation"), scores, strict=True)
    )
    row = ScoreRecord(
        case="a",
        protocol="liveresearchbench",
        version=LiveResearchBench.version,
        profile="paper",
        scores=roots,
    )
    write_scores(store, "liveresearchbench", [case], [row])
    seal_run(store)
    return folder


def test_the_mean_of_scores_needs_all_of_them(tmp_path: Path) -> None:
    whole = group_scores(open_runs([lrb_run(tmp_path / "a", 40, 80, 60)]), ["system"], mean=True)
    assert values(whole) == {("ada",): [40, 80, 60, 60]}  # (40 + 80 + 60) / 3
    assert whole.columns[-1].label == "mean"
    partial = group_scores(open_runs([lrb_run(tmp_path / "b", 40, None, 60)]), ["system"], mean=True)
    assert values(partial) == {("ada",): [40, None, 60, None]}


def test_scores_without_a_common_scale_have_no_mean(run: Path) -> None:
    with pytest.raises(InputError, match=r"--mean: fact:effective_citations has no scale with a best end"):
        group_scores(open_runs([run]), ["system"], mean=True)


def test_repeated_runs_that_know_most_of_a_score_have_a_mean(tmp_path: Path) -> None:
    """Two of three pairs supported and one without verdict, in each run: 3/4 is known of the one report of either."""
    runs = [fact_run(tmp_path / name, [(record("x", "ada"), "ssuf")]) for name in ("one", "two")]
    found = group_scores(open_runs(runs), ["system"], wanted=[ACCURACY])
    [[cell]] = (group.cells for group in found.groups)
    assert cell and (cell.value, cell.known, cell.n_in_part) == (pytest.approx(2 / 3), 0.75, 2)
    shown = drawn(group_tables(found))
    # 2 or 3 of 4 pairs.
    assert "0.67" in shown and "bounds 0.50 to 0.75" in shown and "75.0 % known" in shown


def test_means_that_differ_in_their_last_bits_share_a_rank(tmp_path: Path) -> None:
    """0.1, 0.2 and 0.3 of ten pairs in one order and in the other: 0.6000000000000001 / 3 and 0.6 / 3."""
    reports = [
        (record(f"{system}{n}", system), "s" * n + "u" * (10 - n))
        for system, numbers in (("ada", (1, 2, 3)), ("bo", (3, 2, 1)))
        for n in numbers
    ]
    runs = open_runs([fact_run(tmp_path / "run", reports)])
    found = group_scores(runs, ["system"], wanted=[ACCURACY], ranks=True)
    cells = [group.cells[0] for group in found.groups]
    assert [cell and cell.rank for cell in cells] == [1, 1]
    assert len({cell and cell.value for cell in cells}) == 2


def test_what_is_not_there_is_named(run: Path, tmp_path: Path) -> None:
    runs = open_runs([run])
    with pytest.raises(
        InputError,
        match=r"--by domain: no report has such an attribute; there are: run, system, task, report, topic$",
    ):
        group_scores(runs, ["domain"])
    with pytest.raises(InputError, match="name one or more attributes, each once"):
        group_scores(runs, ["topic", "topic"])
    with pytest.raises(RunError, match=r"--score race:overall: no scores of 'race'; there are: fact"):
        group_scores(runs, ["topic"], wanted=["race:overall"])
    with pytest.raises(RunError, match=r"--score citation_accuracy/pooled/\*: nothing stands below it"):
        group_scores(runs, ["topic"], wanted=[f"{ACCURACY}/pooled/*"])
    both = open_runs([run, lrb_run(tmp_path / "lrb", 1, 2, 3)])
    with pytest.raises(RunError, match=r"--score nope: none of fact, liveresearchbench has such a score"):
        group_scores(both, ["system"], wanted=["nope"])
    with pytest.raises(InputError, match="given twice"):
        open_runs([run, run])


def test_scores_of_another_version_are_not_mixed_with_this_ones(run: Path) -> None:
    store = RunStore(run)
    rows = [
        json.loads(line) | {"version": "0"} for line in (run / "scores/fact.jsonl").read_text().splitlines()
    ]
    store.write_text("scores/fact.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    reseal_scores(store)
    with pytest.raises(RunError, match=r"scored by version 0 of fact, .* rescore"):
        group_scores(open_runs([run]), ["system"])


def test_attributes_of_a_file_go_before_those_of_the_run(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "attributes.jsonl"
    file.write_text(
        '{"id": "t-x", "prompt": "Why?", "topic": "Law", "tier": 2}\n{"system": "bo", "family": "single"}\n'
    )
    given = load_attributes(file)
    keys = list(groups_of(open_runs([run]), ["topic", "tier", "family"], given))
    # x is on law now; y has neither tier nor family; z and w are bo's.
    assert keys == [
        ("Law", "2", None),
        ("Law", None, None),
        ("Law", None, "single"),
        ("Health", None, "single"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"topic": "Law"}', "attributes need the `id` of a task or the name of a `system`"),
        ('{"id": 1}\n{"id": "1"}', "'1' appears twice"),
    ],
)
def test_a_file_of_attributes_that_is_wrong_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "attributes.jsonl"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        load_attributes(file)


def test_labels_are_counted_with_their_shares(run: Path) -> None:
    runs = open_runs([run])
    [support] = label_counts(runs, ["system"], groups_of(runs, ["system"]))
    assert support.kind == "fact: support"
    # ada: ssu and s. bo: uu, and a report without findings.
    assert [(row.key, row.counts, row.n, row.n_without) for row in support.groups] == [
        ({"system": "ada"}, {"supported": 3, "unsupported": 1}, 4, 0),
        ({"system": "bo"}, {"supported": 0, "unsupported": 2}, 2, 0),
    ]
    assert "ada │ 4 │ 3 (75.0%) │ 1 (25.0%)" in drawn(label_tables([support]))


def test_a_decision_without_an_answer_is_in_no_share(tmp_path: Path) -> None:
    runs = open_runs([fact_run(tmp_path / "run", [(record("a", "ada"), "sf")])])
    [support] = label_counts(runs, ["system"], groups_of(runs, ["system"]))
    assert [(row.n, row.n_without) for row in support.groups] == [(1, 1)]
    assert "no answer" in drawn(label_tables([support]))
