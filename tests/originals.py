"""Running the published projects' own scripts on our files.

Invariant: what a script computes is its own; only packages that do not touch its numbers are replaced: a clock
(`pandas`), a progress bar (`tqdm`), a package whose import needs a key of a web service (`utils`), and a client of one
(`openai`), whose use ends the script.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

STUBS = {
    "openai.py": (
        "class OpenAI:\n"
        "    def __init__(self, **settings): pass\n"
        "    def __getattr__(self, name): raise SystemExit('the script asks its judge')\n"
    ),
    "pandas.py": "from datetime import datetime as Timestamp\n",
    "tqdm.py": "def tqdm(rows):\n    return rows\n",
    "utils.py": "from io_utils import load_jsonl\n",  # the script's neighbour has the function itself
}


def run_original(script: Path, scratch: Path, *args: str | Path) -> str:
    """Run a published script in a process of its own, in `scratch`, and return what it prints.

    Args:
        script: of the copy of the published project; the test is skipped where it is absent.
        scratch: where stand-ins for its packages are written, and what it writes to no named place.
        args: of its command line.

    Raises:
        AssertionError: it ended with an error, which the message quotes.
    """
    if not script.is_file():
        pytest.skip(f"no published code at {script}")
    stubs = scratch / "stubs"
    stubs.mkdir(exist_ok=True)
    for name, text in STUBS.items():
        (stubs / name).write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, str(script), *map(str, args)],
        cwd=scratch,
        env={**os.environ, "PYTHONPATH": str(stubs), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
