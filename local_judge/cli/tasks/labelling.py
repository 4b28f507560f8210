"""Labels of several reviewers for the texts of checklists, for `local-judge tasks review checklist --labels`.

Invariant: each label is in the file before the next question.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from local_judge.base.errors import InputError, UserError, plain
from local_judge.base.output import count
from local_judge.base.rows import write_jsonl
from local_judge.cli.options import Options
from local_judge.cli.output import print_json
from local_judge.reporting.summary import estimate_text, unknown_lines
from local_judge.stats.estimate import Estimate
from local_judge.tasks.labels import (
    LABELS,
    REQUEST,
    GivenLabel,
    LabelRow,
    agreement_of_labels,
    next_round,
)
from local_judge.tasks.rowfile import RowFile
from local_judge.terminal import safe, stdout


@dataclass(frozen=True, kw_only=True)
class LabelOptions(Options):
    """Options of labels."""

    labels: Annotated[
        Path | None,
        typer.Option("--labels", help="Label requests and items in this file instead of deciding on drafts."),
    ] = None
    label: Annotated[
        str | None,
        typer.Option("--label", help="Label, without asking: of --item, or of the request of --task."),
    ] = None
    item: Annotated[str, typer.Option("--item", help="Id of the item that --label is for, such as q1.")] = (
        REQUEST
    )
    new_text: Annotated[str, typer.Option("--new-text", help="Modified text that --label proposes.")] = ""
    comment: Annotated[str, typer.Option("--comment", help="Reason of --label.")] = ""
    round: Annotated[
        Path | None,
        typer.Option(
            "--next-round", help="Write the texts with different labels to this new file of labels."
        ),
    ] = None


def label_texts(
    file: RowFile[LabelRow], reviewer: str, task: str | None, options: LabelOptions, as_json: bool
) -> None:
    """Label texts of checklists by --label or as entered at the terminal, and print the agreement."""
    if options.label is not None:
        key = f"{task} {options.item}"
        row = file.load().get(key)
        if row is None:
            raise InputError(f"{file.path}: no text {key!r}; give --task and, for an item, --item")
        given = GivenLabel(label=options.label, text=options.new_text, comment=options.comment)
        file.replace(row, row.labelled(reviewer, given))
    elif not as_json and sys.stdin.isatty() and sys.stdout.isatty():
        for row in file.load().values():
            if reviewer not in row.labels and task in (None, row.task_id) and not _asked(file, row, reviewer):
                break
    rows = list(file.load().values())
    agreement = agreement_of_labels(rows)
    disputed = next_round(rows)
    if options.round is not None:
        if options.round.exists():
            raise UserError(f"{options.round}: exists; choose a new file for the next round")
        write_jsonl(options.round, disputed)
    if as_json:
        found = {
            one.part: {name: _plain(figure) for name, figure in one.found._asdict().items()}
            for one in agreement
        }
        print_json({"file": str(file.path), "agreement": found, "disputed": [row.key for row in disputed]})
        return
    open_ = sum(reviewer not in row.labels for row in rows)
    print(f"{file.path}: {count(len(rows), 'text')}, {open_} without a label by {plain(reviewer)}")
    for one in agreement:
        figures = [("alike", one.found.alike), ("kappa", one.found.kappa), ("alpha", one.found.alpha)]
        known = [(name, replace(figure, low=None)) for name, figure in figures if figure is not None]
        shown = "; ".join(f"{name} {estimate_text(figure)}" for name, figure in known)
        print(f"{one.part}s: {one.n_disputed} of {one.found.n_items} with different labels; {shown}")
        for line in unknown_lines(known):
            print(f"{one.part}s: {line}")
    if options.round is not None:
        print(f"{options.round}: {count(len(disputed), 'text')} for the next round")


def _plain(figure: object) -> object:
    return asdict(figure) if isinstance(figure, Estimate) else figure


def _asked(file: RowFile[LabelRow], row: LabelRow, reviewer: str) -> bool:
    """Ask for a label until there is one, and return whether to continue with the next text."""
    menu = LABELS[row.part]
    stdout().print(f"[bold]{safe(row.key)}[/bold]\n{safe(row.text)}")
    for number, labels in enumerate(row.earlier, 1):
        for name, given in labels.items():
            more = "; ".join(filter(None, (given.text, given.comment)))
            stdout().print(
                f"[dim]round {number}, {safe(name)}: {given.label}{': ' if more else ''}{safe(more)}[/dim]"
            )
    while True:
        listed = ", ".join(f"[{number}] {label}" for number, label in enumerate(menu, 1))
        answer = _answer(f"{listed}, [s]kip, [q]uit? ")
        if answer in ("s", "q"):
            return answer == "s"
        if answer not in map(str, range(1, len(menu) + 1)):
            continue
        label = list(menu)[int(answer) - 1]
        need = menu[label]
        more = {} if need is None else {need: _answer(f"{need}: ")}
        try:
            after = row.labelled(reviewer, GivenLabel(label=label, **more))
        except InputError as error:
            print(plain(str(error)))
            continue
        file.replace(row, after)
        return True


def _answer(question: str) -> str:
    try:
        return input(question).strip()
    except EOFError:
        print()
        return "q"
