"""Reference of all commands, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from local_judge.cli.commands import Lazy, app
from local_judge.cli.help import GENERAL, label


def reference() -> str:
    """Return a section on each command as Markdown."""
    program: Any = typer.main.get_command(app)
    program.name = "local-judge"
    return "".join(_sections(program, typer.Context(program, info_name="local-judge"), 2))


def _sections(command: Any, context: Any, level: int) -> Iterator[str]:
    command = command.load() if isinstance(command, Lazy) else command
    context.command = command
    yield f"\n{'#' * min(level, 4)} {context.command_path}\n\n{_plain(command.help)}\n"
    arguments = " ".join(piece for piece in command.collect_usage_pieces(context) if piece)
    if level > 2:
        yield f"\nUsage: `{context.command_path} {arguments}`\n"
    rows = [row for param in command.get_params(context) if (row := _row(param, context))]
    if rows:
        yield "\n| option | |\n|---|---|\n" + "".join(rows)
    for name, below in getattr(command, "commands", {}).items():
        yield from _sections(below, typer.Context(below, info_name=name, parent=context), level + 1)


def _row(param: Any, context: Any) -> str | None:
    record = param.get_help_record(context)
    if record is None or "--help" in param.opts:
        return None
    if context.parent is not None and getattr(param, "rich_help_panel", None) == GENERAL:
        return None
    return f"| `{_cell(label(param))}` | {_cell(record[1])} |\n"


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")
