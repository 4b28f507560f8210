"""A protocol from another package gets everything that a built-in one has, from one file."""

from __future__ import annotations

import ast
import csv
import importlib
import json
import shutil
import sys
import tokenize
from pathlib import Path

import pytest

from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError
from local_judge.cli import main
from local_judge.judge.judge import Judge
from local_judge.lab.qualification.config import load_qualify_config
from local_judge.lab.qualification.model import Figure
from local_judge.lab.qualification.thresholds import check, verdicts_of
from local_judge.protocols.base import load_protocol, protocol_names
from local_judge.reporting.formats import export_csv
from local_judge.reporting.verticals import verticals
from local_judge.runs.execution.execute import check_inputs, execute
from local_judge.runs.planning.config import RunConfig, settled
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.manifest import build_manifest
from local_judge.runs.storage.records import load_records, load_run_scores, load_scores
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore
from local_judge.tasks.model import Task
from serving.engines.scripted import Call, Reply

from ..scripted_judge import MakeJudge, believe

SOURCE = Path(__file__).parent / "plugin" / "house.py"
TASK = Task(id="mill", prompt="What did the retrofit connect?")
REPORT = b"""# The retrofit

It connected 1,240 dwellings [1]. A crowd came [1].

## References

[1] https://heat.example/fernholt/renewal
"""


def install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str = "house", value: str = "house:House"
) -> None:
    """Leave what an installer leaves of a package with one module and one entry point."""
    folder.mkdir()
    shutil.copy(SOURCE, folder / "house.py")
    info = folder / "house_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: house-rules\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[local_judge.protocols]\n{name} = {value}\n")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.delitem(sys.modules, "house", raising=False)
    importlib.invalidate_caches()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package, installed."""
    install(tmp_path / "site", monkeypatch)


def kept(call: Call) -> Reply:
    """A judge that finds the first rule kept and the second broken, and supports every claim."""
    if call.schema is not None and "answer" in call.schema["properties"]:
        return {
            key: {"quote": "A crowd came", "rationale": f"Of {key}.", "met": key == "answer"}
            for key in call.schema["properties"]
        }
    return believe(call)


async def evaluated(out: Path, judge: Judge, snapshot: Snapshot) -> RunStore:
    """A finished run of the protocol over one report that was read and one that cannot be."""
    store, config = RunStore(out), settled(RunConfig(protocols=("house",)))
    reports = [
        RawReport("a", REPORT, TASK, "a.md", "ada", TASK.id),
        RawReport("b", b"\n", TASK, "b.md", "ada", TASK.id),
    ]
    check_inputs(reports, snapshot, [load_protocol("house")])
    manifest = await build_manifest(config, {"judge": judge}, reports, snapshot.digest, {})
    store.write_json("manifest.json", manifest)
    await execute(reports, judge, snapshot, config, store)
    seal_run(store)
    return store


@pytest.mark.usefixtures("house")
async def test_it_is_judged_scored_shown_and_exported(
    make_judge: MakeJudge,
    snapshot: Snapshot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    judge, _ = make_judge(kept)
    store = await evaluated(tmp_path / "run", judge, snapshot)
    records, scores = load_records(store), load_scores(store, ("house",))
    [row] = scores
    assert (row.case, row.version, row.profile) == ("a", "1", "paper")
    assert {root.id: root.score.value for root in row.scores} == {"style": 50, "support": 100}
    assert {child.id: child.score.value for child in row.scores[0].children} == {"answer": 100, "short": 0}

    found = verticals(records, scores, "paper", load_run_scores(store, ("house",)))
    assert [(one.path, one.vertical, one.normalised, one.n_failed) for one in found.metrics] == [
        (("style",), "presentation", 50, 1),
        (("support",), "sources", 100, 1),
    ]

    export_csv(store, tmp_path / "csv")
    with (tmp_path / "csv" / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = {(one["report"], one["path"]): one["value"] for one in csv.DictReader(file)}
    assert (float(rows["a", "style"]), float(rows["a", "support"])) == (50, 100)

    def printed(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["local-judge", "show", str(store.root), *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main()
        return capsys.readouterr().out

    assert "House style" in printed() and "Supported claims" in printed()
    shown = printed("--report", "a", "--items")
    for text in ("style: 1 met, 1 unmet", "support: 2 of 2 claims", "No sentence has more", "Of short."):
        assert text in shown
    assert json.loads(printed("--report", "a", "--items", "--json"))["house"]["support"]["judged"] == 2


@pytest.mark.usefixtures("house")
def test_it_has_settings_and_says_what_it_needs() -> None:
    assert "house" in protocol_names()
    whole = load_protocol("house")
    assert whole.needs_claims and "--tasks" in (whole.missing_inputs(None) or "")
    chosen = load_protocol("house", {"parts": "style"})
    assert (chosen.needs_claims, chosen.missing_inputs(TASK)) == (False, None)
    with pytest.raises(ConfigError, match=r"settings\.house\.tone: unknown setting"):
        load_protocol("house", {"tone": 1})


@pytest.mark.usefixtures("house")
def test_a_judge_is_qualified_for_it(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "thresholds: {house: {figure: verification/auc/raw, least: 0.8, protocols: [house], "
        "severity: refuse, means: cannot tell true claims from false}}"
    )
    config = load_qualify_config("quick", own, None)
    figure = Figure(id="verification/auc/raw", value=0.7, n=100)
    checks = check({"house": config.thresholds["house"]}, [figure], ("verification",))
    [verdict] = verdicts_of(checks)
    assert (verdict.protocol, verdict.verdict) == ("house", "refused")


def test_it_is_one_file_of_less_than_sixty_lines_of_code() -> None:
    """Without imports, docstrings, comments and blank lines."""
    text = SOURCE.read_text(encoding="utf-8")
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        if is_import or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    layout = {
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.COMMENT,
        tokenize.ENDMARKER,
    }
    with SOURCE.open(encoding="utf-8") as file:
        lines = {
            line
            for token in tokenize.generate_tokens(file.readline)
            if token.type not in layout
            for line in range(token.start[0], token.end[0] + 1)
        }
    assert len(lines - left_out) < 60


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("absent", "no_such_module:House", r"protocol 'absent': no_such_module:House cannot be imported"),
        ("absent", "house:Hut", r"protocol 'absent': house:Hut cannot be imported"),
        ("other", "house:House", r"protocol 'other': house:House has the name 'house'; register it as that"),
    ],
)
def test_a_faulty_package_ends_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    install(tmp_path / "site", monkeypatch, name, value)
    with pytest.raises(ConfigError, match=message):
        load_protocol(name)
