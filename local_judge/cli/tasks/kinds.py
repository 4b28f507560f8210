"""Commands of every kind of task file: `draft`, `show`, `review`, and `lint` for kinds with rules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.options import AsJson, CommandGroup
from local_judge.cli.output import print_json
from local_judge.cli.tasks.asking import Command
from local_judge.cli.tasks.reviewing import Shown, decision_of, review_rows, show_rows
from local_judge.reporting.drafts import finding_line, unchecked_lines
from local_judge.tasks.checklist_lint import Linted, RuleText
from local_judge.tasks.kinds import Kind
from local_judge.tasks.review import D
from local_judge.terminal import count

FilePath = Annotated[Path, typer.Argument(metavar="FILE", help="File written by `draft` or by hand.")]
OneTask = Annotated[str | None, typer.Option("--task", help="Use only the task with this id.")]
Reviewer = Annotated[str, typer.Option("--reviewer", help="Name of the reviewer, stored with each row.")]
Accept = Annotated[bool, typer.Option("--accept", help="Accept the drafts without asking.")]
Reject = Annotated[bool, typer.Option("--reject", help="Reject the drafts without asking.")]
Edit = Annotated[bool, typer.Option("--edit", help="Open each draft in $EDITOR, and accept what is saved.")]

_EDITED_AS = {".md": "Markdown", ".yaml": "YAML", ".txt": "lines of text"}


def commands(
    shown: Shown[D], draft: Command, lint: Command | None = None, review: Command | None = None, *, help: str
) -> CommandGroup:
    """Return the group of commands of a kind.

    Args:
        shown: kind of task file, and views of its rows.
        draft: command that drafts rows.
        lint: command that checks rows, for a kind with rules; `show` also prints its findings.
        review: command that reviews rows, for a kind whose texts reviewers also label.
        help: help text of the group.
    """
    several = shown.kind.several
    app = CommandGroup(help)
    app.command("draft")(draft)
    if lint is not None:
        app.command("lint")(lint)

    @app.command(help=f"Print a table of the {several} in a file, or with --task all details of one task.")
    def show(file: FilePath, task: OneTask = None, as_json: AsJson = False) -> None:
        show_rows(file, shown, task, as_json)

    if review is not None:
        app.command("review")(review)
        return app

    @app.command(
        "review",
        help=f"Accept, edit (as {_EDITED_AS[shown.suffix]}) or reject drafted {several}. Each decision is stored at "
        "once.\n\nWithout --task: all drafts without a decision. With --task: one task, even if it has a decision.",
    )
    def review_of_drafts(
        file: FilePath,
        reviewer: Reviewer,
        task: OneTask = None,
        accept: Accept = False,
        reject: Reject = False,
        edit: Edit = False,
        as_json: AsJson = False,
    ) -> None:
        review_rows(file, shown, reviewer, task, decision_of(accept, reject, edit), as_json)

    return app


def leave_findings(
    kind: Kind[D], rules: Mapping[str, RuleText], found: Mapping[str, Linted], as_json: bool
) -> None:
    """Print the findings by task, and end with exit code 1 if there are any."""
    n_findings = sum(len(linted.findings) for linted in found.values())
    if as_json:
        print_json(
            {
                "rules": {name: {"hard": rule.hard, "says": rule.says} for name, rule in rules.items()},
                kind.several: [
                    {"task": task, **linted.model_dump(mode="json")} for task, linted in found.items()
                ],
            }
        )
    else:
        for task, linted in found.items():
            for finding in linted.findings:
                print(finding_line(task, finding))
        print(f"{count(n_findings, 'finding')} in {count(len(found), kind.field)}")
        print(f"rules: {', '.join(rules)}")
        for line in unchecked_lines({task: linted.unchecked for task, linted in found.items()}, kind.field):
            print(line)
    if n_findings:
        raise SystemExit(1)
