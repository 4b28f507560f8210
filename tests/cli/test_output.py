"""JSON for a terminal and for programs."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from local_judge.cli.ending import stoppable
from local_judge.cli.output import json_line

from ..indexes.sealing import sealed_again
from .conftest import Command


class Row(BaseModel):
    text: str


@pytest.mark.parametrize("mark", ["\x9b", "\x9d", "\x7f", "\u202e", "\u2066", "\u200f", "\u2028"])
def test_what_moves_a_cursor_is_escaped_and_read_back(mark: str) -> None:
    data = {f"a{mark}b": [f"The lake {mark}31m froze."]}
    line = json_line(data)
    assert mark not in line and "\n" not in line
    assert json.loads(line) == data


def test_other_text_stays_as_it_is() -> None:
    assert json_line({"text": "湖面结冰 – naïve 🧊"}) == '{"text": "湖面结冰 – naïve 🧊"}'
    assert json_line([Row(text="a"), {"row": Row(text="b")}]) == '[{"text": "a"}, {"row": {"text": "b"}}]'


def test_no_number_is_written_that_json_does_not_have() -> None:
    with pytest.raises(ValueError):
        json_line({"score": float("nan")})
    with pytest.raises(TypeError):
        json_line({"row": object()})


def test_no_date_of_a_snapshot_moves_a_cursor(command: Command, tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text('{"url": "https://a.example/x", "text": "The lake froze."}\n')
    snap = tmp_path / "snap"
    assert command("snapshot", "import", tmp_path, snap).code == 0
    pages = snap / "pages.jsonl"
    pages.write_text(pages.read_text().replace('"published":null', '"published":"\\u001b[2J"'))
    sealed_again(snap)
    found = command("snapshot", "search", snap, "lake")
    assert found.code == 0 and "froze" in found.out and "\x1b" not in found.out


def test_garbage_is_collected_rarely_only_while_judges_are_asked(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot's pages are garbage of megabytes each, which must not wait for thousands of others."""
    relaxed: list[None] = []
    monkeypatch.setattr("local_judge.cli.ending.relax_collector", lambda: relaxed.append(None))
    (tmp_path / "pages.jsonl").write_text('{"url": "https://a.example/x", "text": "The lake froze."}\n')
    threshold = gc.get_threshold()
    assert command("snapshot", "import", tmp_path, tmp_path / "snap").code == 0
    assert (gc.get_threshold(), relaxed) == (threshold, [])
    with stoppable(tmp_path / "ledger.sqlite"):
        assert relaxed == [None]
