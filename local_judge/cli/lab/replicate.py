"""`local-judge lab replicate`: a published table next to the figures of this program."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from local_judge.base.errors import ConfigError, plain
from local_judge.base.output import NONE, Table, count
from local_judge.cli.options import AsJson
from local_judge.cli.output import print_json
from local_judge.lab.replication import (
    Replication,
    commands_of,
    load_replication,
    packaged_replications,
    run_commands,
)
from local_judge.lab.replication_figures import Figure, compare
from local_judge.terminal import safe, stdout


def replicate(
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE]",
            help="Name of a packaged table, or your own YAML file.",
            show_default="list the packaged tables",
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- OPTION...]",
            help="Further options for the commands, such as -- --judge qwen3-14b.",
            show_default=False,
        ),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="[NAME=]PATH",
            help="File or folder that the table needs, by the name in the file; repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for the runs. The same command continues there; a table with imports needs a new folder.",
            show_default="a temporary folder; needed if a judge is asked",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands without running them.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compute a published table or figure, and print the published figures next to the computed ones."""
    if table is None:
        _list(as_json)
        return
    wanted = load_replication(table)
    if out is None and wanted.asks_judge and not dry_run:
        raise ConfigError(f"{wanted.title}: a judge is needed; name a folder for its runs with --out")
    given = _given(inputs or (), wanted)
    with (
        tempfile.TemporaryDirectory(prefix="local-judge-") if out is None else nullcontext(str(out)) as folder
    ):
        commands = commands_of(wanted, given, Path("OUT" if dry_run and out is None else folder), judge or ())
        if dry_run:
            for command in commands:
                print(plain(shlex.join(["local-judge", *command])))
            return
        code = run_commands(commands, Path(folder))
        if code not in (0, 3):
            raise SystemExit(code)
        figures = compare(wanted, Path(folder), complete=code == 0)
    if as_json:
        rows = [one.model_dump(mode="json") for one in figures]
        print_json({"title": wanted.title, "source": wanted.source, "note": wanted.note, "figures": rows})
    else:
        _print(wanted, figures)
    if code:
        raise SystemExit(code)


def _list(as_json: bool) -> None:
    found = {name: load_replication(str(path)) for name, path in packaged_replications().items()}
    rows = [
        {"name": name, "title": one.title, "needs": one.needs, "judge": one.asks_judge}
        for name, one in found.items()
    ]
    if as_json:
        print_json({"tables": rows})
        return
    shown = Table("", ["name", "table", "needs"])
    for name, one in found.items():
        needs = [*one.needs, *(["a judge"] if one.asks_judge else [])]
        shown.add_row(name, one.title, ", ".join(needs))
    stdout().print(shown)


def _given(inputs: Sequence[str], table: Replication) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for one in inputs:
        name, equals, path = one.partition("=")
        if len(table.needs) == 1 and (not equals or Path(one).exists()):
            name, path = next(iter(table.needs)), one
        if not path or name not in table.needs:
            raise ConfigError(f"--input {one}: {table.title} needs {', '.join(table.needs) or 'no files'}")
        if name in found:
            raise ConfigError(f"--input {name}: given twice")
        found[name] = Path(path)
    return found


def _print(table: Replication, figures: Sequence[Figure]) -> None:
    console = stdout()
    columns = list(dict.fromkeys(one.column for one in figures))
    title = table.title if len(columns) > 1 else f"{table.title}: {columns[0]}"
    console.print(safe(title), soft_wrap=True)  # above the table, which would break it
    console.print(_shown(figures, columns))
    compared = [one for one in figures if one.equal is not None]
    equal = sum(one.equal is True for one in compared)
    decimals = sorted({one.decimals for one in figures})
    exact = " or ".join([*map(str, decimals[:-1]), count(decimals[-1], "decimal")])
    said = f"{equal} of {count(len(compared), 'figure')} equal to {exact}"
    differing = [one for one in compared if not one.equal]
    if differing:
        most = max(differing, key=lambda one: abs(one.difference or 0))
        said += f"; largest difference {_difference(most)} ({most.row}, {most.column})"
    partial = sum(one.partial for one in figures)
    if partial:
        said += f"; {partial} over a part of the reports"
    console.print(safe(said), soft_wrap=True)
    console.print(safe(f"published: {table.source}"), soft_wrap=True)
    if table.note is not None:
        console.print(safe(table.note), soft_wrap=True)


def _shown(figures: Sequence[Figure], columns: Sequence[str]) -> Table:
    """Return a table with a line for each figure, or for each row and kind of figure if there are several columns."""
    if len(columns) == 1:
        shown = Table("", ["row"], ["published", "ours", "difference"])
        for one in figures:
            shown.add_row(
                one.row,
                _number(one.published, one.decimals),
                _ours(one),
                _difference(one),
            )
        return shown
    shown = Table("", ["row", ""], columns)
    for row, own in groupby(figures, key=lambda one: one.row):
        cells = list(own)
        shown.add_row(row, "published", *(_number(one.published, one.decimals) for one in cells))
        shown.add_row("", "ours", *map(_ours, cells))
        if any(one.difference is not None and not one.equal for one in cells):
            shown.add_row("", "difference", *map(_difference, cells))
    return shown


def _number(value: float | None, decimals: int) -> str:
    return NONE if value is None else f"{value:.{decimals}f}"


def _ours(one: Figure) -> str:
    """Return the figure, and what it rests on if that is a part: `90.00 (1 of 10)`.

    An equal figure that would be rounded to another one than the published has one more decimal.
    """
    shown = _number(one.ours, one.decimals)
    if one.equal and shown != _number(one.published, one.decimals):
        shown = _number(one.ours, one.decimals + 1)
    if not one.partial:
        return shown
    if one.incomplete:
        return f"{shown} (answers missing)"
    failed = f", {one.n_failed} failed" if one.n_values == one.n_reports else ""
    return f"{shown} ({one.n_values} of {one.n_reports}{failed})"


def _difference(one: Figure) -> str:
    if one.difference is None:
        return ""
    return "=" if one.equal else f"{one.difference:+.{one.decimals}f}"
