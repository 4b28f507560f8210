"""`local-judge tasks`: research tasks, what is expected of their reports, and what they are about."""

from __future__ import annotations

import typer

from local_judge.cli.tasks import criteria, guidance

app = typer.Typer(help="Research tasks and what is expected of their reports.", no_args_is_help=True)
app.add_typer(guidance.app, name="guidance")
app.add_typer(criteria.app, name="criteria")
