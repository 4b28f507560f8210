"""A judge on a script, and a snapshot of the sample's pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.demo.outcome import sample_folder
from local_judge.judge.judge import Judge
from local_judge.judge.ledger import Ledger
from serving.engines.scripted import Script, ScriptedEngine

MakeJudge = Callable[..., tuple[Judge, ScriptedEngine]]


@pytest.fixture
def make_judge(tmp_path: Path) -> Iterator[MakeJudge]:
    """Makes a judge that answers by a script, and gives its engine to look at what was asked."""
    opened: list[Ledger] = []

    def make(script: Script, **engine: Any) -> tuple[Judge, ScriptedEngine]:
        scripted = ScriptedEngine(script, **engine)
        opened.append(Ledger.open(tmp_path / f"ledger{len(opened)}.sqlite"))
        return Judge(scripted, opened[-1]), scripted

    yield make
    for ledger in opened:
        ledger.close()


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The pages of the sample report."""
    out = tmp_path_factory.mktemp("sample") / "snapshot"
    import_pages(sample_folder() / "pages", out, workers=0)
    return Snapshot.open(out)
