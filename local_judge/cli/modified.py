"""Runs that were modified since they ended: read only where the user says so, and then marked.

Invariant: nothing is printed of such a run without a line, or a key `modified` in JSON, that names what differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from local_judge.cli.output import print_json
from local_judge.errors import plain
from local_judge.runs.seal import modifications, modified_allowed
from local_judge.runs.store import RunStore
from local_judge.terminal import stdout


def _allow(context: typer.Context, allowed: bool) -> bool:
    if allowed:
        context.with_resource(modified_allowed())
    return allowed


AllowModified = Annotated[
    bool,
    typer.Option(
        "--allow-modified",
        callback=_allow,
        help="Read a run whose files were modified since it ended; what is printed names them.",
    ),
]


MODIFIED = "MODIFIED.txt"
"""The file that names what differs, in a folder that is exported from a modified run."""


def write_marks(folder: Path) -> None:
    """Write beside what was exported what differs in the runs that have been read, if anything does."""
    found = modifications()
    if found:
        RunStore(folder).write_text(MODIFIED, "".join(f"{line}\n" for line in found))


def print_marks() -> None:
    """Name what differs in the runs that have been read, if anything does."""
    for line in modifications():
        print(plain(f"modified: {line}"))


def print_found(data: Mapping[str, Any], parts: Iterable[RenderableType], as_json: bool) -> None:
    """Print what was read from runs: its data as JSON, or its tables and lines."""
    if as_json:
        print_json(marked(data))
        return
    print_marks()
    console = stdout()
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))


def marked(dumped: Mapping[str, Any]) -> dict[str, Any]:
    """What is printed as JSON, with what differs in the runs that have been read, if anything does."""
    found = modifications()
    return {**dumped, "modified": list(found)} if found else dict(dumped)
