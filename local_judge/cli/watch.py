"""Progress of a run that another process is making, for `local-judge show --watch`."""

from __future__ import annotations

import time
from pathlib import Path

import typer
from rich.live import Live

from local_judge.cli.output import json_line
from local_judge.reporting.live import LiveRun, LiveState, LiveSweep, ending, lines
from local_judge.runs.sweeps.folder import sweep_manifest
from local_judge.terminal import safe, stdout

POLL_SECONDS = 1.0
LINE_SECONDS = 10.0
"""Time between two lines outside a terminal, or two states as JSON."""


def watch(run: Path, *, once: bool, ledger: Path | None, as_json: bool) -> None:
    """Print how far a run or sweep is until it ends, or once; exit with code 1 if it stopped unfinished."""
    with LiveRun(run, ledger) if sweep_manifest(run) is None else LiveSweep(run, ledger) as live:
        last = _printed(live, as_json, once) if as_json or once or not stdout().is_terminal else _drawn(live)
    if not as_json and last.status in ("finished", "stopped"):
        _print_line(f"{safe(str(run))}: {ending(last)}")
    if last.status == "stopped":
        raise typer.Exit(1)


def _printed(live: LiveRun | LiveSweep, as_json: bool, once: bool) -> LiveState:
    """Print states, or the first one only, and return the last."""
    due = time.monotonic()
    while True:
        state, now = live.state(time.time()), time.monotonic()
        ended = state.status in ("finished", "stopped")
        if as_json and (ended or now >= due):
            print(json_line(state), flush=True)
        elif not ended and now >= due:
            _print_line("; ".join(lines(state)))
        if ended or once:
            return state
        if now >= due:
            due = now + LINE_SECONDS
        time.sleep(POLL_SECONDS)


def _drawn(live: LiveRun | LiveSweep) -> LiveState:
    """Draw states until the run ends, and return the last."""
    console = stdout()
    with Live(console=console, auto_refresh=False, transient=True) as shown:
        while True:
            state = live.state(time.time())
            if state.status in ("finished", "stopped"):
                return state
            shown.update(console.render_str("\n".join(lines(state))), refresh=True)
            time.sleep(POLL_SECONDS)


def _print_line(text: str) -> None:
    stdout().print(text, soft_wrap=True)
