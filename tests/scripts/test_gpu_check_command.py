"""The command line of the check of a judge: nothing is installed before it is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "gpu_check"


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["--help"], 0, "--random-weights"),
        (["--layers", "1"], 2, "error: --layers needs --random-weights, and a number of at least 1"),
        (["--random-weights", "--layers", "0"], 2, "error: --layers needs"),
        (["--pack", "."], 1, "error: . exists; name a new folder"),
        (["--pack", "new", "--python", "python3"], 1, "error: --python python3: give a version such as 3.12"),
    ],
)
def test_no_environment_is_made(tmp_path: Path, arguments: list[str], status: int, text: str) -> None:
    home = tmp_path / "home"
    env = {**os.environ, "LOCAL_JUDGE_HOME": str(home), "PYTHON": sys.executable}
    ended = subprocess.run(
        [str(SCRIPT), *arguments], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert ended.returncode == status, ended.stderr
    assert text in ended.stdout + ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_python_without_torch_is_one_line() -> None:
    command = [sys.executable, "-S", "-m", "scripts.benchmarking.gpu_check_command", "--random-weights"]
    ended = subprocess.run(command, cwd=SCRIPT.parents[1], capture_output=True, text=True, check=False)
    assert ended.returncode == 1 and ended.stdout == ""
    [line] = ended.stderr.splitlines()
    assert line.startswith("error: ") and "has no torch and no transformers and no pydantic" in line
