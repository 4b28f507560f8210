"""Sweeps: run, killed and continued, extended, cut, and read while they run."""

from __future__ import annotations

import contextlib
import itertools
import json
import signal
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_judge.demo.outcome import sample_folder
from local_judge.runs.storage.store import RunStore
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer, write_preset
from .conftest import REPORT, Command, finish, start
from .machine import machine
from .test_interrupted_run import Question, distinct, stored, wait_for

TOWNS = {"alder": "Fernholt", "birch": "Tarnholt", "cedar": "Ashholt"}


@pytest.fixture
def write(tmp_path: Path, snapshot: Path) -> Any:
    """Write reports, presets and a sweep file into a folder."""
    write_preset(tmp_path, concurrency=4)
    warm = (tmp_path / "stub.yaml").read_text() + "sampling: {temperature: 0.7, seed: 7}\n"
    (tmp_path / "warm.yaml").write_text(warm)
    sample = (sample_folder() / "report.md").read_text(encoding="utf-8")

    def written(
        folder: Path,
        systems: Sequence[str] = ("alder", "birch"),
        sweep: Mapping[str, Any] | None = None,
        **keys: Any,
    ) -> Path:
        folder.mkdir(exist_ok=True)
        rows = [
            {"id": f"{system}-{task}", "report": text.replace("Fernholt", TOWNS[system]), "system": system}
            | {"task_id": task, "task": f"What is {task}?"}
            for system in systems
            for task, text in (("long", sample), ("short", REPORT))
        ]
        (folder / "reports.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        file: dict[str, Any] = {
            "reports": ["reports.jsonl"],
            "snapshot": str(snapshot),
            "claims": {"batch_sentences": 4, "claims_per_call": 2, "reliability": False},
            "protocols": ["deer", "fact"],
            "settings": {"deer": {"parts": ["verification"]}},
            "out": "out",
            "sweep": sweep or {"judges": ["../stub.yaml", "../warm.yaml"]},
            **keys,
        }
        (folder / "sweep.yaml").write_text(yaml.safe_dump(file))
        return folder

    return written


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a sweep but the ledger and the run files, whose paths are absolute."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("ledger.sqlite") and path.parent.name != "runs"
    }


def swept(folder: Path, server: StubThread, *options: str) -> list[str]:
    return ["sweep", str(folder / "sweep.yaml"), "--base-url", server.url, *options]


def names(folder: Path) -> list[str]:
    return [path.name for path in sorted((folder / "out/runs").iterdir()) if path.is_dir()]


def test_a_sweep_is_ordinary_runs_in_one_folder(
    command: Command, write: Any, tmp_path: Path, server: StubThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "a")
    ended = command(*swept(folder, server))
    assert ended.code == 0, ended.err
    assert "warm │ birch" in ended.out
    assert names(folder) == ["stub", "warm"]
    out = folder / "out"
    # A run alone, from the run file that the sweep wrote, has the same files, and asks nothing: the ledger is shared.
    n_calls = len(server.chats)
    alone = command("run", out / "runs/warm.yaml", "--out", tmp_path / "alone")
    assert alone.code == 0 and len(server.chats) == n_calls
    same = files(tmp_path / "alone")
    assert {
        name: content for name, content in files(out / "runs/warm").items() if name != "manifest.json"
    } == {name: content for name, content in same.items() if name != "manifest.json"}
    # The same question by both judges' runs is one call: only `warm` has another temperature.
    again = command(*swept(folder, server))
    assert (again.code, again.err) == (0, f"{out} is finished; 0 calls\n")
    assert len(server.chats) == n_calls
    shown = command("show", out)
    assert shown.out == again.out == ended.out
    assert "out: finished: 8 of 8 reports" in command("show", out, "--watch").out
    assert command("report", out, "--out", tmp_path / "page.html").code == 0
    assert "warm" in (tmp_path / "page.html").read_text(encoding="utf-8")
    packed = command("bundle", out / "runs/stub", "--out", tmp_path / "stub.ljz")
    assert packed.code == 0, packed.err
    assert command("audit", tmp_path / "stub.ljz").code == 0
    assert command("results", "diff", out / "runs/stub", out / "runs/warm").code == 0


@pytest.mark.slow
def test_a_sweep_killed_twice_and_stopped_once_is_one_that_was_not(tmp_path: Path, write: Any) -> None:
    sent, hold = threading.Event(), float("inf")

    def held(asked: Mapping[str, Any]) -> str:
        """Answers only after the signal, from a number of requests on: the process cannot finish before."""
        if len(server.chats) >= hold:
            sent.wait(120)
        return answer(asked)

    with StubThread(StubPlan(answer=held, delay=0.02, slots=4)) as server:
        whole, killed = write(tmp_path / "whole"), write(tmp_path / "killed")
        given = ["sweep", "sweep.yaml", "--base-url", server.url]
        assert finish(start(*given, cwd=whole)).code == 0
        n_calls, total = len(server.chats), len(distinct(server.chats))
        assert n_calls == total  # nothing is asked twice, whichever run asks
        seen, answered = n_calls, set[Question]()
        for share, number in ((0.2, signal.SIGKILL), (0.3, signal.SIGTERM), (0.3, signal.SIGKILL)):
            hold = seen + int(share * n_calls)
            process = start(*given, cwd=killed)
            wait_for(server, hold)
            process.send_signal(number)
            sent.set()
            ended = finish(process)
            hold = float("inf")
            sent.clear()
            assert ended.code == (-number if number == signal.SIGKILL else 143)
            assert distinct(server.chats[seen:]).isdisjoint(answered)
            # A reply that was not committed when the process was killed is lost, and asked for again.
            answered, seen = stored(killed / "out/ledger.sqlite"), len(server.chats)
        assert finish(start(*given, cwd=killed)).code == 0
        assert distinct(server.chats[seen:]).isdisjoint(answered)
    assert files(killed / "out") == files(whole / "out")


def test_a_longer_file_runs_only_what_is_new(
    command: Command, write: Any, tmp_path: Path, server: StubThread
) -> None:
    short = {"judges": ["../stub.yaml"]}
    folder = write(tmp_path / "a", systems=["alder"], sweep=short, protocols=["deer"])
    assert command(*swept(folder, server)).code == 0
    before = distinct(server.chats)
    n_calls = len(server.chats)
    # A protocol, a system and a judge are added; then settings.
    write(folder, systems=["alder", "birch"])
    assert command(*swept(folder, server)).code == 0
    assert distinct(server.chats[n_calls:]).isdisjoint(before)
    longer = {
        "judges": ["../stub.yaml", "../warm.yaml"],
        "settings": {"default": None, "scored": {"claims": {"method": "scored"}}},
    }
    write(folder, systems=["alder", "birch"], sweep=longer)
    assert command(*swept(folder, server)).code == 0
    # Two judges on one model share what is not sampled, and may ask for it at the same time.
    sampled = [chat for chat in server.chats if not chat.json.get("logprobs")]
    assert len(distinct(sampled)) == len(sampled)
    other = write(tmp_path / "b", systems=["alder", "birch"], sweep=longer)
    assert command(*swept(other, server)).code == 0
    found, undisturbed = (
        {name: content for name, content in files(one / "out").items() if not name.endswith("manifest.json")}
        for one in (folder, other)
    )
    assert found == undisturbed
    assert not (folder / "out/kept").exists()


def test_what_a_shorter_file_leaves_out_is_kept_and_named(
    command: Command, write: Any, tmp_path: Path, server: StubThread
) -> None:
    folder = write(tmp_path / "a")
    assert command(*swept(folder, server)).code == 0
    n_calls, before = len(server.chats), files(folder / "out/runs/stub")
    write(folder, systems=["alder"], sweep={"judges": ["../stub.yaml"]})
    ended = command(*swept(folder, server))
    assert ended.code == 0 and len(server.chats) == n_calls
    assert "runs/stub: had other reports, settings or judges, which are kept in" in ended.err
    assert [
        line.removeprefix(f"kept from an earlier sweep file: {folder}/out/")
        for line in ended.out.splitlines()
    ][-2:] == ["runs/warm", "kept/stub"]
    assert files(folder / "out/kept/stub") == before
    assert "birch" not in ended.out and "warm │" not in ended.out
    # They come back with the longer file.
    write(folder)
    back = command(*swept(folder, server))
    assert back.code == 0 and len(server.chats) == n_calls
    assert "warm │ birch" in back.out and "sweep file: " in back.out


def test_a_new_judge_needs_no_server_of_a_finished_one(
    command: Command, write: Any, tmp_path: Path, server: StubThread
) -> None:
    folder = write(tmp_path / "a", sweep={"judges": ["../stub.yaml"]})
    with StubThread(StubPlan(answer=answer)) as gone:
        assert command("sweep", folder / "sweep.yaml", "--base-url", f"stub={gone.url}").code == 0
    write(folder)
    ended = command(
        "sweep", folder / "sweep.yaml", "--base-url", f"stub={gone.url}", "--base-url", f"warm={server.url}"
    )
    assert ended.code == 0, ended.err
    assert "warm │ birch" in ended.out


def test_a_running_sweep_is_shown(command: Command, write: Any, tmp_path: Path) -> None:
    folder, shown, answers = write(tmp_path / "a"), threading.Event(), itertools.count()

    def stalling(asked: Mapping[str, Any]) -> str:
        if next(answers) == 25:
            shown.wait(120)
        return answer(asked)

    with StubThread(StubPlan(answer=stalling)) as server:
        process = start("sweep", "sweep.yaml", "--base-url", server.url, cwd=folder)
        try:
            wait_for(server, 20)
            state = json.loads(command("show", folder / "out", "--watch", "--once", "--json").out)
            assert (state["status"], state["reports"]) == ("running", 8)
            assert state["judges"] == ["stub", "warm"]
            refused = command(*swept(folder, server))
            assert "is writing to" in refused.line() and "wait" in refused.line()
        finally:
            process.kill()
            shown.set()
            finish(process)
    stopped = command("show", folder / "out", "--watch")
    assert stopped.code == 1 and "stopped after" in stopped.out
    # The finished reports of the stopped sweep, if there are any, or one line.
    table = command("show", folder / "out")
    assert (table.code == 0 and "alder" in table.out) or "no report has a score" in table.line()


def test_judges_are_served_one_after_another(
    command: Command, write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with machine(tmp_path / "machine", monkeypatch) as world:
        yes, no = world.write("yes"), world.write("no")
        sweep = {"judges": [str(yes), str(no), [str(yes), str(no)]]}
        folder = write(tmp_path / "a", sweep=sweep, serve=True)
        ended = command("sweep", folder / "sweep.yaml")
        assert ended.code == 0, ended.err
        lines = [line for line in ended.err.splitlines() if line.startswith("judge ")]
        assert lines == ["judge 1 of 2: yes", "judge 2 of 2: no"]
        assert names(folder) == ["no", "yes", "yes+no"]
        assert len(world.starts()) == 2
        again = command("sweep", folder / "sweep.yaml")
        assert (again.code, again.err) == (0, f"{folder / 'out'} is finished; 0 calls\n")


def test_an_ensemble_that_is_served_again_is_the_same_run(
    command: Command, write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with machine(tmp_path / "machine", monkeypatch) as world:
        sweep = {"judges": [[str(world.write("yes")), str(world.write("no"))]]}
        folder = write(tmp_path / "a", sweep=sweep, serve=True)
        assert command("sweep", folder / "sweep.yaml").code == 0
        # The first reply is of the judge whose turn comes first; without it, that judge has a turn again.
        with contextlib.closing(sqlite3.connect(folder / "out/ledger.sqlite")) as ledger, ledger:
            ledger.execute(
                "DELETE FROM replies WHERE rowid = (SELECT rowid FROM replies ORDER BY created LIMIT 1)"
            )
        (folder / "out/runs/yes+no/cases.jsonl").unlink()
        ended = command("sweep", folder / "sweep.yaml")
        assert (ended.code, len(world.starts())) == (0, 3), ended.err
        assert names(folder) == ["yes+no"] and not (folder / "out/kept").exists()


def test_a_sweep_is_replayed_without_servers(
    command: Command, write: Any, tmp_path: Path, server: StubThread
) -> None:
    folder = write(tmp_path / "a")
    assert command(*swept(folder, server)).code == 0
    n_calls = len(server.chats)
    ledger = str(folder / "out/ledger.sqlite")
    other = write(tmp_path / "b", ledger=ledger)
    ended = command("sweep", other / "sweep.yaml", "--replay")
    assert ended.code == 0 and len(server.chats) == n_calls
    assert set(files(other / "out")) == set(files(folder / "out"))
    empty = write(tmp_path / "c")
    assert " by judge 'stub'" in command("sweep", empty / "sweep.yaml", "--replay").line()


def test_draws_of_a_greedy_judge_are_refused_and_others_have_their_own_seeds(
    command: Command, write: Any, tmp_path: Path, server: StubThread
) -> None:
    folder = write(tmp_path / "a", sweep={"judges": ["../stub.yaml"], "draws": 2})
    assert "sweep.draws: judge 'stub' has temperature 0" in command(*swept(folder, server)).line()
    write(folder, sweep={"judges": ["../warm.yaml"], "draws": 2})
    assert command(*swept(folder, server)).code == 0
    seeds = {chat.json.get("seed") for chat in server.chats if not chat.json.get("logprobs")}
    assert seeds == {7, 1007}
    manifests = [
        json.loads((folder / f"out/runs/{name}/manifest.json").read_bytes()) for name in names(folder)
    ]
    assert [one["judges"][0]["sampling"]["seed"] for one in manifests] == [7, 1007]


def test_two_presets_of_one_name_are_refused(
    command: Command, write: Any, tmp_path: Path, server: StubThread
) -> None:
    folder = write(tmp_path / "a", sweep={"judges": ["../stub.yaml", ["other/stub.yaml", "../warm.yaml"]]})
    (folder / "other").mkdir()
    other = (tmp_path / "stub.yaml").read_text().replace("model: ", "model: another-")
    (folder / "other/stub.yaml").write_text(other)
    ended = command(*swept(folder, server))
    assert ended.line().endswith("two presets are called 'stub'; rename one of the files")
    assert not server.chats


def test_the_run_files_are_printed(command: Command, write: Any, tmp_path: Path) -> None:
    folder = write(tmp_path / "a")
    printed = command("sweep", folder / "sweep.yaml", "--print-config").out
    loaded = list(yaml.safe_load_all(printed))
    assert [Path(one["out"]).name for one in loaded] == ["stub", "warm"]
    assert not (folder / "out").exists()


def test_the_limit_counts_reports_after_exclusions(command: Command, write: Any, tmp_path: Path) -> None:
    rule = {"systems": "alder", "tasks": ["long", "short"]}
    folder = write(tmp_path / "a", sweep={"judges": ["../stub.yaml"], "exclude": [rule]}, limit=1)
    printed = yaml.safe_load(command("sweep", folder / "sweep.yaml", "--print-config").out)
    assert (printed["limit"], printed["select"][0]["systems"]) == (1, ["birch"])


def test_another_folder_is_refused(command: Command, write: Any, tmp_path: Path, server: StubThread) -> None:
    folder = write(tmp_path / "a")
    (folder / "out").mkdir()
    (folder / "out/notes.txt").write_text("mine")
    assert command(*swept(folder, server)).line() == (
        f"local-judge: {folder / 'out'}: not empty and not a sweep; choose another --out"
    )


@pytest.mark.slow
def test_a_sweep_killed_at_any_file_that_it_writes_first_is_continued(
    command: Command, write: Any, tmp_path: Path, server: StubThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    small: dict[str, Any] = {"systems": ["alder"], "sweep": {"judges": ["../stub.yaml"]}, "limit": 1}
    whole = write(tmp_path / "whole", **small)
    assert command(*swept(whole, server)).code == 0
    for number in range(3):  # sweep.json, sweep.yaml and the run file
        folder, left = write(tmp_path / str(number), **small), itertools.count(-number)
        replacing = RunStore.replacing

        def killed(store: RunStore, name: str, left: Any = left, replacing: Any = replacing) -> Any:
            if next(left) == 0:
                raise KeyboardInterrupt
            return replacing(store, name)

        with monkeypatch.context() as patch:
            patch.setattr(RunStore, "replacing", killed)
            command(*swept(folder, server))
        assert not (folder / "out/ledger.sqlite").exists()
        ended = command(*swept(folder, server))
        assert ended.code == 0, ended.err
        assert files(folder / "out").keys() == files(whole / "out").keys()


@pytest.mark.slow
def test_a_sweep_killed_before_a_run_is_sealed_is_continued(
    command: Command, write: Any, tmp_path: Path, server: StubThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "a", systems=["alder"], sweep={"judges": ["../stub.yaml"]}, limit=1)

    def killed(store: RunStore, problems: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("local_judge.runs.execution.job.seal_run", killed)
        command(*swept(folder, server))
    assert (folder / "out/runs/stub/cases.jsonl").exists()
    ended = command(*swept(folder, server))
    assert ended.code == 0, ended.err
    assert "seal" in json.loads((folder / "out/runs/stub/manifest.json").read_text())


@pytest.mark.slow
def test_a_kept_run_is_named_whenever_the_command_was_killed(
    command: Command, write: Any, tmp_path: Path, server: StubThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "a")
    assert command(*swept(folder, server)).code == 0
    write(folder, systems=["alder"])

    rename = Path.rename

    def killed(run: Path, taken: Path) -> Path:
        rename(run, taken)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        command(*swept(folder, server))
    kept = command(*swept(folder, server)).out.splitlines()[-2:]
    assert [line.rpartition(": ")[2] for line in kept] == [
        f"{folder}/out/kept/{name}" for name in ("stub", "warm")
    ]


def test_a_ledger_in_the_folder_may_have_any_name(
    command: Command, write: Any, tmp_path: Path, server: StubThread
) -> None:
    for number, ledger in enumerate(("out/replies.db", "out/replies/all.db")):
        folder = write(tmp_path / str(number), systems=["alder"], ledger=ledger, limit=1)
        assert command(*swept(folder, server, "--shard", "1/1")).code == 0
        merged = command("sweep", folder / "sweep.yaml", "--merge")
        assert merged.code == 0, merged.err
        assert (folder / ledger).exists()
        (folder / "out/sweep.json").unlink()
        (folder / "out/sweep.yaml").rename(folder / "out/shards.yaml")
        assert f"{folder / 'out'}: not empty" in command(*swept(folder, server)).line()


@pytest.mark.slow
def test_shards_are_merged_to_the_bytes_of_an_undivided_sweep(
    tmp_path: Path, write: Any, command: Command
) -> None:
    with StubThread(StubPlan(answer=answer, delay=0.01, slots=4)) as server:
        whole, divided = write(tmp_path / "whole"), write(tmp_path / "divided")
        given = ["sweep", "sweep.yaml", "--base-url", server.url]
        assert finish(start(*given, cwd=whole)).code == 0
        n_calls = len(server.chats)
        first = start(*given, "--shard", "1/2", cwd=divided)
        wait_for(server, n_calls + n_calls // 6)
        first.kill()
        finish(first)
        answered = stored(divided / "out/shards/1-of-2/ledger.sqlite")
        seen = len(server.chats)
        both = [start(*given, "--shard", f"{number}/2", cwd=divided) for number in (1, 2)]
        assert [finish(process).code for process in both] == [0, 0]
        assert distinct(server.chats[seen:]).isdisjoint(answered)
        assert not (divided / "out/runs").exists()
        n_calls = len(server.chats)
        merged = finish(start("sweep", "sweep.yaml", "--merge", cwd=divided))
        assert merged.code == 0 and " replies merged, 0 present before" in merged.err
        once = undivided(divided)
        assert once == undivided(whole)
        again = finish(start("sweep", "sweep.yaml", "--merge", cwd=divided))
        assert again.code == 0 and "0 replies merged" in again.err
        assert undivided(divided) == once
        # The undivided command continues the merged sweep, and a shard of a longer file reads the sweep's ledger.
        for process in (start(*given, cwd=divided), start(*given, "--shard", "1/3", cwd=divided)):
            assert finish(process).code == 0
        assert len(server.chats) == n_calls


def undivided(folder: Path) -> dict[str, bytes]:
    """The files of a sweep without those of its shards."""
    found = files(folder / "out")
    return {name: content for name, content in found.items() if not name.startswith("shards/")}


def test_a_missing_shard_is_counted_and_can_follow(
    command: Command, write: Any, tmp_path: Path, server: StubThread
) -> None:
    folder = write(tmp_path / "a")
    merge = ("sweep", folder / "sweep.yaml", "--merge")
    assert "no shard there" in command(*merge).line()
    assert "expected i/n with i from 1 to n" in command(*swept(folder, server, "--shard", "3/2")).line()
    assert command(*swept(folder, server, "--shard", "2/2")).code == 0
    missing = command(*merge)
    assert missing.code == 3 and "has no reply" in missing.err
    assert command(*swept(folder, server, "--shard", "1/2")).code == 0
    assert command(*merge).code == 0
    # More shards than tasks: some have nothing to do.
    empty = [command(*swept(folder, server, "--shard", f"{number}/5")) for number in range(1, 6)]
    assert [one.code for one in empty] == [0] * 5
    assert sum("has no reports" in one.err for one in empty) == 3


def test_a_dry_run_counts_calls_tokens_and_hours_and_asks_nothing(
    command: Command, write: Any, tmp_path: Path, server: StubThread
) -> None:
    folder = write(tmp_path / "a")
    dry = swept(folder, server, "--dry-run", "--json")
    plan = json.loads(command(*dry, "--rate", "1000", "--rate", "warm=500").out)
    assert not server.chats and not (folder / "out").exists()
    assert (plan["runs"], plan["reports"]) == (2, 8)
    stages = {(one["judge"], one["stage"], one["estimated"]): one for one in plan["stages"]}
    assert set(stages) == {
        (j, s, s == "verification") for j in ("stub", "warm") for s in ("extraction", "verification")
    }
    # Both judges read the same: the slower one takes twice the time, from tokens / rate.
    stub, warm = plan["judges"]
    tokens = sum(
        one["prompt_tokens"] + one["output_tokens"] for one in plan["stages"] if one["judge"] == "stub"
    )
    assert stub["gpu_hours"] == pytest.approx(tokens / 1000 / 3600)
    assert warm["gpu_hours"] == pytest.approx(2 * stub["gpu_hours"]) and warm["rate_from"] == "--rate"
    unknown = json.loads(command(*dry).out)["judges"][0]
    assert unknown["gpu_hours"] is None and unknown["rate_from"].startswith("unknown: give --rate")
    # With one judge's replies in the ledger, only the other's calls are left.
    write(folder, sweep={"judges": ["../stub.yaml"]})
    assert command(*swept(folder, server)).code == 0
    n_calls = len(server.chats)
    write(folder)
    half = json.loads(command(*dry).out)
    calls = {
        judge: sum(one["calls"] for one in half["stages"] if one["judge"] == judge)
        for judge in ("stub", "warm")
    }
    assert calls["stub"] == 0 < calls["warm"] and len(server.chats) == n_calls
    assert sum(one["replayed"] for one in half["stages"] if one["judge"] == "stub") >= n_calls
    assert half["judges"][0]["rate_from"] == f"{n_calls} replies in the ledger"
    table = command(*swept(folder, server, "--dry-run")).out
    assert "GPU hours" in table and "about: one call for each page" in table
    for wrong in ("fast", "0", "stub=-1", "nan"):
        assert (
            "expected tokens per second"
            in command(*swept(folder, server, "--dry-run", "--rate", wrong)).line()
        )
    assert (
        "--rate other: no such judge"
        in command(*swept(folder, server, "--dry-run", "--rate", "other=1")).line()
    )
