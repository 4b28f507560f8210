"""Files of `configs/deploy`: run, or read by the tools that will read them, as far as that needs no cluster."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "configs" / "deploy"
LONG = 300
"""Seconds after which a test fails; a busy machine needs many for what takes milliseconds."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Path]:
    """A folder of programs that write down how they are called; `local-judge` works for as long as a file is there."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, more in (("local-judge", 'while [ -e "$BUSY" ]; do sleep 0.05; done'), ("scontrol", "")):
        path = programs / name
        path.write_text(
            f"#!/bin/bash\ntrap 'echo stopped >> \"$CALLS\"; exit 1' TERM\n"
            f'printf "%s\\n" "{name} $*" >> "$CALLS"\n{more}\n',
            encoding="utf-8",
        )
        path.chmod(0o755)
    yield tmp_path
    (tmp_path / "busy").unlink(missing_ok=True)


def start(cluster: Path, script: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["bash", str(DEPLOY / script), *arguments],
        env={
            "PATH": f"{cluster / 'bin'}:{os.environ['PATH']}",
            "CALLS": str(cluster / "calls"),
            "BUSY": str(cluster / "busy"),
            **variables,
        },
        stderr=subprocess.PIPE,
        text=True,
        cwd=cluster,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit status and standard error."""
    _, said = process.communicate(timeout=LONG)
    return process.returncode, said


def calls(cluster: Path) -> list[str]:
    path = cluster / "calls"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_job_evaluates_with_its_own_judge(cluster: Path) -> None:
    job = start(
        cluster, "slurm_run.sbatch", "my reports", "snap", "qwen3-14b", "runs/a", "--terse", SLURM_JOB_ID="7"
    )
    assert finish(job) == (0, "")
    assert calls(cluster) == [
        "local-judge run my reports --snapshot snap --judge qwen3-14b --serve --out runs/a --terse"
    ]


def test_each_task_of_an_array_takes_its_own_shard(cluster: Path) -> None:
    shards = cluster / "shards"
    shards.mkdir()
    for name in ("x00.jsonl", "x01.jsonl"):
        (shards / name).touch()
    for task in ("1", "0"):
        job = start(
            cluster, "slurm_array.sbatch", "shards", "snap", "qwen3-14b", "runs", SLURM_ARRAY_TASK_ID=task
        )
        assert finish(job) == (0, "")
    common = "--snapshot snap --judge qwen3-14b --serve --out runs"
    assert calls(cluster) == [
        f"local-judge run shards/x01.jsonl {common}/x01",
        f"local-judge run shards/x00.jsonl {common}/x00",
    ]
    job = start(cluster, "slurm_array.sbatch", "shards", "snap", "j", "runs", SLURM_ARRAY_TASK_ID="2")
    assert finish(job) == (2, "error: shards has 2 files, none for task 2: give --array=0-1\n")


def test_each_task_of_a_sweep_takes_its_own_shard(cluster: Path) -> None:
    job = start(cluster, "slurm_sweep.sbatch", "8", "my sweep.yaml", "--quiet", SLURM_ARRAY_TASK_ID="3")
    assert finish(job) == (0, "")
    assert calls(cluster) == ["local-judge sweep my sweep.yaml --shard 3/8 --serve --quiet"]


@pytest.mark.parametrize(
    ("script", "job"), [("slurm_run.sbatch", "7"), ("slurm_array.sbatch", "7_0")], ids=["run", "array"]
)
def test_before_the_time_limit_the_run_is_stopped_and_the_job_queued_again(
    cluster: Path, script: str, job: str
) -> None:
    (cluster / "busy").touch()
    (cluster / "shards").mkdir()
    (cluster / "shards" / "x00.jsonl").touch()
    variables = {"SLURM_JOB_ID": "7", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "0"}
    process = start(cluster, script, "shards", "snap", "qwen3-14b", "runs", **variables)
    until(lambda: bool(calls(cluster)))
    process.send_signal(signal.SIGTERM)  # as --signal=B:TERM@180 does
    assert finish(process)[0] == 0
    assert calls(cluster)[1:] == ["stopped", f"scontrol requeue {job}"]


@pytest.mark.parametrize(
    ("script", "job"), [("slurm_run.sbatch", "7"), ("slurm_array.sbatch", "7_0")], ids=["run", "array"]
)
def test_a_signal_while_the_run_starts_queues_the_job_again(cluster: Path, script: str, job: str) -> None:
    """The script stops itself where it would start the run: the signal comes before there is anything to stop."""
    (cluster / "shards").mkdir()
    (cluster / "shards" / "x00.jsonl").touch()
    text = (DEPLOY / script).read_text(encoding="utf-8")
    (cluster / script).write_text(
        text.replace("\nlocal-judge run", "\nkill -TERM $$\nlocal-judge run"), encoding="utf-8"
    )
    variables = {"SLURM_JOB_ID": "7", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "0"}
    process = start(cluster, str(cluster / script), "shards", "snap", "qwen3-14b", "runs", **variables)
    assert finish(process) == (0, "")
    assert calls(cluster) == [f"scontrol requeue {job}"]


@pytest.mark.parametrize("script", ["slurm_run.sbatch", "slurm_array.sbatch", "slurm_sweep.sbatch"])
def test_a_script_without_arguments_says_how_to_call_it(cluster: Path, script: str) -> None:
    job = start(cluster, script, "reports")
    code, said = finish(job)
    assert code == 2
    assert said.startswith("usage: sbatch ") and said.count("\n") == 1


def test_a_run_that_fails_fails_the_job(cluster: Path) -> None:
    (cluster / "bin" / "local-judge").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    job = start(cluster, "slurm_run.sbatch", "r", "s", "j", "o", SLURM_JOB_ID="7")
    assert finish(job) == (3, "")
    assert calls(cluster) == []


def test_the_image_copies_what_is_there_and_has_a_supported_vllm() -> None:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    copied = [word for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE) for word in line.split()]
    assert all((ROOT / name).exists() for name in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*packages["packages"], *(path.split("/")[0] for path in packages["force-include"])}
    assert needed | {"pyproject.toml", project["project"]["readme"], "LICENSE"} == set(copied)
    (vllm,) = map(Requirement, project["project"]["optional-dependencies"]["gpu"])
    found = re.search(r"^ARG VLLM_VERSION=(\S+)$", text, re.MULTILINE)
    assert found is not None and vllm.specifier.contains(found[1])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    program = tmp_path / ".local" / "bin" / "local-judge"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    unit = tmp_path / "local-judge@qwen3-14b.service"
    shutil.copy(DEPLOY / "local-judge@.service", unit)
    checked = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(unit)],
        env={**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")
