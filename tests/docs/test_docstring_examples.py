"""Public classes and functions of the interfaces that others build on have an example that runs."""

from __future__ import annotations

import doctest
import inspect
import json
from importlib import import_module
from pathlib import Path

import pytest

from indexes.making.importing import import_pages

PAGES = (
    {
        "url": "https://plant.example/lake",
        "text": "The heat pump has a capacity of 6.2 megawatts.",
        "fetched": "2025-02-03T09:12:49Z",
    },
    {"url": "https://gazette.example/opening-day", "status": "dead", "reason": "404 Not Found"},
)


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a snapshot of two pages."""
    root = tmp_path_factory.mktemp("examples")
    (root / "pages.jsonl").write_text("".join(f"{json.dumps(page)}\n" for page in PAGES), encoding="utf-8")
    import_pages(root, root / "snapshot")
    return root


@pytest.mark.parametrize(
    "name",
    ["serving.engine", "local_judge.protocols.base", "local_judge.protocols.metric", "indexes.snapshot"],
)
def test_examples_run(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    module = import_module(name)
    examples = [found for found in doctest.DocTestFinder().find(module) if found.examples]
    public = {
        f"{name}.{public}"
        for public, value in vars(module).items()
        if public[0] != "_"
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == name
    }
    assert {found.name for found in examples} >= public
    for found in examples:
        assert doctest.DocTestRunner().run(found).failed == 0, found.name
