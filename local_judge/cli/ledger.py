"""`local-judge ledger`: the store of judges' replies."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from local_judge.base.errors import InputError, plain
from local_judge.cli.options import AsJson
from local_judge.cli.output import print_json
from local_judge.ledger.merge import Merged
from local_judge.ledger.merge import merge as merge_ledgers
from local_judge.ledger.upkeep import Contents, Removed, collect, contents, ledger_problems, remove_damaged
from local_judge.runs.proof.audit import used_replies
from local_judge.runs.proof.material import Places, material_of_run
from local_judge.runs.storage.store import RunStore

SHOWN = 100
"""Maximum number of problems listed."""


LedgerArgument = Annotated[
    Path,
    typer.Argument(
        metavar="LEDGER",
        help="A ledger file, such as RUN/ledger.sqlite.",
    ),
]


def verify(
    ledger: LedgerArgument,
    remove: Annotated[
        bool,
        typer.Option(
            "--remove",
            help="Remove damaged rows, so that the next run asks again, and rebuild a damaged file.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check every row of a ledger, and print its contents.

    Rows are checked against their digests, and the file by SQLite's integrity check. The contents are rows and bytes by
    table, replies by judge, and failures by kind.
    """
    if not ledger.exists():
        raise InputError(f"{ledger}: no such file")
    removed = Removed(0, 0, False)
    if remove and any(ledger_problems(ledger)):
        removed = remove_damaged(ledger)
    problems = list(islice(ledger_problems(ledger), SHOWN + 1))
    shown, more = problems[:SHOWN], len(problems) > SHOWN
    found = None if problems else contents(ledger)
    if as_json:
        calls = {"calls": [one._asdict() for one in found.calls]} if found else {}
        listed = {"problems": shown, "more": more, "contents": found and found.model_dump() | calls}
        print_json({"ledger": str(ledger), **removed._asdict(), **listed})
    else:
        if removed.rebuilt:
            print("the file was damaged and has been rebuilt from its readable rows")
        if removed.replies:
            print(f"{removed.replies} damaged {'reply' if removed.replies == 1 else 'replies'} removed")
        if removed.calibrations:
            print(f"{removed.calibrations} calibrations removed because some are damaged; fit them again")
        _print_lines(shown, more)
        if found:
            print(plain(f"{ledger}: every row matches its digest"))
            _print_contents(found)
    if problems:
        raise SystemExit(1)


def _print_contents(found: Contents) -> None:
    print(f"{found.bytes:,} bytes, of which {found.free_bytes:,} are unused")
    for name, number in found.rows.items():
        print(f"  {name:<14}{number:>14,} rows{found.stored[name]:>18,} bytes")
    for one in found.calls:
        print(
            plain(
                f"{one.judge} ({one.digest[:12]}), {one.kind}: {_number(one.replies, 'reply')}, "
                f"{one.prompt_tokens:,} prompt and {one.completion_tokens:,} reply tokens, {one.first} to {one.last}"
            )
        )
    for kind, number in found.failures.items():
        print(plain(f"failures: {kind} {number:,}"))


def merge(
    into: Annotated[
        Path,
        typer.Argument(metavar="INTO", help="Ledger that gets the replies. It is created if it is missing."),
    ],
    parts: Annotated[
        list[Path],
        typer.Argument(metavar="PARTS...", help="Ledgers to merge into it. They may be in use."),
    ],
    as_json: AsJson = False,
) -> None:
    """Merge ledgers by key. The order of the parts makes no difference, and a repeated merge changes nothing.

    Of different replies to one request, the one in the ledger stays, or else the one that was made first; each such
    request is named. Damaged rows are named and left out, and the exit code is 1.
    """
    merged = merge_ledgers(into, parts)
    if as_json:
        print_json({"ledger": str(into), **asdict(merged)})
    else:
        print(plain(f"{into}: {_counts(merged)} added, {_number(merged.present, 'reply')} present"))
        lines = [*merged.conflicts, *merged.damaged]
        _print_lines(lines[:SHOWN], len(lines) > SHOWN)
        if merged.conflicts:
            print(f"{_number(len(merged.conflicts), 'conflict')}; the first reply of each request stays")
        if merged.damaged:
            print(
                f"{_number(len(merged.damaged), 'damaged row')} left out; `ledger verify` lists a file's damage"
            )
    if merged.damaged:
        raise SystemExit(1)


def gc(
    ledger: LedgerArgument,
    keep_run: Annotated[
        list[Path] | None,
        typer.Option(
            "--keep-run",
            metavar="RUN",
            help="Keep the replies that this run uses, and remove those that no such run uses. Repeatable.",
        ),
    ] = None,
    failures: Annotated[bool, typer.Option("--failures", help="Remove the failures, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be removed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove what is no longer needed from a ledger, and compact its file.

    Without options, only requests and texts that no reply or failure refers to are removed. Each run of --keep-run is
    replayed first, which shows what it uses; the command stops if a run's inputs are not at hand.
    """
    keep = None
    if keep_run:
        keep = set[str]()
        for run in keep_run:
            keep |= asyncio.run(used_replies(material_of_run(RunStore(run), Places(ledger=ledger))))
    done = collect(ledger, keep=keep, failures=failures, dry_run=dry_run)
    if as_json:
        print_json({"ledger": str(ledger), "dry_run": dry_run, **done._asdict()})
        return
    counts = {"reply": done.replies, "failure": done.failures, "request": done.requests, "text": done.texts}
    removed = ", ".join(_number(number, name) for name, number in counts.items())
    print(plain(f"{ledger}: {removed} {'would be ' if dry_run else ''}removed"))
    if not dry_run:
        print(f"{done.bytes_before:,} bytes before, {done.bytes_after:,} after")


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
