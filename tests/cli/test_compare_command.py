"""`local-judge judge qualify --compare`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer, leaning, write_preset
from .conftest import Command

SIZES = "verification: {claims: 16}\ndraws: 20\n"


@pytest.fixture
def server() -> Iterator[StubThread]:
    """A judge that leans to yes."""
    with StubThread(StubPlan(answer=answer, alternatives=leaning)) as running:
        yield running


def test_several_judges_have_to_be_meant(command: Command, tmp_path: Path) -> None:
    one = write_preset(tmp_path).rename(tmp_path / "one.yaml")
    other = write_preset(tmp_path).rename(tmp_path / "other.yaml")
    ended = command("judge", "qualify", one, other)
    assert ended.code == 1
    assert ended.line().endswith("other.yaml: several judges need --compare")
    ended = command("judge", "qualify", "--compare", one)
    assert ended.line().endswith("one.yaml: --compare needs at least two judges")
    ended = command("judge", "qualify", one, "--scored", tmp_path)
    assert ended.line().endswith("--scored needs --compare")


def test_judges_are_qualified_compared_and_asked_nothing_twice(
    command: Command, server: StubThread, snapshot: Path, tmp_path: Path
) -> None:
    one = write_preset(tmp_path).rename(tmp_path / "one.yaml")
    other = write_preset(tmp_path).rename(tmp_path / "other.yaml")
    sizes = tmp_path / "sizes.yaml"
    sizes.write_text(SIZES, encoding="utf-8")
    out = tmp_path / "judges"
    given: list[str | Path] = ["judge", "qualify", "--compare", one, other, "--parts", "verification"]
    given += ["--config", sizes, "--snapshot", snapshot, "--base-url", server.url, "--out", out]
    ended = command(*given)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("# Judges compared: one, other\n")
    data, n_asked = (out / "comparison.json").read_bytes(), len(server.chats)
    found = json.loads(data)
    # One judge under two names differs from itself by nothing.
    assert {row["difference"]["value"] for row in found["differences"]} - {None} == {0.0}
    assert (out / "one" / "page.md").is_file()
    again = command("judge", "qualify", "--compare", out / "one", out / "other", "--out", tmp_path / "again")
    assert again.code == 0 and again.out == ended.out
    assert (tmp_path / "again" / "comparison.json").read_bytes() == data
    assert command(*given).code == 0
    assert len(server.chats) == n_asked
    assert (out / "comparison.json").read_bytes() == data
