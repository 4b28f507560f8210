"""`local-judge ledger`: the store of judges' replies."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.options import AsJson
from local_judge.errors import InputError
from local_judge.judge.ledger_verify import ledger_problems
from local_judge.reporting.tables import plain

app = typer.Typer(help="The store of judges' replies.", no_args_is_help=True)

SHOWN = 100
"""Problems that are listed at most."""


@app.callback()
def ledger() -> None:
    """The store of judges' replies."""


@app.command()
def verify(
    ledger: Annotated[Path, typer.Argument(help="A ledger file, such as RUN/ledger.sqlite.")],
    as_json: AsJson = False,
) -> None:
    """Check every row of a ledger against its digest, and the file by SQLite's own check; writes nothing."""
    if not ledger.exists():
        raise InputError(f"{ledger}: no such file")
    problems = list(islice(ledger_problems(ledger), SHOWN + 1))
    shown, more = problems[:SHOWN], len(problems) > SHOWN
    if as_json:
        print(json.dumps({"ledger": str(ledger), "problems": shown, "more": more}, ensure_ascii=False))
    else:
        for problem in shown:
            print(plain(problem))
        if more:
            print(f"and more than these {SHOWN}")
        if not problems:
            print(plain(f"{ledger}: every row matches its digest"))
    if problems:
        raise SystemExit(1)
