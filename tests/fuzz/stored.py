"""Run directories, sweeps and records received from others, in which values have been replaced.

Invariant: a changed file is sealed again, so that readers go on to its content; every command on it ends with a
documented exit code and at most one line, never as a defect.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import yaml
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from indexes.making.importing import import_pages
from local_judge.cli import main
from local_judge.demo.outcome import sample_folder
from local_judge.runs.execution.qualifications import load_qualification
from local_judge.runs.planning.calibrations import load_calibrations
from local_judge.runs.planning.run_file import RunFile, load_run_file
from local_judge.runs.storage.items import Index, digest_of, index_of, is_item_file
from local_judge.runs.storage.seal import content_digest, run_files
from local_judge.runs.storage.store import rendered
from local_judge.runs.sweeps.folder import SWEEP, earlier_in, ledger_in, runs_in
from serving.presets import load_preset
from tests.cli.conftest import REPORT
from tests.fuzz.mutation import json_changed
from tests.fuzz.settings import _ERRORS  # pyright: ignore[reportPrivateUsage]
from tests.fuzz.target import Target, assert_one_line, scratch, written
from tests.stub_server import StubPlan
from tests.stub_thread import StubThread, answer, write_preset

COMMANDS = tuple(
    tuple(line.split())
    for line in """\
show RUN
show RUN --claims
show RUN --cost
show RUN --json
report RUN --out OUT.html
audit RUN
bundle RUN --out OUT.ljz
export RUN OUT --format csv
rescore RUN
results diff RUN RUN
results rank RUN --score citation_accuracy
results stats length RUN
run RUNFILE --replay --out RUN --ledger LEDGER
show RUN --watch --once
""".splitlines()
)
CODES = (0, 1, 3, 4)
"""Documented exit codes: done, an error that the user can fix, answers are missing, something was not checked."""


def ended(*arguments: str) -> tuple[int, str]:
    """Run `local-judge` in this process; return its exit code and standard error."""
    before, err = sys.argv, io.StringIO()
    sys.argv = ["local-judge", *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        return int(end.code or 0), err.getvalue()
    finally:
        sys.argv = before
    raise AssertionError("the command line returned")


@functools.cache
def world() -> Path:
    """A folder with a finished run of one report, its run file and its snapshot."""
    folder = scratch() / "world"
    folder.mkdir()
    (folder / "mill.md").write_text(REPORT, encoding="utf-8")
    import_pages(sample_folder() / "pages", folder / "snapshot", workers=0)
    with StubThread(StubPlan(answer=answer)) as server:
        settings = {
            "reports": [str(folder / "mill.md")],
            "snapshot": str(folder / "snapshot"),
            "judges": [str(write_preset(folder))],
            "base_urls": [server.url],
            "protocols": ["fact", "deer"],
            "settings": {"deer": {"parts": ["verification"]}},
            "offline": False,
            "out": str(folder / "run"),
        }
        (folder / "run.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        code, said = ended("run", str(folder / "run.yaml"))
        assert code == 0, said
    return folder


def _names() -> list[str]:
    """Files whose values are replaced; the manifest as often as all others together."""
    names = [name for name in run_files(world() / "run") if name.endswith(".jsonl")]
    return [*names, *["manifest.json"] * len(names)]


@st.composite
def _changes(draw: DrawFn) -> bytes:
    """The name of a file, the number of one of its lines, and the value that replaces it."""
    name = draw(st.sampled_from(_names()))
    text = (world() / "run" / name).read_text(encoding="utf-8")
    lines = [text] if name == "manifest.json" else text.splitlines()
    number = draw(st.integers(0, len(lines) - 1))
    value = draw(json_changed(st.just(json.loads(lines[number]))))
    sealed = draw(st.sampled_from((True, True, True, False)))
    commands = draw(st.lists(st.integers(0, len(COMMANDS) - 1), min_size=3, max_size=3, unique=True))
    return json.dumps([name, number, value, sealed, commands]).encode()


def _check_run(data: bytes) -> None:
    try:
        name, number, value, sealed, commands = cast(
            "tuple[str, int, Any, bool, list[int]]", json.loads(data)
        )
    except ValueError:
        return
    root = scratch() / "changed"
    shutil.rmtree(root, ignore_errors=True)
    run = root / "run"
    shutil.copytree(world() / "run", run)
    line = json.dumps(value)
    if name == "manifest.json":
        (run / name).write_text(line)
    else:
        lines = (run / name).read_text(encoding="utf-8").splitlines()
        lines[number] = line
        (run / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    if sealed:
        _seal(run, name)
    for number in commands:
        _check(*COMMANDS[number], root=root)


def _seal(run: Path, name: str) -> None:
    manifest: Any = json.loads((run / "manifest.json").read_bytes())
    if is_item_file(name):
        (run / index_of(name)).write_bytes(Index.of(run / name).content)
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        manifest["seal"]["files"] = {one: digest_of((run / one).read_bytes()) for one in run_files(run)}
        manifest["seal"]["manifest"] = content_digest(manifest)
        (run / "manifest.json").write_bytes(rendered(manifest).encode("utf-8", "backslashreplace"))


def _check(*words: str, root: Path) -> None:
    for name in ("out", "out.html", "out.ljz"):
        path = root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    places = {
        "RUNFILE": str(world() / "run.yaml"),
        "RUN": str(root / "run"),
        "LEDGER": str(world() / "run/ledger.sqlite"),
        "OUT": str(root / "out"),
    }
    given = [places.get(word, word.replace("OUT", places["OUT"])) for word in words]
    code, said = ended(*given)
    assert code in CODES, f"{words}: exit {code}: {said[-500:]}"
    assert "Traceback" not in said and "\x1b" not in said, f"{words}: {said[-500:]}"
    assert code != 1 or not said or len(said.strip().splitlines()[-1]) < 2_000, said


def _changed(name: str, read: Callable[[Path], object], *valid: Any) -> Target:
    """Files of one JSON value, in which values have been replaced; JSON is YAML too."""

    def check(data: bytes) -> None:
        try:
            read(written(name, data))
        except _ERRORS as error:
            assert_one_line(error)

    values = json_changed(st.sampled_from(valid))
    return Target(name, values.map(lambda value: json.dumps(value).encode()), check, examples=150)


_DIGEST = "0" * 64
_IDENTITY = {"model": "m", "engine": "vllm", "options": {"dtype": "bfloat16"}}
_QUALITY = {"accuracy": 0.9, "threshold": 0.5, "auc": 0.9, "brier": 0.1, "ece": 0.05}
_CALIBRATION = {
    "identity": _IDENTITY,
    "question": "page",
    "prompt": _DIGEST,
    "language": "en",
    "method": "platt",
    "slope_yes": 1.0,
    "slope_no": 1.0,
    "intercept": 0.0,
    "threshold": 0.5,
    "objective": "accuracy",
    "n": 9,
    "n_true": 4,
    "n_pages": 3,
    "folds": 2,
    "seed": 1,
    "data": _DIGEST,
    "before": _QUALITY,
    "after": _QUALITY,
}
_RECORD = {
    "judge": "m",
    "identity": _IDENTITY,
    "scale": "quick",
    "parts": ["retest"],
    "thresholds": _DIGEST,
    "qualification": _DIGEST,
    "in_all": "deer: refused",
    "verdicts": [{"protocol": "deer", "verdict": "refused"}],
}
_QUALIFICATION = {
    **{name: _RECORD[name] for name in ("judge", "identity", "scale", "verdicts")},
    "format_version": 1,
    "record": _RECORD,
    "prompts": "",
    "asked": [{"part": "retest", "cost": None}],
}
_SWEEP = {"format_version": 1, "file_sha256": _DIGEST, "runs": ["stub"], "ledger": "ledger.sqlite"}
_PRESET = yaml.safe_load(
    (Path(__file__).parents[2] / "configs/judges/qwen3-8b.yaml").read_text(encoding="utf-8")
)


def _sweep(path: Path) -> object:
    folder = scratch() / "sweep"
    folder.mkdir(exist_ok=True)
    path = path.rename(folder / SWEEP)
    return runs_in(folder), earlier_in(folder), ledger_in(folder)


TARGETS = (
    Target("stored-runs", _changes(), _check_run, examples=25),
    _changed("stored-sweep", _sweep, _SWEEP),
    _changed("stored-calibrations", load_calibrations, {"calibrations": [_CALIBRATION]}),
    _changed("stored-qualification", load_qualification, _QUALIFICATION),
    _changed("stored-run-file", lambda path: load_run_file(path, {}), RunFile().model_dump(mode="json")),
    _changed("stored-preset", load_preset, _PRESET),
)
