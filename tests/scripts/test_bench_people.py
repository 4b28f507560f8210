"""`scripts/bench_people` on three small sets."""

from __future__ import annotations

import gzip
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from local_judge.lab.verifier_benchmark.measure import SetFigures
from local_judge.stats.calibration.assess import Assessment, Settings, assess
from local_judge.stats.calibration.fitting import OutOfFold
from local_judge.stats.calibration.measures import Judged
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer, leaning, write_preset

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def bench(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "bench_people"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = str(ROOT / "scripts" / "bench_people")
    loader = importlib.machinery.SourceFileLoader("bench_people", path)
    spec = importlib.util.spec_from_loader("bench_people", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def sets(folder: Path) -> Path:
    for name in ("wice", "expertqa", "factcheck"):
        rows: list[dict[str, object]] = []
        for year in range(1901, 1909):
            claim = f"The mill of {name} was built in {year}."
            text = f"{claim} It ground rye."
            proof = {"supporting": [[claim]]} if name == "wice" else {}
            rows.append({"claim": claim, "evidence": text, "label": "supported", **proof})
            rows.append(
                {"claim": f"Someone owned a boat in {year}.", "evidence": text, "label": "unsupported"}
            )
        rows.append(
            {"claim": "It ground oats.", "evidence": f"The mill of {name} ground rye.", "label": "partial"}
        )
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    return folder


def test_the_floor_and_the_evidence_need_no_judge(tmp_path: Path) -> None:
    ended = bench("--data", sets(tmp_path), "--json", "--draws", 10)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    # All words of the first claim are in the text, and not all of the others.
    floor = found["floor"]["sets"]
    assert [one["figures"]["auc"]["value"] for one in floor] == [1.0] * 3
    # Eight pairs and a partial claim, which counts in WiCE only. In the order of the targets.
    assert [(one["figures"]["n"], one["left_out"]) for one in floor] == [(17, 0), (16, 1), (16, 1)]
    # The one sentence that proves the claim is in the evidence and is the nearest one.
    assert {(one["sentence_recall"], one["first"]["value"]) for one in found["evidence"]} == {(1.0, 1.0)}


def test_missing_sets_are_one_line(tmp_path: Path) -> None:
    ended = bench("--data", tmp_path / "none")
    assert ended.returncode == 1 and ended.stdout == ""
    assert ended.stderr.startswith("error: ") and ended.stderr.count("\n") == 1


def given(monkeypatch: pytest.MonkeyPatch, folder: Path, *words: object) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["bench_people", "--data", str(sets(folder)), *map(str, words)])


def test_tables_give_the_number_of_claims_behind_the_figures(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given(monkeypatch, tmp_path, "--draws", 0)
    assert script.main() == 0
    found = capsys.readouterr().out
    assert "| Factcheck-Bench, 16 claims, 1 partial left out | word overlap |" in found
    assert "| WiCE, 17 claims | word overlap |" in found
    # Other words than the page's: the supported claims of the packaged set have fewer of its words than the others.
    assert "| word overlap, threshold 0.5, since none can be fitted |" in found


def test_a_sample_is_of_the_verdicts_and_not_of_the_floor(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given(monkeypatch, tmp_path, "--draws", 0, "--sample", 8)
    assert script.main() == 0
    found = capsys.readouterr().out
    assert "| WiCE, 8 claims | word overlap |" in found
    assert "| WiCE | 17 claims | 1.000 | 1.000 | 0.69 |" in found


def test_figures_and_calls_are_those_of_the_command(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    judge = ["--judge", write_preset(tmp_path), "--ledger", tmp_path / "replies.sqlite"]
    with StubThread(StubPlan(answer=answer, alternatives=leaning)) as server:
        judge += ["--base-url", server.url]
        given(monkeypatch, tmp_path, "--draws", 10, "--json", *judge)
        assert script.main() == 0
        found, calls = json.loads(capsys.readouterr().out), len(server.chats)
        files = [tmp_path / f"{name}.jsonl.gz" for name in script.TARGETS]
        words = [
            *files,
            *judge,
            "--verifier",
            script.VERIFIER,
            "--calibrate-with",
            "sample",
            "--resamples",
            10,
        ]
        command = [sys.executable, "-m", "local_judge", "lab", "benchmark-verifier", *words, "--json"]
        ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT, check=False)
        assert ended.returncode == 0, ended.stderr
        assert len(server.chats) == calls
    theirs: dict[str, list[dict[str, object]]] = {verifier: [] for verifier in found["verifiers"]}
    for one in json.loads(ended.stdout)["figures"]:
        theirs[one["verifier"]].append(one)
    ours = {verifier: one["partial_as_unsupported"] for verifier, one in found["verifiers"].items()}
    assert ours == theirs and set(ours) == {script.VERIFIER, script.OVERLAP}
    # Without the claims in other words, only the fit on the others changes.
    alone = found["verifiers"][script.VERIFIER]["fitted_without_other_words"]
    with_them = found["verifiers"][script.VERIFIER]["sets"]
    assert alone != with_them
    fits = ("transferred", "why_not_transferred")
    assert [{**one, **dict.fromkeys(fits)} for one in alone] == [
        {**one, **dict.fromkeys(fits)} for one in with_them
    ]


def test_other_ways_to_ask_are_one_row_each(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    judge = ["--judge", write_preset(tmp_path), "--ledger", tmp_path / "replies.sqlite"]
    with StubThread(StubPlan(answer=answer, alternatives=leaning)) as server:
        given(monkeypatch, tmp_path, "--draws", 0, *judge, "--base-url", server.url, "--ways")
        with pytest.raises(SystemExit, match="3"):  # some verdicts are missing
            script.main()
    _, title, rows = capsys.readouterr().out.partition("Other ways to ask: AUC")
    ways = [line.split(" | ") for line in rows.splitlines() if line.startswith("| ")][1:]
    assert title and [cells[0].removeprefix("| ") for cells in ways] == ["contrast", *script.WAYS]
    by_name = {cells[0].removeprefix("| "): cells[1:4] for cells in ways}
    # The judge leans to yes where the page has a claim's words, which is the supported claims.
    assert by_name["does the text support the claim"] == ["1.000"] * 3
    # It knows no other answers than Yes and No.
    assert by_name["supported, unsupported or unknown"] == ["–, 17 failed"] * 3


def calling(supported: list[bool], others: list[bool]) -> Assessment:
    """Figures of a verifier by its calls of supported and of other claims."""
    judged = [Judged(true, 0.5, "a") for true, calls in ((True, supported), (False, others)) for _ in calls]
    return assess(OutOfFold(judged, [*supported, *others], [0.5], []), Settings(draws=0))


@pytest.mark.parametrize(
    ("others", "row"),
    [
        # All claims are called supported: balanced accuracy (1 + 0) / 2.
        ([True] * 4, "| near | 0.500 | 0.500 | 0.000 | – | – |"),
        ([False] * 4, "| near | 0.500 | 1.000 ✓ | 0.000 ✓ | – | – |"),
    ],
)
def test_calling_everything_supported_gets_no_tick(
    script: ModuleType, capsys: pytest.CaptureFixture[str], others: list[bool], row: str
) -> None:
    found = calling([True] * 4, others)
    by_set = {
        name: SetFigures(
            set=name, verifier="near", n=8, left_out=0, failed=0, unread=0, figures=found, transferred=found
        )
        for name in script.TARGETS
    }
    one = script.Measured(by_set, by_set, by_set, by_set["wice"], {})
    script.print_all(one, {"near": one}, [])
    assert capsys.readouterr().out.count(row) == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--judge", "nosuch"], "nosuch"),
        (["--judge", "qwen3-14b", "--base-url", "http://127.0.0.1:9/v1"], "127.0.0.1:9"),
        (["--sample", 0], "--sample 0: at least 1"),
        (["--sample", -3], "--sample -3: at least 1"),
        (["--draws", -1], "--draws -1: at least 0"),
        (["--verifier", "near"], "need a judge; name it with --judge"),
        (["--ways"], "need a judge; name it with --judge"),
    ],
)
def test_wrong_arguments_are_one_line(
    script: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    words: list[object],
    says: str,
) -> None:
    given(monkeypatch, tmp_path, *words)
    with pytest.raises(SystemExit) as ended:
        script.main()
    line = str(ended.value.code)
    assert line.startswith("error: ") and says in line and "\n" not in line
    # Replies go into a file that the next command finds.
    stored = "replies are stored in bench_people.qwen3-14b.sqlite\n" if "--base-url" in words else ""
    assert capsys.readouterr() == ("", stored)
