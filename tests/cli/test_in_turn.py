"""Judges one after another: added to a finished run, or started and stopped in turn."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from serving.judge_records import read_records
from serving.preset_code import ALLOWING

from ..waiting import wait_until
from .conftest import Command
from .machine import World, files, gone, machine, start


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with machine(tmp_path, monkeypatch) as made:
        yield made


Arguments = list[str | Path]


@pytest.fixture
def evaluate(report: Path, snapshot: Path) -> Arguments:
    """A command without its judges and its run directory."""
    settings = ("--set", "deer.parts=[verification]", "--protocol", "deer", "--protocol", "fact")
    return ["run", report, "--snapshot", snapshot, *settings, "--method", "scored"]


def judges(*presets: Path) -> Arguments:
    return [word for preset in presets for word in ("--judge", preset)]


def together(
    command: Command, evaluate: Arguments, out: Path, *presets: Path, more: Sequence[str] = ()
) -> None:
    """Run all judges at once, on servers of their own."""
    for preset in presets:
        assert command("judge", "up", preset, "--detach", ALLOWING).code == 0
    ended = command(*evaluate, *judges(*presets), "--out", out, *more)
    assert ended.code == 0, ended.err
    command("judge", "down", "--all")


def replies(run: Path) -> dict[str, str]:
    """When each reply in the ledger was made, by key."""
    with closing(sqlite3.connect(run / "ledger.sqlite")) as ledger:
        return dict(ledger.execute("SELECT key, created FROM replies").fetchall())


def manifest(run: Path) -> dict[str, Any]:
    found = json.loads((run / "manifest.json").read_bytes())
    return {key: value for key, value in found.items() if key not in ("run", "seal")}


def test_a_judge_is_added_to_a_finished_run(command: Command, world: World, evaluate: Arguments) -> None:
    first, second = world.write("yes"), world.write("no")
    both, added = world.folder / "both", world.folder / "added"
    together(command, evaluate, both, first, second)
    together(command, evaluate, added, first)
    before = replies(added)
    assert "claims/yes.jsonl" not in "".join(files(added))
    # The first judge's server is gone, and not needed.
    command("judge", "up", second, "--detach")
    ended = command(*evaluate, *judges(first, second), "--out", added)
    assert ended.code == 0, ended.err
    assert files(added) == files(both)
    assert manifest(added) == manifest(both)
    assert replies(added).items() > before.items()
    # The recorded command names both judges, so that the run can be packed and audited.
    packed = command("bundle", added, "--out", world.folder / "added.ljz")
    assert packed.code == 0, packed.err
    assert command("audit", added).code == 0
    # Nothing is left to ask.
    command("judge", "down", "--all")
    again = command(*evaluate, *judges(first, second), "--out", added)
    assert (again.code, again.err.splitlines()[0]) == (0, f"{added} is finished; 0 calls")


def test_judges_are_served_one_after_another(command: Command, world: World, evaluate: Arguments) -> None:
    presets = [world.write(name) for name in ("yes", "no", "third")]
    both, turns = world.folder / "both", world.folder / "turns"
    together(command, evaluate, both, *presets)
    started = len(world.starts())
    ended = command(*evaluate, *judges(*presets), "--serve", "--out", turns)
    assert ended.code == 0, ended.err
    lines = [line for line in ended.err.splitlines() if line.startswith("judge ")]
    assert lines[:3] == ["judge 1 of 3: yes", "judge 2 of 3: no", "judge 3 of 3: third"]
    assert files(turns) == files(both)
    assert manifest(turns) == manifest(both)
    assert len(world.starts()) == started + 3
    assert all(gone(one["pid"]) for one in world.starts())
    assert read_records() == []
    # A finished run starts nothing.
    again = command(*evaluate, *judges(*presets), "--serve", "--out", turns)
    assert (again.code, again.err.splitlines()[0]) == (0, f"{turns} is finished; 0 calls")
    assert len(world.starts()) == started + 3


@pytest.mark.slow
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_killed_run_goes_on_with_the_judge_that_is_not_finished(
    command: Command, world: World, evaluate: Arguments, at: int
) -> None:
    gates = [world.folder / f"gate-{name}" for name in ("yes", "no", "third")]
    presets = [
        world.write(name, FAKE_GATE=str(gate))
        for name, gate in zip(("yes", "no", "third"), gates, strict=True)
    ]
    for gate in gates:
        gate.touch()
    both, turns = world.folder / "both", world.folder / "turns"
    evaluate = [*evaluate, ALLOWING]
    together(command, evaluate, both, *presets)
    before = len(world.starts())
    gates[at - 1].unlink()
    running = start(*evaluate, *judges(*presets), "--serve", "--out", turns)
    wait_until(lambda: len(world.starts()) == before + at)
    running.kill()
    running.communicate()
    gates[at - 1].touch()
    kept = replies(turns) if (turns / "ledger.sqlite").exists() else {}
    ended = command(*evaluate, *judges(*presets), "--serve", "--out", turns)
    assert ended.code == 0, ended.err
    assert files(turns) == files(both)
    assert replies(turns).items() >= kept.items()
    models = [one["arguments"][one["arguments"].index("--served-model-name") + 1] for one in world.starts()]
    # The judge whose server the kill left running is used there; those before it are not started again.
    assert models[before:] == ["owner/yes", "owner/no", "owner/third"]
    assert read_records() == []


def test_the_judge_that_extracts_the_claims_comes_first(
    command: Command, world: World, evaluate: Arguments
) -> None:
    presets = [world.write(name) for name in ("yes", "no")]
    both, turns = world.folder / "both", world.folder / "turns"
    together(command, evaluate, both, *presets, more=["--extractor", "no"])
    assert manifest(both)["extractor"] == "no"
    ended = command(*evaluate, *judges(*presets), "--extractor", "no", "--serve", "--out", turns)
    assert ended.code == 0, ended.err
    assert [line for line in ended.err.splitlines() if line.startswith("judge 1 of 2")] == [
        "judge 1 of 2: no"
    ]
    assert files(turns) == files(both)
    with closing(sqlite3.connect(turns / "ledger.sqlite")) as ledger:
        rows = ledger.execute(
            "SELECT judges.identity, count(*) FROM requests JOIN judges ON judge = digest WHERE kind LIKE '%gen%' "
            "GROUP BY judges.identity"
        ).fetchall()
    extracting = [json.loads(identity)["model"] for identity, _ in rows]
    assert "owner/no" in extracting


def test_an_added_judge_cannot_take_over_the_claims(
    command: Command, world: World, evaluate: Arguments
) -> None:
    first, second = world.write("yes"), world.write("no")
    out = world.folder / "out"
    together(command, evaluate, out, first)
    command("judge", "up", first, "--detach")
    command("judge", "up", second, "--detach")
    ended = command(*evaluate, *judges(second, first), "--out", out)
    assert ended.code == 1
    assert "run with different judges" in ended.err
    fine = command(*evaluate, *judges(second, first), "--extractor", "yes", "--out", out)
    assert fine.code == 0, fine.err


def test_an_extractor_that_is_no_judge_is_refused(
    command: Command, world: World, evaluate: Arguments
) -> None:
    ended = command(*evaluate, *judges(world.write("yes")), "--extractor", "no", "--out", world.folder / "x")
    assert ended.line() == "local-judge: extractor no: not a judge of this run; there are: yes"


def test_a_judge_that_is_not_running_and_not_finished_is_named(
    command: Command, world: World, evaluate: Arguments
) -> None:
    first, second = world.write("yes"), world.write("no")
    out = world.folder / "out"
    together(command, evaluate, out, first)
    ended = command(*evaluate, *judges(first, second), "--out", out)
    assert re.search("no is not running: .*`local-judge judge up no`.* --serve", ended.line())
    assert files(out)  # the finished run is as it was
    assert command("show", out).code == 0
