"""Display and review of drafts of every kind: by flags, in an editor, or at a terminal.

Invariant: each decision is in the file before the next question. Text that was saved in an editor but is invalid is
shown again when the editor opens again.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal

import typer
from rich.console import RenderableType

from local_judge.base.errors import InputError, UserError, plain
from local_judge.base.files import read_utf8
from local_judge.base.output import Table
from local_judge.cli.options import said
from local_judge.cli.output import print_json
from local_judge.tasks.kinds import Kind
from local_judge.tasks.review import D, Decision, decide
from local_judge.tasks.rowfile import RowFile
from local_judge.terminal import stdout

Stop = Literal["skip", "quit"]
_KEYS: dict[str, Decision | Stop] = {
    "a": "accept",
    "e": "edit",
    "r": "reject",
    "s": "skip",
    "q": "quit",
}


@dataclass(frozen=True)
class Shown(Generic[D]):
    """Views of the rows of one kind of task file."""

    kind: Kind[D]
    table: Callable[[Sequence[D]], Table]
    view: Callable[[D, Path], RenderableType]
    """Full view of a row in its file."""
    suffix: str = ".yaml"
    """Suffix of the file that an editor opens."""


def show_rows(path: Path, shown: Shown[D], task: str | None, as_json: bool) -> None:
    """Print a table of all rows of a file, or the full row of one task."""
    rows = _rows(shown.kind.file(path), shown, task)
    if as_json:
        print_json(rows)
    elif task is None:
        stdout().print(shown.table(rows))
    else:
        stdout().print(shown.view(rows[0], path))


def decision_of(accept: bool, reject: bool, edit: bool) -> Decision | None:
    """Return the decision that the flags name, or None to ask at the terminal."""
    flags: list[tuple[bool, Decision]] = [(accept, "accept"), (reject, "reject"), (edit, "edit")]
    wanted: list[Decision] = [decision for given, decision in flags if given]
    if len(wanted) > 1:
        raise typer.BadParameter("--accept, --reject and --edit exclude each other")
    if not wanted and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError("review: standard input is not a terminal; give --accept, --reject or --edit")
    return wanted[0] if wanted else None


def review_rows(
    path: Path, shown: Shown[D], reviewer: str, task: str | None, wanted: Decision | None, as_json: bool
) -> None:
    """Decide on all open drafts or on one task's row: as `wanted`, or as entered at the terminal."""
    if as_json and wanted is None:
        raise UserError("review: --json asks no questions; give --accept, --reject or --edit")
    reviewer = said("--reviewer", reviewer)
    file = shown.kind.file(path)
    rows = [row for row in _rows(file, shown, task) if task is not None or row.status == "drafted"]
    if not rows and not as_json:
        print(f"{file.path}: no draft waits for a decision")
    decided: list[dict[str, str]] = []
    for row in rows:
        editor = _Editor(shown.suffix)
        if wanted is not None:
            after = _put(file, row, decide(row, wanted, reviewer, editor), say=not as_json)
            decided.append({"task": row.key, "status": after})
        elif not _reviewed_at_terminal(file, shown, row, reviewer, editor):
            break
    if as_json:
        print_json({"file": str(file.path), "rows": decided})


def _reviewed_at_terminal(file: RowFile[D], shown: Shown[D], row: D, reviewer: str, editor: _Editor) -> bool:
    """Ask until there is a decision, and return whether to continue with the next row."""
    stdout().print(shown.view(row, file.path))
    while True:
        answer = _ask()
        if answer in ("skip", "quit"):
            return answer == "skip"
        try:
            after = decide(row, answer, reviewer, editor)
        except InputError as error:
            print(plain(str(error)))
            continue
        _put(file, row, after)
        return True


def _put(file: RowFile[D], before: D, after: D | None, *, say: bool = True) -> str:
    """Store a row after a decision, and return its status."""
    if after is not None:
        file.replace(before, after)
    status = "unchanged" if after is None else after.status
    if say:
        print(plain(f"task {before.key}: {status}"))
    return status


def _ask() -> Decision | Stop:
    while True:
        try:
            answer = input("[a]ccept, [e]dit, [r]eject, [s]kip, [q]uit? ").strip().lower()
        except EOFError:
            print()
            return "quit"
        if answer[:1] in _KEYS and _KEYS[answer[:1]].startswith(answer):
            return _KEYS[answer[:1]]


class _Editor:
    """Editor of the user; when opened again, it shows the text that was last saved."""

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix
        self._saved: str | None = None

    def __call__(self, text: str) -> str:
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not command:
            raise UserError("review: no editor is set; set EDITOR")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"draft{self._suffix}"
            path.write_text(
                self._saved if self._saved is not None else text.rstrip("\n") + "\n", encoding="utf-8"
            )
            try:
                subprocess.run([*shlex.split(command), str(path)], check=True)
                self._saved = read_utf8(path)
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                raise UserError(f"review: {command}: {error}; nothing was changed") from None
        return self._saved


def _rows(file: RowFile[D], shown: Shown[D], task: str | None) -> list[D]:
    rows = file.load()
    if task is None:
        return list(rows.values())
    if task not in rows:
        raise InputError(
            f"{file.path}: no task {task!r}; `local-judge tasks show {shown.kind.field} {file.path}` lists them"
        )
    return [rows[task]]
