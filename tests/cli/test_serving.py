"""`local-judge judge serve` ends when its server does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from serving.launch import RunningServer

from .conftest import Command


def test_a_server_that_ends_by_itself_ends_the_command(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ended: list[int] = []

    @contextmanager
    def short_lived(*given: Any, **options: Any) -> Generator[RunningServer]:
        process = subprocess.Popen([sys.executable, "-c", ""])
        try:
            yield RunningServer(
                base_url="http://127.0.0.1:1/v1",
                model="m",
                pid=process.pid,
                log=tmp_path / "server.log",
                seconds=0.1,
            )
        finally:
            ended.append(process.wait())  # the command has left it to be reaped here

    monkeypatch.setattr("local_judge.cli.judge.serve.launch", short_lived)
    result = command("judge", "serve", "qwen3-8b")
    assert (result.code, ended) == (1, [0])
    assert result.err.splitlines()[-1] == (
        f"local-judge: qwen3-8b: the server has stopped by itself (log: {tmp_path / 'server.log'})"
    )
