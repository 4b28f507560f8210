"""The Python interface: the runs and the numbers of the command line, as data frames."""

from __future__ import annotations

import asyncio
import doctest
import html
import inspect
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd
import pytest

import local_judge as lj
from local_judge import api
from local_judge.api import RunOptions, _finish  # pyright: ignore[reportPrivateUsage]
from local_judge.base.errors import ConfigError, RunError
from local_judge.ledger.errors import LedgerError
from local_judge.protocols.base import load_protocol, protocol_names
from local_judge.runs.planning.config import OPTION_NAMES
from local_judge.runs.planning.run_file import RunFile
from local_judge.runs.results.tables import COLUMNS
from local_judge.scoring.node import Score
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer, leaning
from ..waiting import SECONDS, until
from .conftest import REPORT, ROOT, Command

HOSTILE = '<img src=x onerror=alert(1)>\x1b[31m\u202e"'


@pytest.fixture
def given(snapshot: Path, server: StubThread, preset: Path, tmp_path: Path) -> dict[str, Any]:
    """What every run of these tests is given."""
    return {
        "judge": preset,
        "base_url": server.url,
        "snapshot": snapshot,
        "protocols": ["deer", "fact"],
        "settings": {"deer": {"parts": ["verification"]}},
        "out": tmp_path / "run",
        "progress": False,
    }


def changed(given: dict[str, Any], **values: Any) -> dict[str, Any]:
    return {**given, **values}


def test_a_run_has_the_numbers_of_the_command_line(
    command: Command, report: Path, given: dict[str, Any], tmp_path: Path
) -> None:
    run = lj.evaluate(report, **given)
    shown = json.loads(command("show", given["out"], "--json", "--claims").out)
    expected = {
        (row["protocol"], root["id"]): root["score"]
        for row in shown["scores"]
        if row["profile"] == "paper"
        for root in row["scores"]
    }
    scores = run.scores()
    roots = scores[~scores["path"].str.contains("/")]
    assert len(expected) == len(roots) > 4
    for row in roots.to_dict("records"):
        score = expected[row["protocol"], row["path"]]
        for name, value in score.items():
            assert value is None or row[name] == value, name
        assert pd.isna(row["value"]) or row["low"] <= row["value"] <= row["high"]
    assert run.records("systems") == [row for row in shown["systems"] if row["profile"] == "paper"]
    claims = run.claims()
    assert claims["text"].tolist() == [claim["text"] for claim in shown["claims"]["claims"]]
    assert claims["quotation"].tolist() == [one["quote"]["text"] for one in shown["claims"]["verdicts"]]
    assert claims["judge"].tolist() == ["stub", "stub"] and claims["confidence"].isna().all()
    assert run.systems(profile="upstream").set_index("path")["value"].notna().any()
    assert run.items()["protocol"].unique().tolist() == ["fact"]


def test_the_same_call_asks_for_nothing_again(
    report: Path, given: dict[str, Any], server: StubThread
) -> None:
    lj.evaluate(report, **given)
    asked = len(server.chats)
    run = lj.evaluate(report, **given)
    assert len(server.chats) == asked == len(run.calls())
    key = run.claims()["replies"][0][0]
    calls = run.calls().set_index("key")
    assert str(calls.loc[key, "reply"]) == run.call(key).reply.text
    assert run.scores().query("path == 'citation_accuracy'")["value"].tolist() == [1.0]
    assert run.call(key).messages[-1].content.endswith(str(calls.loc[key, "question"]))
    with pytest.raises(KeyError):
        run.call("0" * 64)


def test_every_key_of_a_run_file_is_a_parameter() -> None:
    named = {
        "reports",
        "judge",
        "base_url",
        "out",
        "snapshot",
        "protocols",
        "tasks",
        "settings",
        "limit",
        "ledger",
    }
    parameters = inspect.signature(lj.evaluate).parameters.keys()
    assert named == parameters - {"progress", "allow_preset_code", "options"}
    renamed = {option: key for key, option in OPTION_NAMES.items()}
    keys = {renamed.get(name, name) for name in named}
    assert keys.isdisjoint(RunOptions.__annotations__)
    assert keys | RunOptions.__annotations__.keys() == RunFile.model_fields.keys()


@pytest.mark.usefixtures("report")
def test_examples_of_docstrings(
    snapshot: Path, server: StubThread, preset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset.rename(tmp_path / "judge.yaml")
    (tmp_path / "snapshot").symlink_to(snapshot)
    monkeypatch.chdir(tmp_path)
    examples = [one for one in doctest.DocTestFinder().find(api) if one.examples]
    public = [f"Run.{name}" for name, value in vars(api.Run).items() if callable(value) and name[0] != "_"]
    assert {one.name.removeprefix("local_judge.api.") for one in examples} == {
        "evaluate",
        "load",
        "Run",
        *public,
    }
    for one in sorted(examples, key=lambda one: not one.name.endswith(".evaluate")):
        for example in one.examples:
            example.source = example.source.replace("http://127.0.0.1:8000/v1", server.url)
        assert doctest.DocTestRunner().run(one).failed == 0, one.name


async def test_it_works_inside_a_running_loop(report: Path, given: dict[str, Any]) -> None:
    assert len(lj.evaluate([report], **given).reports()) == 1


def waits_for_a_result(frame: FrameType) -> bool:
    """Whether a thread has come to the wait of a future's `result`."""
    return (
        frame.f_code.co_name == "wait"
        and frame.f_back is not None
        and frame.f_back.f_code.co_name == "result"
    )


async def test_an_interrupt_ends_the_work_of_the_other_thread() -> None:
    """A notebook's kernel raises KeyboardInterrupt in the cell, as this handler does."""
    ended: list[str] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    async def work() -> None:
        main = threading.main_thread().ident or 0
        await until(lambda: waits_for_a_result(sys._current_frames()[main]))  # pyright: ignore[reportPrivateUsage]
        signal.pthread_kill(main, signal.SIGINT)
        try:
            await asyncio.sleep(SECONDS)
        finally:
            ended.append("cleaned up")

    try:
        with pytest.raises(KeyboardInterrupt):
            _finish(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == ["cleaned up"]


async def test_an_error_reaches_the_caller_from_the_other_thread(report: Path, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="no protocol 'der'"):
        lj.evaluate(report, **changed(given, protocols="der", settings=None))
    await asyncio.sleep(0)


def test_reports_may_be_rows(report: Path, given: dict[str, Any], tmp_path: Path) -> None:
    rows = [
        {"id": "mill", "report": REPORT, "system": "ada"},
        {"id": "lake", "report": REPORT, "system": "bo"},
    ]
    run = lj.evaluate(rows, **given)
    assert run.systems()["system"].unique().tolist() == ["ada", "bo"]
    path = tmp_path / "reports.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    again = lj.evaluate(path, **changed(given, out=tmp_path / "again"))
    assert again.records("claims") == run.records("claims")
    with pytest.raises(ConfigError, match="no report"):
        lj.evaluate([], **given)


def test_what_it_shows_in_a_notebook_is_escaped(given: dict[str, Any]) -> None:
    run = lj.evaluate({"id": "mill", "report": REPORT, "system": HOSTILE}, **given)
    shown = run._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<img" not in shown and "&lt;img src=x onerror=alert(1)&gt;" in shown
    assert "\x1b" not in shown and "\u202e" not in shown
    assert "fact: Citation Accuracy" in shown and "1.00" in shown
    assert repr(run) == f"<Run {given['out']}: 1 reports, deer, fact by stub>"


def test_warnings_are_those_of_show(command: Command, report: Path, given: dict[str, Any]) -> None:
    run = lj.evaluate(report, **given)
    shown = json.loads(command("show", given["out"], "--json").out)["warnings"]
    assert [one.model_dump(mode="json") for one in run.warnings()] == shown
    assert {one.kind for one in run.warnings()} >= {"qualification", "single_draw"}
    assert all(one.text in html.unescape(run._repr_html_()) for one in run.warnings())  # pyright: ignore[reportPrivateUsage]


def test_a_modified_run_is_refused(report: Path, given: dict[str, Any]) -> None:
    lj.evaluate(report, **given)
    file = given["out"] / "claims.jsonl"
    file.write_text(file.read_text().replace("1,240", "1,340"))
    with pytest.raises(RunError, match=r"modified since the run ended: claims\.jsonl differs"):
        lj.load(given["out"]).claims()


def test_calls_of_a_missing_or_damaged_ledger_are_an_error(report: Path, given: dict[str, Any]) -> None:
    run = lj.evaluate(report, **given)
    run.calls()
    with pytest.raises(RunError, match="no such ledger"):
        lj.load(given["out"], ledger="none.sqlite").calls()
    (given["out"] / "ledger.sqlite").write_bytes(b"no ledger")
    with pytest.raises(LedgerError):
        run.calls()


def test_columns_have_one_type_whatever_a_run_has(report: Path, given: dict[str, Any]) -> None:
    empty = lj.evaluate({"id": "none", "report": "Nothing is cited."}, **given)
    full = lj.evaluate(report, **changed(given, out=given["out"].with_name("full")))
    for name in ("reports", "scores", "systems", "claims", "items", "calls"):
        frames = [getattr(run, name)() for run in (empty, full)]
        assert list(frames[0].columns) == list(COLUMNS[name])
        assert frames[0].dtypes.equals(frames[1].dtypes), name
    score = list(COLUMNS["scores"])[-len(Score.model_fields) :]
    assert score == list(Score.model_fields) == list(COLUMNS["systems"])[-len(score) :]


def test_the_package_is_imported_without_what_it_loads_later() -> None:
    code = "import sys, local_judge; print(sorted({'pydantic', 'pandas', 'numpy', 'asyncio'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"
    assert set(lj.__all__) <= set(dir(lj))
    with pytest.raises(AttributeError, match="'nothing'"):
        getattr(lj, "nothing")  # noqa: B009


def test_several_judges_have_a_row_each(
    snapshot: Path, preset: Path, report: Path, tmp_path: Path, server: StubThread
) -> None:
    other = preset.with_name("other.yaml")
    other.write_text(preset.read_text().replace("model:", "sampling: {seed: 7}\nmodel:"))
    with StubThread(StubPlan(answer=answer, alternatives=leaning)) as second:
        run = lj.evaluate(
            report,
            judge=[preset, other],
            base_url=[f"stub={server.url}", f"other={second.url}"],
            snapshot=snapshot,
            protocols="fact",
            out=tmp_path / "run",
            progress=False,
        )
    assert run.judges == ("stub", "other")
    assert run.claims()["judge"].tolist() == ["stub", "stub", "other", "other"]
    assert run.items(judge="other")["judge"].unique().tolist() == ["other"]
    assert run.scores()["judge"].isna().all()
    assert run.scores(judge="stub")["judge"].unique().tolist() == ["stub"]
    assert set(run.calls()["judge"]) == {"stub, other"}


def test_every_metric_has_items_in_words() -> None:
    """A plug-in has those of its decisions; what is here says what was asked."""
    for name in protocol_names():
        kind: Any = type(load_protocol(name))
        for one in getattr(kind, "metrics", (kind,)):
            own = [base for base in one.__mro__ if base.__module__ != "local_judge.protocols.base"]
            assert any("items" in vars(base) for base in own), one
