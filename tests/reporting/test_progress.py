"""The progress of a run: a bar in a terminal, lines elsewhere, and at the end what it took."""

from __future__ import annotations

import io
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from local_judge.judge.calls import Meter
from local_judge.judge.judge import Judge
from local_judge.ledger.ledger import Ledger
from local_judge.reporting import progress as module
from local_judge.reporting.progress import Lines, RunProgress, counts, describe, duration
from serving.engines.scripted import ScriptedEngine
from serving.types import ReplicaUse


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def judge() -> Iterator[Judge]:
    with Ledger.open(":memory:", read_only=True) as ledger:
        yield Judge(ScriptedEngine(), ledger)


Out = pytest.CaptureFixture[str]
"""Standard error that is no terminal."""


def in_terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    return out


def text(out: io.StringIO | Out) -> list[str]:
    shown = out.getvalue() if isinstance(out, io.StringIO) else out.readouterr().err
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown).strip().splitlines()


def test_a_terminal_shows_reports_calls_cache_hits_and_then_the_summary(
    monkeypatch: pytest.MonkeyPatch, judge: Judge
) -> None:
    terminal = in_terminal(monkeypatch)
    with RunProgress(judge, 2) as progress:
        judge.meter.made, judge.meter.prompt_tokens, judge.meter.cached_tokens = 5, 1000, 250
        progress.one_done()
    *_, bar, summary = text(terminal)
    assert all(part in bar for part in ("1/2", "5 calls", "25 % cached", "left"))
    assert summary == "1 of 2 reports in 0 s: 5 calls, 1,000 prompt tokens (25 % cached), 0 generated tokens"


def test_of_several_judges_each_has_a_line(monkeypatch: pytest.MonkeyPatch, judge: Judge) -> None:
    terminal = in_terminal(monkeypatch)
    other = Judge(ScriptedEngine(), judge.ledger)
    with RunProgress({"steady": judge, "shaky": other}, 2):
        judge.meter.made, other.meter.failed = 5, 3
    shown = "\n".join(text(terminal))
    assert "steady: 5 calls" in shown
    assert "shaky: 0 calls, 3 failed" in shown


def test_without_a_terminal_a_short_run_writes_its_summary_only(capsys: Out, judge: Judge) -> None:
    with RunProgress(judge, 2):
        judge.meter.replayed, judge.meter.reasked = 3, 1
        judge.meter.call_failed("timeout")
        judge.meter.failures.update(["truncated", "timeout"])
    assert text(capsys) == [
        "0 of 2 reports in 0 s: 0 calls, 3 replayed, 1 asked again, 1 failed; 3 failures: timeout 2, truncated 1"
    ]


class OnServers(ScriptedEngine):
    """An engine on two servers, of which one went away."""

    def replicas(self) -> tuple[ReplicaUse, ...]:
        here = ReplicaUse(
            url="http://one/v1",
            requests=1,
            prompt_tokens=100,
            cached_tokens=25,
            failures=0,
            seconds_away=0,
            away=False,
        )
        gone = ReplicaUse(
            url="http://two/v1",
            requests=0,
            prompt_tokens=0,
            cached_tokens=0,
            failures=2,
            seconds_away=90,
            away=True,
        )
        return here, gone


def test_each_of_several_servers_has_a_line(capsys: Out, judge: Judge) -> None:
    with RunProgress(Judge(OnServers(), judge.ledger), 2):
        pass
    assert text(capsys)[1:] == [
        "http://one/v1: 1 reply, 25 % cached",
        "http://two/v1: 0 replies, 2 failed attempts, away for 1 min 30 s and still away",
    ]


def test_a_failed_run_has_no_summary(capsys: Out, judge: Judge) -> None:
    with pytest.raises(OSError, match="gone"), RunProgress(judge, 2):
        raise OSError("gone")
    assert text(capsys) == []


def test_lines_come_first_soon_and_then_rarely(monkeypatch: pytest.MonkeyPatch, capsys: Out) -> None:
    monkeypatch.setattr(module, "FIRST_SECONDS", 0.01)
    told = threading.Event()

    def line() -> str:
        told.set()
        return "so far"

    with Lines(line):
        assert told.wait(120)
    assert text(capsys) == ["so far"]
    # A tenth of 65 s is less than 30 s, and of 1,005 s it is more.
    assert [Lines(str, partial(float, left)).pause(5.0) for left in (60, 1000, 0)] == [30.0, 100.5, 30.0]


def test_a_line_says_how_far_a_run_is_and_what_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: Out, judge: Judge
) -> None:
    monkeypatch.setattr(module.time, "monotonic", lambda: 100.0)
    with RunProgress(judge, 40) as progress:
        monkeypatch.setattr(module.time, "monotonic", lambda: 160.0)
        assert progress.line() == "0/40 reports: 0 calls; 1 min 0 s"
        # Of 20 calls known in 8 reports, 10 are answered: 100 in 40 reports, of which 90 are left.
        judge.meter.made, judge.meter.in_flight, judge.meter.waiting = 10, 4, 6
        assert progress.line() == "0/40 reports: 10 calls; 1 min 0 s, about 9 min 0 s left"
        for _ in range(10):
            progress.one_done()
        assert progress.line() == "10/40 reports: 10 calls; 1 min 0 s, about 3 min 0 s left"


def test_reports_that_were_kept_say_nothing_of_the_pace(
    monkeypatch: pytest.MonkeyPatch, capsys: Out, judge: Judge
) -> None:
    monkeypatch.setattr(module.time, "monotonic", lambda: 0.0)
    with RunProgress(judge, 30) as progress:
        for _ in range(20):
            progress.one_done()
        judge.meter.made = 1
        progress.one_done()
        monkeypatch.setattr(module.time, "monotonic", lambda: 10.0)
        assert progress.left() == 90  # one of ten in 10 s


def test_a_part_of_unknown_size_has_no_time_left(capsys: Out, judge: Judge) -> None:
    with RunProgress(judge, None, unit="calibration") as progress:
        judge.meter.made = 4
        assert progress.line() == "calibration: 4 calls; 0 s"
    assert text(capsys) == ["calibration in 0 s: 4 calls"]


def test_the_counters_in_one_line() -> None:
    assert describe(Meter(), 0.0) == counts(Meter()) == "0 calls"
    meter = Meter(
        made=1, replayed=3, failed=1, prompt_tokens=4_000, cached_tokens=3_000, completion_tokens=100
    )
    # 4,000 tokens in 20 s; 3,000 of 4,000.
    assert describe(meter, 20.0) == "1 call, 3 replayed, 1 failed, 200 tokens/s in, 5 out, 75 % cached"
    assert counts(meter) == (
        "1 call, 3 replayed, 1 failed, 4,000 prompt tokens (75 % cached), 100 generated tokens"
    )
    meter.add(Meter(made=2, failures=Counter(timeout=1)))
    assert (meter.made, meter.failures) == (3, Counter(timeout=1))


def test_durations() -> None:
    assert [duration(seconds) for seconds in (0.4, 59.6, 200, 7500)] == [
        "0 s",
        "1 min 0 s",
        "3 min 20 s",
        "2 h 5 min",
    ]
