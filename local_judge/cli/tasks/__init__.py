"""`local-judge tasks`: research tasks, what is expected of their reports, and what they are about."""

from __future__ import annotations

import typer

from local_judge.cli.tasks import build, groups, plan, topics

app = typer.Typer(help="Research tasks and what is expected of their reports.", no_args_is_help=True)
app.add_typer(groups.guidance, name="guidance")
app.add_typer(groups.criteria, name="criteria")
app.add_typer(groups.dimensions, name="dimensions")
app.add_typer(groups.checklist, name="checklist")
app.add_typer(plan.plan, name="plan")
app.add_typer(build.app, name="build")
app.command("classify")(topics.classify)
app.command("filter")(topics.filter_tasks)
app.command("topics")(topics.topics)
