"""A judge on a script, and a snapshot of the sample's pages: fixtures of all tests that ask a judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.demo.outcome import sample_folder
from local_judge.judge.judge import Judge
from local_judge.ledger.ledger import Ledger
from serving.engines.scripted import Call, Reply, Script, ScriptedEngine
from tests.stub_replies import instance

MakeJudge = Callable[..., tuple[Judge, ScriptedEngine]]


def believe(call: Call) -> Reply:
    """A credulous judge: each sentence is one claim, all are supported, no quotation is given."""
    if call.options is not None:
        return {"Yes": 0.9, "No": 0.1}
    assert call.schema is not None
    reply: dict[str, Any] = instance(call.schema)
    sentences = dict(
        re.findall(r"^(\d+)\. L\d+\.S\d+: (.+)$", call.prompt.rpartition("Sentences:")[2], re.MULTILINE)
    )
    for number, item in reply.items():
        if "quote" not in item and "repeats" not in item:
            item.get("claims", [item])[0]["claim"] = sentences[number]
    return reply


@pytest.fixture
def make_judge(tmp_path: Path) -> Iterator[MakeJudge]:
    """Makes a judge that answers by a script, and gives its engine to look at what was asked.

    Each has a ledger of its own, but for those that are given the same `ledger`, by file name.
    """
    opened: list[Ledger] = []

    def make(
        script: Script = believe, *, ledger: str | None = None, **engine: Any
    ) -> tuple[Judge, ScriptedEngine]:
        scripted = ScriptedEngine(script, **engine)
        opened.append(Ledger.open(tmp_path / (ledger or f"ledger{len(opened)}.sqlite")))
        return Judge(scripted, opened[-1]), scripted

    yield make
    for replies in opened:
        replies.close()


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The pages of the sample report."""
    out = tmp_path_factory.mktemp("sample") / "snapshot"
    import_pages(sample_folder() / "pages", out, workers=0)
    return Snapshot.open(out)
