"""Agents on real pages: encyclopedia leads, with a judge that reads what it is shown."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.agents.ask import ask_question
from local_judge.agents.result import AgentLimits
from local_judge.agents.toolbox import Toolbox
from serving.engines.scripted import Call, Reply

from ..scripted_judge import MakeJudge
from .conftest import act

N_PAGES = 400


@pytest.fixture(scope="module")
def wiki(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Snapshot, list[dict[str, Any]]]:
    """The first pages of the encyclopedia."""
    source = shared / "data" / "wiki" / "summaries_en.jsonl.gz"
    if not source.is_file():
        pytest.skip(f"no real data at {source}")
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line, _ in zip(lines, range(N_PAGES), strict=False)]
    folder = tmp_path_factory.mktemp("wiki")
    kept = ({key: row[key] for key in ("url", "title", "text")} for row in rows)
    (folder / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    import_pages(folder, folder / "snapshot", workers=0)
    return Snapshot.open(folder / "snapshot"), rows


def read_and_quote(call: Call) -> Reply:
    """Searches for the question, opens the best page, and answers with its first words."""
    message = call.messages[1].content
    question = message.partition("Question:\n```\n")[2].partition("\n```")[0]
    addresses = re.findall(r"^address: (\S+)$", message, re.MULTILINE)
    if not addresses:
        return act("search", queries=[question], k=3)
    if "\nText:\n" not in message:
        return act("open", url=addresses[0])
    body = message.rpartition("\nText:\n")[2].partition("\n\n")[2].partition("\n```")[0]
    first = body[:120].rpartition(" ")[0]
    citations = [{"url": addresses[0], "quote": first}]
    return act("finish", answer={"text": first, "citations": citations})


async def test_questions_are_answered_with_quotations_from_the_right_pages(
    wiki: tuple[Snapshot, list[dict[str, Any]]], make_judge: MakeJudge
) -> None:
    snapshot, rows = wiki
    toolbox = Toolbox(snapshot)
    judge, _ = make_judge(read_and_quote)
    right = 0
    for row in rows[::40]:
        question = row["text"].partition(". ")[0][:200].strip()
        asked = await ask_question(judge, toolbox, question, AgentLimits(turns=5))
        assert asked.result.outcome == "answered"
        [citation] = asked.citations
        assert citation.status == "found", citation
        page = snapshot.page(citation.url)
        assert citation.start is not None
        assert page.text[citation.start : citation.end] == citation.quote
        right += page.original_url == row["url"]
        assert asked.result.coverage["search"].answered == 1
    assert right == 10
