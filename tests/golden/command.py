"""The command `python -m tests.golden FILE`.

Invariant: it ends with 0 only if every case in the file has a known shape and matches.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.golden.compare import GoldenError, check, load, report


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every case matches, 1 if one does not or has an unknown shape, 2 for a bad file."""
    parser = argparse.ArgumentParser(prog="golden", description="Run a file of golden vectors.")
    parser.add_argument("file", type=Path, metavar="FILE", help="JSON: a list of cases, or lists by name")
    path: Path = parser.parse_args(arguments).file
    try:
        results = [check(name, cases) for name, cases in load(path).items()]
    except GoldenError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for result in results:
        for line in report(result):
            print(line)
    return 0 if all(result.passed for result in results) else 1
