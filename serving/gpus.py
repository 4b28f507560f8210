"""GPUs of this machine, and their division into replicas of a judge."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

from serving.errors import LaunchFailed
from serving.presets import Preset

VISIBLE = "CUDA_VISIBLE_DEVICES"

_AMD = Path("/dev/kfd")
"""Device of AMD's driver, whose GPUs vLLM can use and nvidia-smi does not list."""


def visible_gpus() -> tuple[str, ...]:
    """Return the ids of the GPUs that a process started here can use: those in CUDA_VISIBLE_DEVICES, or all.

    Raises:
        LaunchFailed: nvidia-smi fails.
    """
    if (named := os.environ.get(VISIBLE)) is not None:
        return tuple(one.strip() for one in named.split(",") if one.strip() not in ("", "-1"))
    command = shutil.which("nvidia-smi")
    if command is None:
        return ()
    query = [command, "--query-gpu=index", "--format=csv,noheader"]
    try:
        listed = subprocess.run(query, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchFailed(f"nvidia-smi cannot be run ({error}); check the NVIDIA driver") from None
    lines = listed.stdout.split()
    if listed.returncode != 0 or not all(line.isdecimal() for line in lines):
        output = (listed.stdout + listed.stderr).strip().splitlines() or ["no reason given"]
        raise LaunchFailed(f"nvidia-smi fails ({output[0][:200]}); check the NVIDIA driver")
    return tuple(lines)


def chosen_gpus(wanted: str | None, visible: Sequence[str], used: Collection[str] = ()) -> tuple[str, ...]:
    """Return the GPUs to use.

    Args:
        wanted: A number of GPUs, or ids with commas; `2,` is the GPU 2 alone. None for all that are not used.
        visible: GPUs of this machine; empty if they are unknown, and any are accepted.
        used: GPUs that other judges use.

    Raises:
        LaunchFailed: GPUs are used, are not there, or are named twice.
    """
    free = [gpu for gpu in visible if gpu not in used]
    if wanted is None:
        if visible and not free:
            raise LaunchFailed("all GPUs are used by running judges; stop one: local-judge judge down NAME")
        return tuple(free)
    if wanted.isdecimal():
        number = int(wanted)
        if not visible:
            return tuple(map(str, range(number)))
        if not 1 <= number <= len(free):
            raise LaunchFailed(f"--gpus {wanted}: of {len(visible)} visible GPUs, {len(free)} are free")
        return tuple(free[:number])
    named = [one.strip() for one in wanted.split(",") if one.strip()]
    for gpu in named:
        if visible and gpu not in visible:
            raise LaunchFailed(f"--gpus {wanted}: no GPU {gpu}; visible are: {', '.join(visible)}")
        if gpu in used:
            raise LaunchFailed(
                f"--gpus {wanted}: another judge uses GPU {gpu} (`local-judge judge show --running`)"
            )
    if not named or len(set(named)) < len(named):
        raise LaunchFailed(f"--gpus {wanted}: give a number of GPUs, or different ids such as 0,1")
    return tuple(named)


def groups_of(preset: Preset, gpus: Sequence[str], exactly: bool) -> list[tuple[str, ...]]:
    """Return the GPUs of each replica: as many as the preset's `tensor_parallel`; one empty group without GPUs.

    Args:
        preset: Preset with `engine: vllm`.
        gpus: GPUs to use.
        exactly: Refuse to leave some of them unused.

    Raises:
        LaunchFailed: There are too few for one replica, or some would be left unused.
    """
    assert preset.vllm is not None
    size = preset.vllm.tensor_parallel
    if not gpus:
        return [()]
    number, left = divmod(len(gpus), size)
    if number == 0 or (exactly and left):
        have = (
            f"{len(gpus)} {'is' if len(gpus) == 1 else 'are'} given" if exactly else f"{len(gpus)} are free"
        )
        raise LaunchFailed(
            f"{preset.name}: a replica needs {size} GPUs (vllm.tensor_parallel), and {have}; choose others with "
            "--gpus, or change tensor_parallel in a copy of the preset"
        )
    return [tuple(gpus[start : start + size]) for start in range(0, number * size, size)]


def check_accelerator(preset: Preset, visible: Sequence[str]) -> None:
    """Refuse a preset for GPUs on a machine without one, before its weights are fetched.

    Raises:
        LaunchFailed: There is no GPU.
    """
    needs = preset.vllm is not None and preset.vllm.gpu_memory_utilization is not None
    if needs and not visible and not _AMD.exists():
        raise LaunchFailed(
            f"{preset.name} needs a GPU, and nvidia-smi lists none; a preset for CPUs is qwen2.5-coder-1.5b "
            "(--dry-run prints the commands anyway)"
        )
