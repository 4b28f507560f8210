"""The runner of golden vectors, on small files and on the real ones."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from local_judge.protocols.deer.files import fact_file
from local_judge.protocols.deer.names import METRICS, STEPS
from local_judge.protocols.deer.overall import score
from local_judge.protocols.deer.rubric import model
from local_judge.protocols.deer.rubric import upstream as rubric
from local_judge.protocols.deer.verification import upstream
from local_judge.protocols.deer.verification.rows import rows_of
from local_judge.protocols.fact import export
from local_judge.protocols.race import upstream as race
from tests import golden
from tests.golden import deer_reading as labels
from tests.golden.compare import differences
from tests.golden.deer_pipeline import case_of, published
from tests.protocols.test_unread import drawn

ORIGINALS = Path(__file__).parents[1] / "../shared/originals"
FIXTURES = Path(__file__).parents[1] / "../shared/fixtures"
needs_fixtures = pytest.mark.skipif(not FIXTURES.exists(), reason="golden vectors are not here")

REFS: dict[str, Any] = {"in": "[1] T https://a.com", "out": {"1": "https://a.com"}}
BACKTRACK: dict[str, Any] = {
    "in": [["L1.S1", "B", [], [], []]],
    "out": [["L1.S1", "D", [], [], []]],
}


def write(folder: Path, content: object) -> str:
    path = folder / "vectors.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


@needs_fixtures
def test_deer(capsys: pytest.CaptureFixture[str]) -> None:
    assert golden.main([str(FIXTURES / "deer.json")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "metrics 81/81",
        "rubric 40/40",
        "integration 15/15",
        "backtrack 100/100",
        "refs 6/6",
        "labels 4/4",
    ]


@needs_fixtures
def test_fact(capsys: pytest.CaptureFixture[str]) -> None:
    assert golden.main([str(FIXTURES / "fact.json")]) == 0
    assert capsys.readouterr().out.splitlines() == ["cases (fact) 3/3"]


@needs_fixtures
@pytest.mark.parametrize(("name", "value"), [("SUPPORTED", "Supported"), ("UNKNOWN", "Unknown")])
def test_one_changed_label_of_fact_is_seen(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(export, name, value)
    assert golden.main([str(FIXTURES / "fact.json")]) == 1
    assert "cases (fact) 3/3" not in capsys.readouterr().out


@needs_fixtures
def test_race(capsys: pytest.CaptureFixture[str]) -> None:
    assert golden.main([str(FIXTURES / "race.json")]) == 0
    assert capsys.readouterr().out.splitlines() == ["race 3/3"]


def mean_of_all(name: str, weights: Mapping[str, float]) -> float:
    """No name is taken for a criterion that resembles it."""
    return weights[name] if name in weights else sum(weights.values()) / len(weights)


def share_of_ten(target: float, reference: float) -> float:
    """A score without the reference's."""
    return target / 10


RACE_MUTATIONS: list[tuple[str, object]] = [
    ("weight_of", mean_of_all),
    ("SUFFIX", "_avg"),
    ("share", share_of_ten),
    ("DIMENSIONS", ("comprehensiveness", "insight")),
]


@needs_fixtures
@pytest.mark.parametrize(("name", "value"), RACE_MUTATIONS)
def test_one_change_of_race_is_seen(
    name: str, value: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(race, name, value)
    assert golden.main([str(FIXTURES / "race.json")]) == 1
    assert not capsys.readouterr().out.startswith("race 3/3")


@needs_fixtures
@pytest.mark.parametrize(
    "place", [("upstream_fact_result", "valid_rate"), ("paper_appendix_E", "c_acc_macro")]
)
def test_one_changed_number_of_fact_is_seen(
    place: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = json.loads((FIXTURES / "fact.json").read_text(encoding="utf-8"))["cases"][0]
    case[place[0]][place[1]] += 1e-9
    assert golden.main([write(tmp_path, {"cases": [case]})]) == 1
    assert capsys.readouterr().out.splitlines()[0] == "cases (fact) 0/1"


@needs_fixtures
@pytest.mark.parametrize(
    "path",
    [
        ("target", "dims", "insight_weighted_avg"),
        ("reference", "total"),
        ("row", "overall_score"),
    ],
)
def test_a_change_of_race_beyond_rounding_is_seen(path: tuple[str, ...], tmp_path: Path) -> None:
    for case in json.loads((FIXTURES / "race.json").read_text(encoding="utf-8")):
        place = case["upstream_scores"]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = place[path[-1]] * (1 + 1e-11) + 1e-11
        assert golden.main([write(tmp_path, [case])]) == 1


LRB = FIXTURES / "liveresearchbench_deepresearcheval.json"


@needs_fixtures
def test_liveresearchbench(capsys: pytest.CaptureFixture[str]) -> None:
    assert golden.main([str(LRB)]) == 0
    names = [case["name"] for case in json.loads(LRB.read_text(encoding="utf-8"))]
    assert capsys.readouterr().out.splitlines() == [
        f"{name} ({'LiveResearchBench' if name.startswith('lrb_') else 'DeepResearchEval'}) 1/1"
        for name in names
    ]


@needs_fixtures
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("lrb_issue_count_to_score", (21,)),
        ("lrb_pointwise_no_recompute", (0, "score")),
        ("lrb_coverage_average", (0, "percentage_addressed")),
        ("lrb_summary_means", ("overall_results", "presentation", "mean")),
        ("lrb_two_judge_average", ("m1", "depth", "win_rate")),
        ("lrb_win_rate_ties_excluded", ("results_by_model", "m1", "depth", "win_rate")),
        ("dre_weight_parsing", (0, "weights", "coverage")),
        ("dre_weighted_quality", (3, "final_scores", "total_weighted_score")),
        ("dre_run_summary", ("models", "m", "meta_avg")),
    ],
)
def test_a_change_of_liveresearchbench_beyond_rounding_is_seen(
    name: str, path: tuple[Any, ...], tmp_path: Path
) -> None:
    case = lrb_case(name)
    place = case["upstream_output"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = place[path[-1]] * (1 + 1e-11) + 1e-11
    assert golden.main([write(tmp_path, [case])]) == 1


def lrb_case(name: str) -> dict[str, Any]:
    cases = json.loads(LRB.read_text(encoding="utf-8"))
    return next(case for case in cases if case["name"] == name)


@needs_fixtures
@pytest.mark.parametrize(
    ("name", "path", "changed"),
    [
        ("dre_fact_merge", (3, "verification"), "Right"),  # labels are not made alike
        ("dre_task_filters", ("qualification_kept", 3), False),  # the text "false" is true
        ("dre_task_filters", ("search_necessity_kept", 1), False),  # "Medium"
        ("dre_ratio_paper_table4", (0,), 58.9),  # more than the rounding of the table's columns leaves
    ],
)
def test_a_change_of_checked_facts_is_seen(
    name: str, path: tuple[Any, ...], changed: object, tmp_path: Path
) -> None:
    case = lrb_case(name)
    place = case["upstream_output"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = changed
    assert golden.main([write(tmp_path, [case])]) == 1


def test_cases_of_single_functions_make_lists_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"checklists": ["a", "b"], "evaluations": [{"q1": {"score": 1}}]}
    summary = {
        "total_checklists": 2,
        "total_score": 1,
        "addressed_count": 1,
        "not_addressed_count": 1,
        "percentage_addressed": 50.0,
    }
    one = {"name": "lrb_coverage_average", "function": "f", "input": given, "upstream_output": [summary]}
    twelve = {f"p{n}": {"score": 1} for n in range(1, 13)}  # keys that nobody asked for count, as published
    overfull = {
        "total_criteria": 10,
        "total_score": 12,
        "passed_count": 12,
        "failed_count": -2,
        "average_pass_rate": 120.0,
    }
    other = {
        "name": "lrb_presentation_average",
        "function": "g",
        "input": {"evaluations": [twelve]},
        "upstream_output": [overfull],
    }
    assert golden.main([write(tmp_path, [one, other, one])]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "lrb_coverage_average (LiveResearchBench) 2/2",
        "lrb_presentation_average (LiveResearchBench) 1/1",
    ]


@needs_fixtures
def test_one_digit_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = copy.deepcopy(json.loads((FIXTURES / "deer.json").read_text(encoding="utf-8"))["metrics"][30])
    hhi = case["out"]["integrity"]["reference_diversity"]["diversity_hhi"]
    case["out"]["integrity"]["reference_diversity"]["diversity_hhi"] = hhi + 1e-11
    assert golden.main([write(tmp_path, {"metrics": [case]})]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "metrics 0/1"
    path = "metrics[0].integrity.reference_diversity.diversity_hhi"
    assert out[1] == f"  {path}: expected {hhi + 1e-11!r}, got {hhi!r}"


@needs_fixtures
def test_the_last_bit_of_a_float_is_not_looked_at(tmp_path: Path) -> None:
    """Sums in another order differ there: the comparison is to 1e-12, relative."""
    case = copy.deepcopy(json.loads((FIXTURES / "deer.json").read_text(encoding="utf-8"))["metrics"][30])
    diversity = case["out"]["integrity"]["reference_diversity"]
    diversity["diversity_hhi"] = math.nextafter(diversity["diversity_hhi"], math.inf)
    assert golden.main([write(tmp_path, {"metrics": [case]})]) == 0


def test_a_rounded_value_matches_exactly() -> None:
    """3.31 and the unrounded sum that lies one bit beside it."""
    beside = math.nextafter(3.31, math.inf)
    assert list(differences("", 3.31, beside)) == [("", 3.31, beside)]
    assert list(differences("", 1 / 3, math.nextafter(1 / 3, math.inf))) == []


def test_mismatches_name_their_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refs: dict[str, Any] = {**REFS, "out": {"1": "https://b.com", "2": "https://c.com"}}
    back: dict[str, Any] = {**BACKTRACK, "out": [["L1.S1", "B", [], ["3"], []], ["L2.S1", "A", [], [], []]]}
    assert golden.main([write(tmp_path, {"first": [REFS, refs], "second": [back]})]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "first (refs) 1/2",
        '  first[1].1: expected "https://b.com", got "https://a.com"',
        '  first[1].2: expected "https://c.com", got nothing',
        "second (backtrack) 0/1",
        '  second[0][0][1]: expected "B", got "D"',
        '  second[0][0][3][0]: expected "3", got nothing',
        '  second[0][1]: expected ["L2.S1", "A", [], [], []], got nothing',
    ]


def test_long_lists_of_mismatches_are_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"in": "", "out": {"1": "x"}}
    assert golden.main([write(tmp_path, [wrong] * 25)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 1 + golden.MAX_PRINTED + 1
    assert out[-1] == "  and 5 more"


def test_bare_list_takes_the_files_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert golden.main([write(tmp_path, [BACKTRACK])]) == 0
    assert capsys.readouterr().out == "vectors (backtrack) 1/1\n"


def test_an_unknown_shape_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert golden.main([write(tmp_path, {"about": "text", "new": [{"x": 1}], "refs": [REFS]})]) == 1
    assert capsys.readouterr().out.splitlines() == ["new: 1 cases of an unknown shape", "refs 1/1"]
    beside = {"counts": [1, 2], "table": {"m1": {"mean": 0.5}}, "total": 3}
    assert golden.main([write(tmp_path, {"about": "text", "refs": [REFS], **beside})]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "refs 1/1",
        *(f"{name}: 1 cases of an unknown shape" for name in beside),
    ]
    case: dict[str, Any] = {"name": "lrb_new_function", "function": "f", "input": {}, "upstream_output": 1}
    assert golden.main([write(tmp_path, [case])]) == 1


def test_a_case_with_more_than_is_compared_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert golden.main([write(tmp_path, {"refs": [{**REFS, "out_of_another_version": 1}]})]) == 1
    assert capsys.readouterr().out == "refs: 1 cases of an unknown shape\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ('"text"', "no list of cases"),
        ('{"about": "text", "versions": {"scipy": "1.17.1"}}', "no list of cases"),
        ('{"a": []}', "a is an empty list"),
        ('{"a": [{"in": "", "out": {}}, 5]}', "a[1] is no case, as others of the list are"),
        ('{"b": [{"in": [["L1.S1", "B"]], "out": []}]}', "b[0]: not a case of backtrack"),
        ('{"b": [{"in": [["?", "B", [], [], []]], "out": []}]}', "sentence label: '?'"),
        ('{"r": [{"in": "", "out": {}}, {"in": ""}]}', "r[1]: not a case of refs, as others of the list are"),
        (
            '{"f": [{"validated": [{"id": 1}], "upstream_fact_result": {}}]}',
            "validated[0]: citations is missing",
        ),
        ('{"m": [{"in": {"claims": [{}], "references": {}}, "out": {}}]}', "m[0]: not a case of metrics"),
    ],
)
def test_bad_files_are_one_line(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    assert golden.main([str(path)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_bytes_that_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(b"\xff\xfe\x00")
    assert golden.main([str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert golden.main([str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path / 'none.json'}: No such file or directory\n"


def unchanged(value: float | None) -> float | None:
    return value


MUTATIONS: list[tuple[object, str, object, str]] = [
    (rubric, "QUALITY_METRICS", 1, "integration"),
    (rubric, "rounded", unchanged, "rubric"),
    (rubric, "rounded_mean", rubric.mean, "integration"),
    (model, "KINDS", {"C": "coverage", "Q": "coverage"}, "rubric"),
    (model, "KINDS", {"C": "coverage", "Q": "coverage"}, "integration"),
    (upstream, "STEPS", STEPS | {"information": 14}, "metrics"),
    (labels, "STOP_BLOCKS", frozenset({"## References"}), "labels"),
    (labels, "ABBREVIATIONS", labels.ABBREVIATIONS | {"fig"}, "labels"),
    (labels, "ABBREVIATIONS", labels.ABBREVIATIONS - {"dr"}, "labels"),
]


@needs_fixtures
@pytest.mark.parametrize(("module", "name", "value", "shape"), MUTATIONS)
def test_one_changed_constant_is_seen(
    module: object,
    name: str,
    value: object,
    shape: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cases = json.loads((FIXTURES / "deer.json").read_text(encoding="utf-8"))[shape]
    monkeypatch.setattr(module, name, value)
    assert golden.main([write(tmp_path, {shape: cases})]) == 1
    passed = int(capsys.readouterr().out.split()[1].partition("/")[0])
    assert passed < len(cases)


@needs_fixtures
@pytest.mark.parametrize(
    ("shape", "path", "expected"),
    [
        ("rubric", ("criteria_avgs", "request_fulfillment", "scope"), 9.99),
        ("rubric", ("score",), 9.99),
        ("integration", ("final", "score_avgs", "format_style"), 9.99),
        (
            "integration",
            ("per_sample", 0, "criteria_avgs", "information_integrity", "reference_quality"),
            9.99,
        ),
        ("labels", ("sents", "2"), ["One. Two [1]."]),
    ],
)
def test_one_changed_number_of_each_shape_is_seen(
    shape: str, path: tuple[Any, ...], expected: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = json.loads((FIXTURES / "deer.json").read_text(encoding="utf-8"))[shape][0]
    place = case
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = expected
    assert golden.main([write(tmp_path, {shape: [case]})]) == 1
    assert capsys.readouterr().out.splitlines()[0] == f"{shape} 0/1"


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, dict[str, Any]]]:
    """Seeds of drawn reports with what DEER's published pipeline makes of the complete ones."""
    # Not 17, whose diversity is 9.375: the order of a sum decides how that is rounded.
    seeds = [seed for seed in range(40) if seed != 17 and drawn(seed, "a")[0].claims.claims]
    cases = [case_of(whole.claims, whole.document) for whole, _ in (drawn(seed, "a") for seed in seeds)]
    return list(
        zip(seeds, published(cases, ORIGINALS / "deer", tmp_path_factory.mktemp("deer")), strict=True)
    )


def test_upstream_of_one_extraction_is_the_published_pipeline(
    pipeline: list[tuple[int, dict[str, Any]]],
) -> None:
    """From the judge's types, support and verdicts alone: back-tracking, equal claims, metrics, the exported file."""
    merged = moved = 0
    for seed, theirs in pipeline:
        whole, _ = drawn(seed, "a")
        rows = rows_of(whole.claims, whole.document)
        ours = fact_file(rows.by_code, 1)
        for found in (ours, theirs):
            for name in ("supported_references", "used_references", "error_references"):
                metrics = cast("Any", found)["raw"]["raw"]["reference_metrics"]
                metrics[name] = sorted(metrics[name])  # sets in the code
        assert list(differences(f"seed {seed}", theirs, json.loads(json.dumps(ours)))) == []
        scores = {
            path[-1]: node.score.value
            for root in score([rows], [], "upstream")
            for path, node in root.walk()
            if not node.children
        }
        # Its URLs have no order, so that sums may differ in the last bit.
        stated = {one.id: theirs["scores"][one.dimension][one.part][one.name] for one in METRICS}
        assert list(differences(f"seed {seed}", stated, scores)) == []
        merged += len(rows.by_code.claims) < len(rows.claims)
        moved += {one.id: one.pairs for one in rows.claims} != {
            one.id: one.pairs for one in rows.by_code.claims
        }
    assert len(pipeline) > 30 and merged > 20 and moved > 20


def test_the_published_pipeline_on_all_sentences_lies_within_the_bounds_of_some(
    pipeline: list[tuple[int, dict[str, Any]]],
) -> None:
    """Sentences that were not read, pages that were not fetched, and verdicts that failed."""
    for seed, theirs in pipeline:
        _, part = drawn(seed, "a")
        for root in score([rows_of(part.claims, part.document)], [], "upstream"):
            complete = theirs["score_avgs"][root.id.removeprefix("information_")]
            assert root.score.low is not None and root.score.high is not None
            assert root.score.low <= complete <= root.score.high, (seed, root.id)
