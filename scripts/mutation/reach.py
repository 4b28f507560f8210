"""Record of the tests that execute what is marked: a module and a pytest plugin in the root of a copied checkout.

Invariant: nothing here fails a test: what cannot be recorded, under a limit that the test sets, is left out.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

_hits: set[tuple[int, str]] = set()


def hit(number: int) -> None:
    """Record that the current test executes what is marked with this number; returns None, which is false."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if (number, test) not in _hits:
        _hits.add((number, test))
        _write("MUTANTS_HITS", [number, test])


def _write(variable: str, row: list[object]) -> None:
    if target := os.environ.get(variable):
        try:
            file = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(file, json.dumps(row).encode() + b"\n")
            os.close(file)
        except OSError:
            pass


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record the seconds of each part of a test, and whether it failed."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        _write("MUTANTS_TESTS", [report.nodeid, report.duration, report.failed])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that the file of `MUTANTS_SELECTED` lists."""
    if selected := os.environ.get("MUTANTS_SELECTED"):
        chosen = set(json.loads(Path(selected).read_text(encoding="utf-8")))
        items[:] = [item for item in items if item.nodeid in chosen]
