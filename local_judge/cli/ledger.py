"""`local-judge ledger`: checks of the store of judges' replies."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.options import AsJson, CommandGroup
from local_judge.cli.output import print_json
from local_judge.errors import InputError, plain
from local_judge.judge.ledger_verify import Removed, ledger_problems, remove_damaged

app = CommandGroup(help="Check the ledger, which stores the judges' replies.")

SHOWN = 100
"""Maximum number of problems listed."""


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
        for problem in shown:
            print(plain(problem))
        if more:
            print(f"more problems follow these {SHOWN}")
        if not problems:
            print(plain(f"{ledger}: every row matches its digest"))
    if problems:
        raise SystemExit(1)
