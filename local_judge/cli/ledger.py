"""`local-judge ledger`: the store of judges' replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.options import AsJson, CommandGroup
from local_judge.cli.output import print_json
from local_judge.errors import InputError, plain
from local_judge.judge.ledger_merge import Merged
from local_judge.judge.ledger_merge import merge as merge_ledgers
from local_judge.judge.ledger_verify import Removed, ledger_problems, remove_damaged

app = CommandGroup(help="Check and merge ledgers, which store the judges' replies.")

SHOWN = 100
"""Maximum number of problems listed."""


class Conflicts(StrEnum):
    """Treatment of different replies to one request."""

    LEAVE = "leave"
    EARLIEST = "earliest"


@app.command()
def verify(
    ledger: Annotated[Path, typer.Argument(help="A ledger file, such as RUN/ledger.sqlite.")],
    remove: Annotated[
        bool,
        typer.Option(
            "--remove",
            help="Remove damaged rows, so that the next run asks again, and rebuild a damaged file.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check every row of a ledger against its digest, and the file with SQLite's integrity check."""
    if not ledger.exists():
        raise InputError(f"{ledger}: no such file")
    removed = Removed(0, 0, False)
    if remove and any(ledger_problems(ledger)):
        removed = remove_damaged(ledger)
    problems = list(islice(ledger_problems(ledger), SHOWN + 1))
    shown, more = problems[:SHOWN], len(problems) > SHOWN
    if as_json:
        print_json({"ledger": str(ledger), **removed._asdict(), "problems": shown, "more": more})
    else:
        if removed.rebuilt:
            print("the file was damaged and has been rebuilt from its readable rows")
        if removed.replies:
            print(f"{removed.replies} damaged {'reply' if removed.replies == 1 else 'replies'} removed")
        if removed.calibrations:
            print(f"{removed.calibrations} calibrations removed because some are damaged; fit them again")
        _print_lines(shown, more)
        if not problems:
            print(plain(f"{ledger}: every row matches its digest"))
    if problems:
        raise SystemExit(1)


@app.command()
def merge(
    into: Annotated[
        Path, typer.Argument(help="Ledger that gets the replies. It is created if it is missing.")
    ],
    parts: Annotated[list[Path], typer.Argument(help="Ledgers to merge into it. They may be in use.")],
    conflicts: Annotated[
        Conflicts,
        typer.Option(
            help="For different replies to one request: copy none of them, or keep the one that was made first."
        ),
    ] = Conflicts.LEAVE,
    as_json: AsJson = False,
) -> None:
    """Merge ledgers by key. The order of the parts makes no difference, and a repeated merge changes nothing.

    Damaged rows are named and left out. The exit code is 1 if there are any, or if a conflict remains.
    """
    merged = merge_ledgers(into, parts, conflicts=conflicts.value)
    if as_json:
        print_json({"ledger": str(into), **asdict(merged)})
    else:
        print(plain(f"{into}: {_counts(merged)} added, {_number(merged.present, 'reply')} present"))
        lines = [*merged.conflicts, *merged.damaged]
        _print_lines(lines[:SHOWN], len(lines) > SHOWN)
        if merged.conflicts and conflicts is Conflicts.LEAVE:
            print(
                f"{_number(len(merged.conflicts), 'conflict')}; --conflicts earliest keeps what was made first"
            )
        if merged.damaged:
            print(
                f"{_number(len(merged.damaged), 'damaged row')} left out; `ledger verify` lists a file's damage"
            )
    if merged.damaged or (merged.conflicts and conflicts is Conflicts.LEAVE):
        raise SystemExit(1)


def _counts(merged: Merged) -> str:
    counts = {"reply": merged.replies, "failure": merged.failures}
    more = {"token count": merged.token_counts, "set of calibrations": merged.calibrations}
    counts |= {name: number for name, number in more.items() if number}
    return ", ".join(_number(number, name) for name, number in counts.items())


def _number(number: int, name: str) -> str:
    if number != 1:
        name = {"reply": "replies", "set of calibrations": "sets of calibrations"}.get(name, f"{name}s")
    return f"{number:,} {name}"


def _print_lines(lines: Sequence[str], more: bool) -> None:
    for line in lines:
        print(plain(line))
    if more:
        print(f"more lines follow these {SHOWN}")
