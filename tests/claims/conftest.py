"""A judge on a script, and a snapshot of the sample's pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from indexes.making.importing import import_pages
from indexes.model import Page
from indexes.snapshot import Snapshot
from local_judge.claims.model import Claim
from local_judge.demo.outcome import sample_folder
from local_judge.documents.model import Span
from local_judge.judge.judge import Judge
from local_judge.judge.ledger import Ledger
from serving.engines.scripted import Script, ScriptedEngine

MakeJudge = Callable[..., tuple[Judge, ScriptedEngine]]


@pytest.fixture
def make_judge(tmp_path: Path) -> Iterator[MakeJudge]:
    """Makes a judge that answers by a script, and gives its engine to look at what was asked."""
    opened: list[Ledger] = []

    def make(script: Script, context_tokens: int = 32_768, **options: Any) -> tuple[Judge, ScriptedEngine]:
        engine = ScriptedEngine(script, context_tokens=context_tokens, **options)
        ledger = Ledger.open(tmp_path / f"ledger{len(opened)}.sqlite")
        opened.append(ledger)
        return Judge(engine, ledger), engine

    yield make
    for ledger in opened:
        ledger.close()


@pytest.fixture(scope="session")
def sample_snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The pages of the sample report."""
    out = tmp_path_factory.mktemp("sample") / "snapshot"
    import_pages(sample_folder() / "pages", out, workers=0)
    return Snapshot.open(out)


TOPICS = ("copper", "barley", "cotton", "butter", "silver", "timber", "walnut", "tallow", "velvet", "pewter")


def paragraph(topic: str) -> str:
    """A heading and 949 characters on one topic: a chunk of its own, which repeats nothing, as a heading opens it."""
    return f"## Of {topic}\n\n" + " ".join(
        f"In year {1900 + n} the town traded {topic} worth {n} crowns a cask." for n in range(16)
    )


@pytest.fixture(scope="session")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> tuple[Snapshot, Page]:
    """A page of ten paragraphs, each a chunk of its own on a topic of its own."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "town.md").write_text(
        "\n\n".join(paragraph(topic) for topic in TOPICS) + "\n", encoding="utf-8"
    )
    (folder / "pages.jsonl").write_text(
        json.dumps({"url": "https://town.example/trade", "file": "town.md"}) + "\n"
    )
    import_pages(folder, folder / "snapshot", workers=0)
    snapshot = Snapshot.open(folder / "snapshot")
    return snapshot, snapshot.page("https://town.example/trade")


def claim(number: int, text: str, **fields: Any) -> Claim:
    """A claim of type A."""
    identity = f"L1.S{number}"
    given: dict[str, Any] = {"type": "A", "type_judged": "A", **fields}
    return Claim(id=f"{identity}.1", text=text, sentence=identity, span=Span(start=0, end=1), **given)
