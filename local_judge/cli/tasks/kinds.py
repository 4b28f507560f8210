"""The commands of all kinds of what is written for tasks: `draft`, `show`, `review`, and `lint` where there are rules.

A kind gives the words and views in which it differs, and, where its drafts need options of their own, `draft`.
"""

from __future__ import annotations

from collections.abc import Mapping

import typer

from local_judge.cli.options import AsJson
from local_judge.cli.output import print_json
from local_judge.cli.tasks.asking import Command
from local_judge.cli.tasks.options import Accept, Edit, FilePath, OneTask, Reject, Reviewer
from local_judge.cli.tasks.reviewing import Shown, decision_of, review_rows, show_rows
from local_judge.reporting.checklists import finding_line, unchecked_lines
from local_judge.tasks.checklist_lint import Linted, RuleText
from local_judge.tasks.kinds import Kind
from local_judge.tasks.review import D
from local_judge.terminal import count


def commands(
    shown: Shown[D],
    draft: Command,
    lint: Command | None = None,
    *,
    help: str,
    a_file: str,
    edited: str = "",
    they_were: str = "it was",
) -> typer.Typer:
    """The group of commands of a kind.

    Args:
        shown: the kind, and how its rows are shown.
        draft: the command, with its help as docstring.
        lint: likewise, where the kind has rules; they are shown with a row too.
        help: of the group.
        a_file: a file of the kind, in words.
        edited: how an editor has a row, in brackets.
        they_were: of what one task has.
    """
    kind = shown.kind
    app = typer.Typer(help=help, no_args_is_help=True)
    app.command("draft")(draft)
    if lint is not None:
        app.command("lint")(lint)
    faults = ", with what is wrong with it" if lint is not None else ""

    @app.command(help=f"Print {a_file}: a table of its tasks, and with --task all of one{faults}.")
    def show(file: FilePath, task: OneTask = None, as_json: AsJson = False) -> None:
        show_rows(file, shown, task, as_json)

    @app.command(
        help=f"Decide on drafted {kind.several}: accept, edit{edited}, reject. Each decision is kept at once.\n\n"
        "Without --task, all drafts that wait for a decision; with it, that task's "
        f"{kind.field}, also if {they_were} decided on."
    )
    def review(
        file: FilePath,
        reviewer: Reviewer,
        task: OneTask = None,
        accept: Accept = False,
        reject: Reject = False,
        edit: Edit = False,
    ) -> None:
        review_rows(file, shown, reviewer, task, decision_of(accept, reject, edit))

    return app


def leave_findings(
    kind: Kind[D], rules: Mapping[str, RuleText], found: Mapping[str, Linted], as_json: bool
) -> None:
    """Print what was found by task, and end with 1 if something breaks a rule."""
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
