"""`judge up`, `status` and `down` with processes that stand for vLLM."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from serving.judge_records import read_records, state_folder
from serving.preset_code import ALLOWING
from serving.presets import load_preset

from ..waiting import wait_until
from .conftest import Command, finish
from .machine import World, files, gone, lives, machine, start

pytestmark = pytest.mark.slow


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with machine(tmp_path, monkeypatch) as made:
        yield made


def test_a_judge_starts_is_listed_is_reused_and_stops(command: Command, world: World) -> None:
    preset = world.write()
    started = command("judge", "up", preset, "--detach")
    assert started.code == 0, started.err
    url = started.out.strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:8\d\d\d/v1", url)
    assert "tiny is ready; `local-judge judge down tiny` stops it. Use it with --judge tiny" in started.err
    [server] = world.starts()
    assert lives(server["pid"]) and lives(server["child"])
    assert server["env"]["HF_HUB_OFFLINE"] == "1"

    [listed] = json.loads(command("judge", "show", "--running", "--json").out)
    [replica] = listed["replicas"]
    assert (listed["name"], listed["model"], listed["detached"]) == ("tiny", "owner/tiny", True)
    shown = ("base_url", "state", "running", "waiting", "kv_usage", "pid")
    assert [replica[key] for key in shown] == [url, "ready", 0, 0, None, server["pid"]]
    table = command("judge", "show", "--running").out
    assert "tiny" in table and "ready" in table

    again = command("judge", "up", preset)
    assert (again.code, again.out.strip()) == (0, url)
    assert "tiny ran already; `local-judge judge down tiny` stops it" in again.err
    assert len(world.starts()) == 1

    stopped = command("judge", "down", "tiny")
    assert (stopped.code, stopped.err) == (0, "tiny is stopped\n")
    assert gone(server["pid"]) and gone(server["child"])
    assert (
        command("judge", "show", "--running").err
        == "no judge is running; start one: local-judge judge up NAME\n"
    )
    assert command("judge", "down", preset).line() == (
        "local-judge: tiny is not running on this machine; no judge is running"
    )


def test_each_group_of_gpus_gets_a_server(
    command: Command, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5")
    wide = world.write("wide", tensor_parallel=2)
    started = command("judge", "up", wide, "--detach", "--gpus", "0,1,2,3")
    assert len(started.out.split()) == 2, started.err
    assert sorted(one["env"]["CUDA_VISIBLE_DEVICES"] for one in world.starts()) == ["0,1", "2,3"]
    logs = {path.name for path in (world.folder / "home" / "logs").rglob("*.log")}
    assert len(logs) == 2 and all(name.startswith("wide-8") for name in logs)
    # The next judge takes what is left, and a third finds nothing.
    command("judge", "up", world.write("small"), "--detach")
    rest = sorted(one["env"]["CUDA_VISIBLE_DEVICES"] for one in world.starts()[2:])
    assert rest == ["4", "5"]
    ports = [one["arguments"][one["arguments"].index("--port") + 1] for one in world.starts()]
    assert len(set(ports)) == 4
    assert "all GPUs are used by running judges" in command("judge", "up", world.write("third")).line()
    taken = command("judge", "up", world.write("third"), "--gpus", "1,")
    assert "another judge uses GPU 1" in taken.line()
    # The same judge on other GPUs is not started beside itself.
    other = command("judge", "up", wide, "--gpus", "2").line()
    assert other.endswith("wide is running on GPUs 0,1,2,3; stop it first: local-judge judge down wide")
    assert command("judge", "down", "--all").err == "small is stopped\nwide is stopped\n"
    assert all(gone(one["pid"]) and gone(one["child"]) for one in world.starts())


@pytest.mark.parametrize(
    ("gpus", "visible", "said"),
    [
        ("3", "0,1", "--gpus 3: of 2 visible GPUs, 2 are free"),
        ("7,", "0,1", "--gpus 7,: no GPU 7; visible are: 0, 1"),
        ("0,0", "0,1", "--gpus 0,0: give a number of GPUs, or different ids such as 0,1"),
        ("0,1,2", "0,1,2", "wide: a replica needs 2 GPUs (vllm.tensor_parallel), and 3 are given"),
        (None, "0", "wide: a replica needs 2 GPUs (vllm.tensor_parallel), and 1 are free"),
    ],
)
def test_gpus_that_do_not_fit_are_refused(
    command: Command,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    gpus: str | None,
    visible: str,
    said: str,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    options = () if gpus is None else ("--gpus", gpus)
    ended = command("judge", "up", world.write("wide", tensor_parallel=2), *options)
    assert ended.code == 1
    assert said in ended.line()
    assert world.starts() == []


def test_a_server_that_fails_is_explained_and_nothing_is_left(command: Command, world: World) -> None:
    memory = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    ended = command("judge", "up", world.write(FAKE_LOG=memory), "--detach", ALLOWING)
    assert ended.code == 1
    [log] = (world.folder / "home" / "logs").rglob("*.log")
    assert ended.line().startswith("local-judge: tiny did not start: out of memory; ")
    assert re.search("context_tokens .*max_num_seqs, .*tensor_parallel, ", ended.line())
    assert ended.line().endswith(f" (log: {log})")
    assert read_records() == []
    assert gone(world.starts()[0]["child"])


def test_one_failing_replica_ends_the_others(
    command: Command, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    gate = world.folder / "gate"
    preset = world.write(FAKE_GPU="1", FAKE_LOG="ValueError: no", FAKE_GATE=str(gate))

    def fail() -> None:
        try:
            wait_until(lambda: len(world.starts()) == 2)
        finally:
            gate.touch()

    with ThreadPoolExecutor(1) as thread:
        failing = thread.submit(fail)
        ended = command("judge", "up", preset, "--detach", ALLOWING)
        failing.result()
    assert "did not start: it ended with status 1: ValueError: no" in ended.line()
    assert read_records() == []
    assert len(world.starts()) == 2
    assert all(gone(one["pid"]) and gone(one["child"]) for one in world.starts())


def test_a_server_that_was_killed_is_started_again(command: Command, world: World) -> None:
    preset = world.write()
    command("judge", "up", preset, "--detach")
    [first] = world.starts()
    os.kill(first["pid"], signal.SIGKILL)
    assert gone(first["pid"])
    assert lives(first["child"])  # holds a GPU's memory in the real server
    [listed] = json.loads(command("judge", "show", "--running", "--json").out)
    assert listed["replicas"][0]["state"] == "ended"
    again = command("judge", "up", preset, "--detach")
    assert again.code == 0, again.err
    assert "tiny is ready" in again.err
    assert gone(first["child"])
    assert len(world.starts()) == 2


def test_the_servers_of_another_slurm_job_are_not_used(
    command: Command, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = world.write()
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    first = command("judge", "up", preset, "--detach")
    monkeypatch.setenv("SLURM_JOB_ID", "18")
    second = command("judge", "up", preset, "--detach")
    assert first.out != second.out
    for job in ("17", "18"):
        monkeypatch.setenv("SLURM_JOB_ID", job)
        assert command("judge", "down", "tiny").err == "tiny is stopped\n"


def test_a_record_whose_number_belongs_to_another_process_is_stale(command: Command, world: World) -> None:
    preset = world.write()
    command("judge", "up", preset, "--detach")
    [first] = world.starts()
    command("judge", "down", "tiny")
    path = state_folder() / "tiny.json"
    command("judge", "up", preset, "--detach")
    record = json.loads(path.read_text(encoding="utf-8"))
    command("judge", "down", "tiny")
    # The number now belongs to this test, which started at another time.
    record["replicas"][0]["process"]["pid"] = os.getpid()
    path.write_text(json.dumps(record), encoding="utf-8")
    assert (
        json.loads(command("judge", "show", "--running", "--json").out)[0]["replicas"][0]["state"] == "ended"
    )
    assert command("judge", "down", "tiny").err == "tiny had ended already\n"
    assert gone(first["pid"])


def test_a_record_of_an_earlier_boot_ends_no_process(command: Command, world: World) -> None:
    # The leader of a group has ended, and its number is that of a server before the last boot.
    other = subprocess.Popen(
        ["setsid", "sh", "-c", "sleep 600 & echo $$ $!"], stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    leader, member = map(int, other.stdout.readline().split())
    other.stdout.close()
    other.wait()
    command("judge", "up", world.write(), "--detach")
    path = state_folder() / "tiny.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    command("judge", "down", "tiny")
    record["replicas"][0]["process"] = {"pid": leader, "started": "earlier/1"}
    path.write_text(json.dumps(record), encoding="utf-8")
    try:
        assert command("judge", "down", "tiny").err == "tiny had ended already\n"
        assert lives(member)
    finally:
        os.kill(member, signal.SIGKILL)


def test_a_judge_is_reused_only_on_the_gpus_and_the_address_asked_for(
    command: Command, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    up = ("judge", "up", world.write())
    assert command(*up, "--detach", "--gpus", "2,").code == 0
    assert command(*up, "--gpus", "2,").code == 0
    assert command(*up, "--gpus", "1").code == 0
    assert "on GPUs 2; stop it first" in command(*up, "--gpus", "2").line()
    assert "tiny is running on 127.0.0.1; stop it first" in command(*up, "--host", "0.0.0.0").line()


def test_a_server_that_refuses_the_key_is_named(
    command: Command, world: World, report: Path, snapshot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = world.write()
    command("judge", "up", preset, "--detach")
    monkeypatch.setattr("serving.running.answer_of", lambda url, key: (401, b""))  # pyright: ignore
    evaluate = ("run", report, "--judge", preset, "--snapshot", snapshot, *RUN, "--out", world.folder / "x")
    assert "refuses the API key: set LOCAL_JUDGE_API_KEY_TINY to" in command(*evaluate).line()


def test_a_preset_that_can_run_code_is_not_started_unless_the_user_allows_it(
    command: Command, world: World, report: Path, snapshot: Path
) -> None:
    preset = world.write(PYTHONPATH="elsewhere")
    evaluate = ("run", report, "--judge", preset, "--snapshot", snapshot, *RUN, "--out", world.folder / "x")
    for words in (("judge", "up", preset, "--detach"), (*evaluate, "--serve")):
        *_, refused = command(*words).err.splitlines()
        assert "tiny: vllm.env PYTHONPATH can run code on this machine" in refused
        assert refused.endswith(ALLOWING)
    assert world.starts() == []
    assert f"needs {ALLOWING}: vllm.env PYTHONPATH" in command("judge", "show", preset).out
    allowed = command("judge", "up", preset, "--dry-run", ALLOWING)
    assert allowed.code == 0 and "PYTHONPATH=elsewhere" in allowed.out
    run_file = world.folder / "eval.yaml"
    run_file.write_text("allow_preset_code: true\n", encoding="utf-8")
    assert "allow_preset_code" in command(*evaluate, run_file, "--serve").line()


def test_other_settings_under_the_same_name_are_not_started_twice(command: Command, world: World) -> None:
    command("judge", "up", world.write(), "--detach")
    ended = command("judge", "up", world.write(OMP_NUM_THREADS="1"), "--detach")
    assert ended.line().startswith("local-judge: tiny is running with other settings of the preset; ")
    assert ended.line().endswith(": local-judge judge down tiny")


def test_two_commands_at_once_start_one_server(world: World) -> None:
    gate = world.folder / "gate"
    preset = world.write(FAKE_GATE=str(gate))
    first = start("judge", "up", preset, "--detach", ALLOWING)
    wait_until(world.starts)
    second = start("judge", "up", preset, "--detach", ALLOWING)
    assert second.stderr is not None
    assert second.stderr.readline() == "waiting for another command that starts tiny\n"
    gate.touch()
    ended = [finish(one) for one in (first, second)]
    assert [one.code for one in ended] == [0, 0], ended
    assert ended[0].out == ended[1].out
    assert len(world.starts()) == 1
    assert ["ran already" in one.err for one in ended] == [False, True]


def test_ctrl_c_ends_a_judge_in_the_foreground(world: World) -> None:
    running = start("judge", "up", world.write())
    assert running.stdout is not None
    assert running.stdout.readline().startswith("http://127.0.0.1:")
    running.send_signal(signal.SIGINT)
    ended = finish(running)
    assert ended.code == 0
    assert ended.err.endswith("stopped\n")
    assert gone(world.starts()[0]["pid"]) and gone(world.starts()[0]["child"])
    assert read_records() == []


def test_ctrl_c_during_the_start_leaves_nothing(world: World) -> None:
    running = start("judge", "up", world.write(FAKE_GATE="never"), "--detach", ALLOWING)
    wait_until(world.starts)
    running.send_signal(signal.SIGINT)
    assert finish(running).code == 0
    assert gone(world.starts()[0]["pid"]) and gone(world.starts()[0]["child"])
    assert read_records() == []


def test_down_ends_a_judge_in_the_foreground(command: Command, world: World) -> None:
    running = start("judge", "up", world.write())
    assert running.stdout is not None
    running.stdout.readline()
    assert command("judge", "down", "tiny").err == "tiny is stopped\n"
    assert finish(running).code == 0


def test_a_server_that_ends_by_itself_ends_the_command(world: World) -> None:
    running = start("judge", "up", world.write())
    assert running.stdout is not None
    url = running.stdout.readline().strip()
    os.kill(world.starts()[0]["pid"], signal.SIGKILL)
    ended = finish(running)
    assert ended.code == 1
    assert f"local-judge: tiny: {url} has stopped by itself (log: " in ended.err
    assert gone(world.starts()[0]["child"])
    assert read_records() == []


def test_a_killed_command_leaves_a_judge_that_is_known(command: Command, world: World) -> None:
    running = start("judge", "up", world.write())
    assert running.stdout is not None
    url = running.stdout.readline()
    running.kill()
    running.communicate()
    assert command("judge", "up", world.write(), "--detach").out == url
    assert len(world.starts()) == 1
    assert command("judge", "down", "tiny").err == "tiny is stopped\n"


def test_the_key_reaches_the_server_and_nothing_else(
    command: Command, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_JUDGE_API_KEY", "common-key")
    monkeypatch.setenv("LOCAL_JUDGE_API_KEY_MY_2_5", "own-key")
    mine = world.write("my-2.5")
    shown = command("judge", "up", mine, "--dry-run").out
    assert shown.startswith('VLLM_API_KEY="$LOCAL_JUDGE_API_KEY_MY_2_5" ')
    started = command("judge", "up", mine, "--detach")
    assert started.code == 0, started.err
    [server] = world.starts()
    assert server["env"]["VLLM_API_KEY"] == "own-key"
    assert server["env"]["LOCAL_JUDGE_API_KEY"] is None
    assert "own-key" not in Path(f"/proc/{server['pid']}/cmdline").read_text(encoding="utf-8")
    written = [path for path in (world.folder / "home").rglob("*") if path.is_file()]
    assert written
    assert all(b"own-key" not in path.read_bytes() for path in written)
    assert "own-key" not in started.out + started.err + shown


RUN = ("--set", "deer.parts=[verification]")


@pytest.mark.parametrize("key", ["secret\n", "secret\nx: y", "secrét", "secret漢"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(
    command: Command, world: World, report: Path, snapshot: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    preset = world.write()
    said = "local-judge: LOCAL_JUDGE_API_KEY holds characters that no header can; look for a line end in it"
    monkeypatch.setenv("LOCAL_JUDGE_API_KEY", key)
    assert command("judge", "up", preset, "--detach").line() == said
    assert read_records() == []
    monkeypatch.delenv("LOCAL_JUDGE_API_KEY")
    command("judge", "up", preset, "--detach")
    monkeypatch.setenv("LOCAL_JUDGE_API_KEY", key)
    evaluate = ("run", report, "--judge", preset, "--snapshot", snapshot, *RUN, "--out", world.folder / "x")
    assert command(*evaluate).line() == said


def test_a_run_finds_the_running_judge(command: Command, world: World, report: Path, snapshot: Path) -> None:
    preset = world.write()
    evaluate = ("run", report, "--judge", preset, "--snapshot", snapshot, *RUN)
    missing = command(*evaluate, "--out", world.folder / "none")
    assert missing.line() == (
        "local-judge: tiny is not running: start it with `local-judge judge up tiny`, or add --serve, "
        "or give the URL of its server: --base-url http://HOST:8000/v1"
    )
    url = command("judge", "up", preset, "--detach").out.strip()
    found = command(*evaluate, "--out", world.folder / "found")
    assert found.code == 0, found.err
    assert found.err.startswith(f"tiny runs at {url}\n")
    assert len(read_records()) == 1  # it stays
    given = command(*evaluate, "--base-url", url, "--out", world.folder / "given")
    assert given.code == 0, given.err
    assert files(world.folder / "found") == files(world.folder / "given")


def test_a_run_starts_a_judge_and_stops_it(
    command: Command, world: World, report: Path, snapshot: Path
) -> None:
    preset = world.write()
    evaluate = ("run", report, "--judge", preset, "--snapshot", snapshot, *RUN)
    served = command(*evaluate, "--serve", "--out", world.folder / "served")
    assert served.code == 0, served.err
    [server] = world.starts()
    assert gone(server["pid"]) and gone(server["child"])
    assert read_records() == []
    # One that runs already is used, and stays.
    url = command("judge", "up", preset, "--detach").out.strip()
    reused = command(*evaluate, "--serve", "--out", world.folder / "reused")
    assert reused.err.startswith(f"tiny runs at {url}\n")
    assert len(world.starts()) == 2
    assert len(read_records()) == 1
    assert files(world.folder / "served") == files(world.folder / "reused")


def test_a_judge_that_a_killed_run_left_is_used_and_stopped(
    command: Command, world: World, report: Path, snapshot: Path
) -> None:
    gate = world.folder / "gate"
    preset = world.write(FAKE_GATE=str(gate))
    evaluate = ("run", report, "--judge", preset, "--snapshot", snapshot, *RUN, "--serve", ALLOWING)
    first = start(*evaluate, "--out", world.folder / "first")
    wait_until(lambda: read_records() and world.starts())
    first.kill()
    first.communicate()
    gate.touch()
    second = command(*evaluate, "--out", world.folder / "second")
    assert second.code == 0, second.err
    [server] = world.starts()
    assert gone(server["pid"]) and gone(server["child"])


def test_a_server_that_serves_something_else_is_not_used(
    command: Command, world: World, report: Path, snapshot: Path
) -> None:
    preset = world.write(FAKE_CONTEXT="4096")
    command("judge", "up", preset, "--detach", ALLOWING)
    ended = command(
        "run", report, "--judge", preset, "--snapshot", snapshot, *RUN, "--out", world.folder / "x"
    )
    assert "does not serve owner/tiny with a context of 32768 tokens" in ended.line()


def test_a_judge_that_is_starting_is_not_used_yet(
    command: Command, world: World, report: Path, snapshot: Path
) -> None:
    preset = world.write(FAKE_GATE="never")
    starting = start("judge", "up", preset, "--detach", ALLOWING)
    wait_until(read_records)
    ended = command(
        "run", report, "--judge", preset, "--snapshot", snapshot, *RUN, "--out", world.folder / "x"
    )
    assert "tiny is still starting; `local-judge judge up tiny` waits until it is ready" in ended.line()
    assert command("judge", "down", "tiny").err == "tiny is stopped\n"
    ended = finish(starting)
    assert ended.code == 1
    assert "tiny did not start: it was killed by SIGTERM" in ended.err


def test_a_dry_run_prints_a_line_for_each_server(command: Command, world: World) -> None:
    ended = command("judge", "up", "qwen3-32b", "--dry-run", "--gpus", "4", "--port", "9000")
    lines = ended.out.splitlines()
    words = shlex.split(lines[0])
    assert "vllm.entrypoints.openai.api_server" in words and "HF_HUB_OFFLINE=1" in words
    assert ["CUDA_VISIBLE_DEVICES=0,1 " in lines[0], "CUDA_VISIBLE_DEVICES=2,3 " in lines[1]] == [True, True]
    assert "--port 9000 " in lines[0] and "--port 9001 " in lines[1]
    assert "--data-parallel-size" not in ended.out
    shared = load_preset("qwen3-32b").model_dump(exclude={"name"}, exclude_defaults=True)
    shared["vllm"]["expert_parallel"] = True
    path = world.folder / "experts.yaml"
    path.write_text(json.dumps(shared, default=str), encoding="utf-8")
    [line] = command("judge", "up", path, "--dry-run", "--gpus", "4").out.splitlines()
    assert "CUDA_VISIBLE_DEVICES=0,1,2,3 " in line
    assert "--tensor-parallel-size 2 --data-parallel-size 2 --enable-expert-parallel" in line


def test_a_judge_in_process_has_no_server(command: Command, world: World) -> None:
    ended = command("judge", "up", "qwen2.5-coder-1.5b")
    assert "starts no servers for engine: openvino" in ended.line()


def test_a_preset_for_gpus_is_refused_before_its_weights_are_fetched(command: Command, world: World) -> None:
    ended = command("judge", "up", "qwen3-8b")
    assert ended.code == 1
    assert "qwen3-8b needs a GPU, and nvidia-smi lists none" in ended.line()


def test_a_taken_port_is_named(command: Command, world: World) -> None:
    command("judge", "up", world.write(), "--detach")
    [url] = [one.base_urls[0] for one in read_records()]
    port = url.rpartition(":")[2].removesuffix("/v1")
    ended = command("judge", "up", world.write("other"), "--port", port)
    assert f"port {port} on 127.0.0.1 cannot be used (Address already in use)" in ended.line()


def test_down_needs_one_name_or_all(command: Command, world: World) -> None:
    for arguments in ((), ("tiny", "--all")):
        assert "name one judge to stop, or give --all" in command("judge", "down", *arguments).line()


def test_presets_that_differ_in_sampling_share_their_servers(
    command: Command, world: World, report: Path, snapshot: Path
) -> None:
    steady, warm = world.write("steady"), world.folder / "warm.yaml"
    warm.write_text(f"{steady.read_text(encoding='utf-8')}sampling: {{temperature: 0.6}}\n", encoding="utf-8")
    url = command("judge", "up", steady, "--detach").out
    again = command("judge", "up", warm, "--detach")
    assert (again.out, len(world.starts())) == (url, 1)
    evaluate = ("run", report, "--snapshot", snapshot, *RUN, "--out", world.folder / "both")
    ended = command(*evaluate, "--judge", steady, "--judge", warm)
    assert ended.code == 0, ended.err
    assert command("judge", "down", warm).err == "steady is stopped\n"
