"""Execution of a module of this package in a separate process.

Invariant: this very package is run, whatever the working directory holds.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parents[2])


def child_command(module: str) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment that run `module` as a program."""
    path = os.environ.get("PYTHONPATH")
    env = {
        **os.environ,
        "PYTHONPATH": f"{_ROOT}{os.pathsep}{path}" if path else _ROOT,
        # One thread each: there are as many processes as there should be threads, and each thread's stack and
        # arena count against the process's memory.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    # -P: the working directory is no place to import from.
    return [sys.executable, "-P", "-m", module], env
