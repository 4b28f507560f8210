from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from local_judge.base.model import Frozen
from local_judge.protocols.deer.export import NA, OthersFile, Sample, folder, read_file
from local_judge.protocols.deer.names import METRICS
from local_judge.protocols.deer.overall import Report, over_reports, score
from local_judge.protocols.deer.verification.rows import ClaimRow, PairRow, Rows

from ....originals import run_original
from ..rubric_cases import FS, RF, drawn, everywhere, findings, tied
from .result_files import AveragesFile, FactFile

DEER = Path(__file__).resolve().parents[4] / "../shared/originals/deer"
ORIGINAL = DEER / "run_score_integration.py"
SAMPLE = DEER / "output/csai/gpt5.2_fast"
needs_sample = pytest.mark.skipif(not SAMPLE.is_dir(), reason="no published sample is here")


def rows(n_supported: int) -> Rows:
    return Rows(
        claims=tuple(
            ClaimRow(
                id=f"L1.S{n}.1",
                type="A",
                pairs=(
                    PairRow(
                        url=f"https://{'ab'[n % 2]}.example",
                        outcome="supported" if n < n_supported else "not_supported",
                        reliable=True,
                    ),
                ),
            )
            for n in range(4)
        ),
        references=("https://a.example", "https://b.example"),
    )


def written(samples: dict[int, Sample]) -> dict[str, Any]:
    return cast("dict[str, Any]", folder(samples))


def test_the_files_of_two_reports(tmp_path: Path) -> None:
    files = written(
        {12: Sample(rows(2), findings(drawn(1))), 3: Sample(rows(4), findings(drawn(2)))},
    )
    models: dict[str, type[Frozen]] = {
        "fact/0003.json": FactFile,
        "others/0003.json": OthersFile,
        "fact/0012.json": FactFile,
        "others/0012.json": OthersFile,
        "fact/summary.json": AveragesFile,
        "others/summary.json": AveragesFile,
        "final/0003.json": AveragesFile,
        "final/0012.json": AveragesFile,
        "final.json": AveragesFile,
    }
    assert list(files) == list(models)
    for name, model in models.items():
        path = tmp_path / name.replace("/", "-")
        path.write_text(json.dumps(files[name]), encoding="utf-8")
        read_file(path, model)  # the shape that we read is the shape that we write


def test_a_reports_final_file_has_the_scores_of_the_upstream_profile() -> None:
    verified, rubric = rows(2), findings(drawn(1))
    final = written({1: Sample(verified, rubric)})["final/0001.json"]
    roots = {root.id: root.score.value for root in score([verified], [rubric], "upstream")}
    assert len(final["score_avgs"]) == 7
    assert final["score_avgs"] == {id: roots[id] for id in final["score_avgs"]}


def test_one_report_alone_is_its_own_mean() -> None:
    files = written({1: Sample(rows(2), findings(drawn(1)))})
    assert files["final.json"] == files["final/0001.json"]
    by_rule = files["fact/0001.json"]["criteria_avgs"]
    assert files["fact/summary.json"]["criteria_avgs"] == {
        f"information_{name}": by_rule[name] for name in by_rule
    }


def test_what_a_report_lacks_is_in_no_file() -> None:
    only_rubric = written({1: Sample(None, findings(everywhere(6)))})
    assert list(only_rubric) == ["others/0001.json", "others/summary.json", "final/0001.json", "final.json"]
    assert RF in only_rubric["final.json"]["score_avgs"] and len(only_rubric["final.json"]["score_avgs"]) == 5
    only_rows = written({1: Sample(rows(2), None)})
    assert list(only_rows) == ["fact/0001.json", "fact/summary.json", "final/0001.json", "final.json"]
    assert list(only_rows["final.json"]["score_avgs"]) == ["information_integrity", "information_sufficiency"]
    for nothing in (Sample(None, None), Sample(Rows(claims=()), None)):
        assert written({1: nothing}) == {}
    assert written({1: Sample(None, findings({(): 4}, mode="vanilla"))}) == {}


def test_the_mean_of_facts_is_of_rounded_subdimensions() -> None:
    files = written({1: Sample(rows(4), None), 2: Sample(rows(3), None), 3: Sample(rows(3), None)})
    parts = [files[f"fact/{n:04d}.json"]["criteria_avgs"]["integrity"]["claim_factuality"] for n in (1, 2, 3)]
    assert parts == [10.0, 7.5, 7.5]
    mean = files["final.json"]["criteria_avgs"]["information_integrity"]["claim_factuality"]
    assert (
        mean
        == files["fact/summary.json"]["criteria_avgs"]["information_integrity"]["claim_factuality"]
        == 8.33
    )


def mixed() -> dict[int, Sample]:
    """Reports with both parts, two with one only."""
    samples = {n: Sample(rows(n % 5), findings(drawn(n, failed=0.1 * (n % 3)))) for n in range(1, 6)}
    samples[6], samples[7] = Sample(rows(1), None), Sample(None, findings(drawn(7)))
    return samples


@pytest.mark.parametrize(
    "samples",
    [mixed(), {n: Sample(rows(n % 5), one) for n, one in enumerate(tied(), 1)}],
    ids=["mixed", "tied"],
)
def test_the_published_script_makes_the_same_summaries(samples: dict[int, Sample], tmp_path: Path) -> None:
    """The script reads `fact/` and `others/` and writes the summaries, `final/` and `final.json` anew."""
    files = written(samples)
    for name, data in files.items():
        if name.startswith(("fact/0", "others/0")):
            path = tmp_path / "output/run" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(data), encoding="utf-8")
    given = ["--prefix", "run", "--output_dir", tmp_path / "output", "--samples", f"1-{len(samples)}"]
    run_original(ORIGINAL, tmp_path, *given)
    for name in (
        "fact/summary.json",
        "others/summary.json",
        "final.json",
        *(f"final/{n:04d}.json" for n in samples),
    ):
        theirs = json.loads((tmp_path / "output/run" / name).read_text(encoding="utf-8"))
        if "information_sufficiency" not in files[name]["score_avgs"] and name.startswith("final"):
            # Without verification the script leaves an empty dimension, and ours leaves it out.
            assert theirs["criteria_avgs"].pop("information_integrity") == {}
            assert theirs["score_avgs"].pop("information_integrity") == "N/A"
        assert files[name] == theirs, name
    # A system's row in the profile `upstream` has the same numbers.
    final = json.loads((tmp_path / "output/run/final.json").read_text(encoding="utf-8"))
    ours = {root.id: root for root in over_reports([report(one) for one in samples.values()], 0)}
    assert {id: ours[id].score.value for id in final["score_avgs"]} == final["score_avgs"]
    named = {metric.part: metric.id for metric in METRICS if metric.part != "reference_quality"}
    for id, parts in final["criteria_avgs"].items():
        assert {child.id: child.score.value for child in ours[id].children} == {
            named.get(part, part): None if value == NA else value for part, value in parts.items()
        }


def report(sample: Sample) -> Report:
    return Report(
        [] if sample.rows is None else [sample.rows], [] if sample.rubric is None else [sample.rubric]
    )


def test_items_are_averaged_over_the_reports_before_dimensions() -> None:
    """Readability is C1-1 and Q2-1, two criteria. One report has (2, N/A), the other (8, 10).

    Of each report: 2 and 9, whose mean is 5.5. By items: C 5, Q 10, so 7.5.
    """

    def judged(c: Any, q: Any) -> Sample:
        base = (FS, "readability")
        return Sample(None, findings({(*base, "1", "C1-1"): c, (*base, "2", "Q2-1"): q}))

    one, other = judged(2, "N/A"), judged(8, 10)
    [root, overall] = over_reports([report(one), report(other)], 0)
    assert (root.id, root.score.value, root.score.low, root.score.high) == (FS, 7.5, 7.5, 7.5)
    assert overall.score.value == 7.5
    assert [score([], [one.rubric], "upstream")[0].score.value for one in (one, other) if one.rubric] == [
        2,
        9,
    ]
    # A report without findings may have 1 or 10 everywhere: C (2 + 8 + 1) / 3, Q (10 + 1) / 2, and likewise above.
    [root, _] = over_reports([report(one), report(other)], 1)
    assert (root.score.value, root.score.low, root.score.high) == (7.5, 4.58, 8.33)
    # So may an item that failed.
    [root, _] = over_reports([report(judged(2, "failed")), report(other)], 0)
    assert (root.score.value, root.score.low, root.score.high) == (7.5, 5.25, 7.5)


def test_a_system_has_no_row_by_rule_without_items() -> None:
    assert over_reports([report(Sample(None, findings({(): 4}, mode="vanilla")))], 0) == ()


@needs_sample
@pytest.mark.parametrize(
    "name", ["fact/summary.json", "others/summary.json", "final/0001.json", "final.json"]
)
def test_the_published_files_have_our_keys(name: str) -> None:
    read_file(SAMPLE / name, AveragesFile)
    theirs = json.loads((SAMPLE / name).read_text(encoding="utf-8"))
    ours = written({1: Sample(rows(2), findings(everywhere(6)))})[name]
    assert list(ours) == list(theirs)
    assert set(ours["criteria_avgs"]) == set(theirs["criteria_avgs"])


@pytest.mark.parametrize("failed", [0.0, 0.3])
def test_numbers_are_json(failed: float) -> None:
    files = written({1: Sample(rows(0), findings(drawn(5, failed=failed)))})
    assert json.loads(json.dumps(files, allow_nan=False)) == files
