"""Launching: the command line that a preset means, and failures that can be read."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from serving.errors import LaunchFailed, PresetError, WeightsMissing
from serving.launch import check_port, command, command_line, free_ports, launch
from serving.presets import load_preset
from serving.processes import (
    Process,
    Program,
    end,
    explain,
    members_of,
    process,
    start,
    wait_until_healthy,
)

from ..waiting import SECONDS, wait_until

FACTS: Mapping[str, str] = {
    "name": "tiny",
    "model": "/models/tiny",
    "port": "8000",
    "python": "/usr/bin/python",
}

HEALTHY = """
import http.server, os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid, flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def program(words: list[str], log: Path, port: int = 9) -> Program:
    facts = {**FACTS, "port": str(port)}
    return Program(words, os.environ, f"http://127.0.0.1:{port}/health", log, facts)


async def run(server: Program, seconds: float = SECONDS) -> Process:
    """Start a server and wait for it; a failure leaves nothing."""
    running = start(server)
    try:
        await wait_until_healthy([(running, server)], seconds)
    except LaunchFailed:
        end([running])
        raise
    return running


def flag(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def test_a_preset_becomes_a_command_line() -> None:
    words = command(load_preset("qwen3-32b"), model=Path("/models/q"), port=8123, python="py")
    assert words[:5] == ["py", "-m", "vllm.entrypoints.openai.api_server", "--model", "/models/q"]
    assert flag(words, "--served-model-name") == "Qwen/Qwen3-32B"
    assert flag(words, "--host") == "127.0.0.1"
    assert flag(words, "--port") == "8123"
    assert flag(words, "--max-model-len") == "32768"
    assert flag(words, "--tensor-parallel-size") == "2"
    assert flag(words, "--reasoning-parser") == "qwen3"
    assert flag(words, "--generation-config") == "vllm"
    assert json.loads(flag(words, "--structured-outputs-config"))["disable_any_whitespace"] is True
    assert "--enable-prefix-caching" in words and "--enable-prompt-tokens-details" in words


def test_settings_of_a_family_become_flags() -> None:
    mistral = command(load_preset("mistral-small-3.2-24b"), model=Path("/m"))
    assert flag(mistral, "--tokenizer-mode") == flag(mistral, "--load-format") == "mistral"
    plain = load_preset("qwen3-8b")
    assert not {"--tokenizer-mode", "--hf-overrides"} & set(command(plain, model=Path("/m")))
    longer = plain.model_copy(update={"context_tokens": 131_072})
    overrides = json.loads(flag(command(longer, model=Path("/m")), "--hf-overrides"))
    assert overrides["rope_parameters"]["factor"] == 4.0
    assert "VLLM_SYSTEM_START_DATE=2026-01-01" in command_line(load_preset("gpt-oss-20b"))
    assert "VLLM_BATCH_INVARIANT=1" in command_line(load_preset("qwen3-8b-invariant"))


def test_the_same_server_serves_thinking_on_and_off() -> None:
    model = Path("/models/q")
    assert command(load_preset("qwen3-8b"), model=model) == command(
        load_preset("qwen3-8b-thinking"), model=model
    )


def test_a_dry_run_needs_no_weights_and_shows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_JUDGE_HOME", str(tmp_path))
    line = command_line(load_preset("qwen2.5-coder-0.5b-vllm"))
    assert line.startswith("HF_HUB_OFFLINE=1 ")
    assert "VLLM_NO_USAGE_STATS=1" in line and "VLLM_CPU_KVCACHE_SPACE=4" in line
    assert f"--model {tmp_path}/models/qwen2.5-coder-0.5b-instruct-q4_k_m-float32 " in line
    assert line.endswith("--max-num-batched-tokens 16384")
    assert "--gpu-memory-utilization" not in line


def test_an_embedded_preset_is_not_served() -> None:
    with pytest.raises(PresetError, match="starts no servers for engine: openvino"):
        command(load_preset("qwen2.5-coder-1.5b"), model=Path("/models/q"))


def test_missing_weights_are_told_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_JUDGE_HOME", str(tmp_path))
    with (
        pytest.raises(WeightsMissing, match="local-judge judge fetch qwen3-8b"),
        launch(load_preset("qwen3-8b")),
    ):
        pass


def test_a_taken_port_is_named(port: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with pytest.raises(LaunchFailed, match=rf"port {port} on 127\.0\.0\.1 cannot be used .*--port"):
            check_port("127.0.0.1", port)
    check_port("127.0.0.1", port)


def test_a_number_that_is_no_port_is_named() -> None:
    with pytest.raises(LaunchFailed, match=r"port 70000 .* from 1 to 65535"):
        check_port("127.0.0.1", 70_000)


@pytest.fixture
def port(ports: Callable[[int], list[int]]) -> int:
    return ports(1)[0]


def test_ports_are_reserved_until_their_servers_have_taken_them() -> None:
    with ExitStack() as held:
        first, second = free_ports("127.0.0.1", 2, held)
        assert 8000 <= first < second
        with ExitStack() as other:
            assert free_ports("127.0.0.1", 1, other)[0] not in (first, second)


def test_a_host_of_another_machine_is_named() -> None:
    with pytest.raises(LaunchFailed, match=r"nothing can listen on 203\.0\.113\.7 .*--host"):
        free_ports("203.0.113.7", 1, ExitStack())


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LaunchFailed, match=r"the log .* cannot be written"):
        start(program(["true"], tmp_path / "file" / "log"))


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            "out of memory; lower context_tokens or max_num_seqs, or raise tensor_parallel, in the preset",
        ),
        (
            "ValueError: 9 GiB KV cache is needed, larger than the available KV cache memory (3 GiB)",
            "out of memory; lower context_tokens or max_num_seqs, or raise tensor_parallel, in the preset",
        ),
        (
            "ValueError: Free memory on device cuda:0 (10.2/79.1 GiB) on startup is less than desired GPU memory "
            "utilization (0.9, 71.2 GiB).",
            "another process uses the GPU's memory (free: 10.2/79.1 GiB); end it, choose other GPUs with --gpus, or "
            "lower gpu_memory_utilization in the preset",
        ),
        (
            "ValueError: To serve at least one request with max seq len (32768), 4.5 GiB KV cache is needed, which is "
            "larger than the available KV cache memory (3.1 GiB). Based on the available memory, the estimated maximum "
            "model length is 22000.",
            "out of memory: the KV cache holds at most 22000 tokens; set context_tokens to that or less in the preset, "
            "or raise tensor_parallel",
        ),
        (
            "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
            "the NVIDIA driver is too old for this vLLM's CUDA (11040); update the driver, or install a vLLM built for "
            "an older CUDA",
        ),
        (
            "ValueError: Model architectures ['Qwen9ForCausalLM'] are not supported for now. Supported: ...",
            "this vLLM or transformers is too old for the model (Model architectures ['Qwen9ForCausalLM'] are not "
            "supported); install a newer vLLM, or choose another preset",
        ),
        (
            "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU",
            "this GPU is too old for the preset (compute capability of at least 8.0); set vllm.dtype to float16, or "
            "choose another preset",
        ),
        (
            "RuntimeError: Failed to infer device type, please set",
            "there is no GPU that vLLM can use; a preset for CPUs is qwen2.5-coder-1.5b",
        ),
        (
            "/usr/bin/python: Error while finding module (ModuleNotFoundError: No module named 'vllm')",
            "vLLM is not installed in /usr/bin/python: in the checkout, pip install '.[gpu]'",
        ),
        (
            "usage: api_server.py [...]\napi_server.py: error: unrecognized arguments: --no-such-flag",
            "this vLLM does not know a flag of the preset (unrecognized arguments: --no-such-flag); "
            "change vllm.args or the version of vLLM",
        ),
        (
            "OSError: [Errno 98] Address already in use",
            "another program took port 8000; repeat the command, or choose another port with --port",
        ),
        (
            "OSError: /models/tiny does not appear to have a file named config.json.",
            "the weights in /models/tiny are missing or incomplete; fetch them: local-judge judge fetch tiny",
        ),
        ("INFO starting\nKeyError: 'qwen9'\nINFO bye", "it ended with status 1: KeyError: 'qwen9'"),
        ("", "it ended with status 1: it wrote nothing"),
    ],
)
def test_a_log_becomes_one_line(log: str, message: str) -> None:
    assert explain(log, 1, FACTS) == message


def test_a_killed_server_is_said_to_be_killed() -> None:
    assert explain("loading", -signal.SIGKILL, FACTS) == "it was killed by SIGKILL: loading"


async def test_a_server_that_dies_is_explained(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "raise SystemExit('RuntimeError: no such thing')"]
    with pytest.raises(LaunchFailed) as caught:
        await run(program(words, tmp_path / "log"))
    assert str(caught.value) == (
        f"tiny did not start: it ended with status 1: RuntimeError: no such thing (log: {tmp_path}/log)"
    )


def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(LaunchFailed, match="tiny: cannot run /no/python: No such file or directory"):
        start(program(["/no/python"], tmp_path / "log"))


async def test_a_server_that_never_answers_is_ended(tmp_path: Path, port: int) -> None:
    words = [sys.executable, "-c", "import time; print('warming up', flush=True); time.sleep(600)"]
    with pytest.raises(LaunchFailed, match="no answer in time; its last words: "):
        await run(program(words, tmp_path / "log", port), seconds=0.5)


async def test_nothing_of_a_server_is_left_when_it_is_ended(tmp_path: Path, port: int) -> None:
    running = await run(program([sys.executable, "-c", HEALTHY, str(port)], tmp_path / "log", port))
    child = int((tmp_path / "log").read_text(encoding="utf-8").split()[1])
    assert running.lives
    os.kill(child, 0)
    end([running])
    assert not running.lives
    assert gone(child)


async def test_another_program_on_the_port_is_not_the_server(tmp_path: Path, port: int) -> None:
    other = await run(program([sys.executable, "-c", HEALTHY, str(port)], tmp_path / "other", port))
    idle = [sys.executable, "-c", "import time; print('loading', flush=True); time.sleep(600)"]
    with pytest.raises(LaunchFailed, match="no answer in time"):
        await run(program(idle, tmp_path / "log", port), seconds=1.0)
    end([other])


async def test_the_children_of_a_killed_server_are_ended(tmp_path: Path, port: int) -> None:
    running = await run(program([sys.executable, "-c", HEALTHY, str(port)], tmp_path / "log", port))
    child = int((tmp_path / "log").read_text(encoding="utf-8").split()[1])
    os.kill(running.pid, signal.SIGKILL)
    assert gone(running.pid)
    end([running])
    assert gone(child)


def test_another_process_with_the_number_of_a_server_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as other:
        there = process(other.pid)
        assert there is not None
        end([Process(pid=other.pid, started="an earlier boot/17")])
        assert there.lives
        other.kill()


def leader(*, ends: bool) -> tuple[subprocess.Popen[str], int]:
    """A process with a group of its own, and the number of its child; with `ends`, it is reaped and the child stays."""
    then = "exit" if ends else "exec sleep 600"
    words = ["bash", "-c", f"sleep 600 & echo $!; {then}"]
    made = subprocess.Popen(
        words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True, text=True
    )
    assert made.stdout is not None
    with made.stdout:
        child = int(made.stdout.readline())
    if ends:
        made.wait()
    return made, child


def test_of_a_server_that_is_gone_only_recorded_processes_are_ended() -> None:
    made, child = leader(ends=False)
    server = process(made.pid)
    assert server is not None
    members = members_of([server])
    assert {one.pid for one in members} == {made.pid, child}
    made.kill()
    made.wait()  # its number is free from now on
    end([server])
    assert process(child) in members
    end([server], members)
    assert gone(child)


LAST_PID = Path("/proc/sys/kernel/ns_last_pid")


@pytest.mark.skipif(not os.access(LAST_PID, os.W_OK), reason="needs root, to choose the number of a process")
def test_a_group_with_the_number_of_a_server_is_left_alone() -> None:
    """The number of a dead server went to another program, which left a process in its group and ended too."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as made:
        server = process(made.pid)
        assert server is not None
        members = members_of([server])
        made.kill()
    for _ in range(200):  # another process may take the number first
        LAST_PID.write_text(str(server.pid - 1), encoding="ascii")
        other, job = leader(ends=True)
        if other.pid == server.pid:
            break
        os.kill(job, signal.SIGKILL)
    else:
        pytest.skip("the number was never free")
    end([server], members)
    assert process(job) is not None
    os.kill(job, signal.SIGKILL)


@pytest.mark.parametrize("pid", [1, 0, -1, -4711])
def test_numbers_that_stand_for_other_processes_are_no_server(pid: int) -> None:
    """kill(2): 0 and negative numbers are groups, -1 is everything; 1 is the first process of the machine."""
    with pytest.raises(ValueError, match="greater than 1"):
        Process(pid=pid, started="boot/17")


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_command_ends_the_server_too(
    tmp_path: Path, port: int, sign: signal.Signals
) -> None:
    code = tmp_path / "serve.py"
    code.write_text(
        textwrap.dedent(f"""
            import asyncio, os, signal, sys, time
            from pathlib import Path
            from serving.processes import Program, end, start, stopping_on_signals, wait_until_healthy
            signal.signal({int(sign)}, signal.SIG_DFL)  # where the tests themselves run under nohup it is ignored
            server = Program(
                [sys.executable, "-c", {HEALTHY!r}, "{port}"], os.environ, "http://127.0.0.1:{port}/health",
                Path({str(tmp_path / "log")!r}), {{**{dict(FACTS)!r}, "port": "{port}"}},
            )
            with stopping_on_signals():
                running = start(server)
                try:
                    asyncio.run(wait_until_healthy([(running, server)], {SECONDS}))
                    print("up", flush=True)
                    time.sleep(600)
                finally:
                    end([running])
        """),
        encoding="utf-8",
    )
    root = str(Path(__file__).parents[2])
    with subprocess.Popen(
        [sys.executable, str(code)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root}
    ) as outer:
        assert outer.stdout is not None
        assert outer.stdout.readline() == b"up\n"
        child = int((tmp_path / "log").read_text(encoding="utf-8").split()[1])
        outer.send_signal(sign)
        try:
            assert outer.wait(timeout=SECONDS) == 128 + sign
        finally:
            outer.kill()
    assert gone(child)


async def test_a_second_interrupt_leaves_no_server_either(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + HEALTHY
    running = await run(program([sys.executable, "-c", deaf, str(port)], tmp_path / "log", port))
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            raise KeyboardInterrupt  # while the server, which does not listen, is asked to end

    monkeypatch.setattr("serving.processes.time.sleep", pause)
    with pytest.raises(KeyboardInterrupt):
        end([running])
    monkeypatch.undo()
    assert not running.lives
    assert gone(int((tmp_path / "log").read_text(encoding="utf-8").split()[1]))


def gone(pid: int) -> bool:
    """Wait for the end of a process; an orphan is reaped by init a moment after its end."""
    wait_until(lambda: process(pid) is None)
    return True
