"""A long page, and claims made by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from indexes.making.importing import import_pages
from indexes.model import Page
from indexes.snapshot import Snapshot
from local_judge.claims.model import Claim
from local_judge.documents.model import Span

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
    given: dict[str, Any] = {"type": "A", **fields}
    return Claim(id=f"{identity}.1", text=text, sentence=identity, span=Span(start=0, end=1), **given)
