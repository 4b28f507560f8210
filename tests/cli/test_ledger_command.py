"""The commands on ledgers: what they print, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from ..ledger.test_ledger import ask
from ..ledger.test_ledger_damage import alter
from ..ledger.test_ledger_merge import text_in, write
from .conftest import Command


async def test_merge_names_conflicts_and_damage(tmp_path: Path, command: Command) -> None:
    one = await write(tmp_path / "one", ("q", "yes", 1), ("r", "r", 1))
    two = await write(tmp_path / "two", ("q", "no", 2))
    into = tmp_path / "into"
    conflict = f"reply {ask('q').key[:12]}: {one} and {two} differ"
    ended = command("ledger", "merge", into, one, two)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        f"{into}: 2 replies, 0 failures added, 0 replies present",
        conflict,
        "1 conflict; the first reply of each request stays",
    ]
    ended = command("ledger", "merge", into, one, two, "--json")
    assert (ended.code, json.loads(ended.out)["conflicts"]) == (0, [conflict])
    assert text_in(into, "q") == "yes"
    alter(two, "UPDATE replies SET text='maybe'")
    ended = command("ledger", "merge", into, two)
    assert ended.code == 1
    assert ended.out.splitlines()[-1] == "1 damaged row left out; `ledger verify` lists a file's damage"
    assert f"{tmp_path / 'none'}: no such file" in command("ledger", "merge", into, tmp_path / "none").line()
