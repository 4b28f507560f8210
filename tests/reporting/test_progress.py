"""The progress line is there while a run goes on, with the judge's counters in it."""

from __future__ import annotations

import io
import re
import sys

import pytest

from local_judge.judge.judge import Judge
from local_judge.judge.ledger import Ledger
from local_judge.reporting.progress import RunProgress
from serving.engines.scripted import ScriptedEngine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(monkeypatch: pytest.MonkeyPatch, out: io.StringIO) -> str:
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with Ledger.open(":memory:", read_only=True) as ledger:
        judge = Judge(ScriptedEngine(), ledger)
        with RunProgress(judge, 2) as progress:
            judge.meter.made, judge.meter.prompt_tokens, judge.meter.cached_tokens = 5, 1000, 250
            progress.one_done()
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue())


def test_reports_calls_and_cache_hits_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    last = drawn(monkeypatch, Terminal()).strip().splitlines()[-1]
    assert "1/2" in last
    assert "5 calls" in last
    assert "25 % cached" in last


def test_nothing_is_drawn_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, io.StringIO()).strip() == ""


def test_of_several_judges_each_has_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with Ledger.open(":memory:", read_only=True) as ledger:
        judges = {name: Judge(ScriptedEngine(), ledger) for name in ("steady", "shaky")}
        with RunProgress(judges, 2):
            judges["steady"].meter.made, judges["shaky"].meter.failed = 5, 3
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue())
    assert "steady: 5 calls" in text
    assert "shaky: 0 calls, 3 failed" in text
