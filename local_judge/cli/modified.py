"""Access to runs that were modified after they ended, which the user has to allow.

Invariant: all output from such a run has lines, or a key `modified` in JSON, that name the differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from local_judge.base.errors import plain
from local_judge.base.output import Table
from local_judge.cli.output import print_json
from local_judge.runs.storage.seal import modifications, modified_allowed
from local_judge.runs.storage.store import RunStore
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
        help="Read a run whose files were modified after it ended; the output lists these files.",
    ),
]


MODIFIED = "MODIFIED.txt"
"""File in an exported folder that lists the differences of a modified run."""


def write_marks(folder: Path) -> None:
    """Write the differences of modified runs to a file in the exported folder."""
    found = modifications()
    if found:
        RunStore(folder).write_text(MODIFIED, "".join(f"{line}\n" for line in found))


def print_marks() -> None:
    """Print the differences of the modified runs that were read."""
    for line in modifications():
        print(plain(f"modified: {line}"))


def print_found(data: Mapping[str, Any], parts: Iterable[RenderableType | Table], as_json: bool) -> None:
    """Print results of runs: data as JSON, or tables and lines."""
    if as_json:
        print_json(marked(data))
        return
    print_marks()
    console = stdout()
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))


def marked(dumped: Mapping[str, Any]) -> dict[str, Any]:
    """Return data for JSON output; a key `modified` lists the differences of modified runs."""
    found = modifications()
    return {**dumped, "modified": list(found)} if found else dict(dumped)
