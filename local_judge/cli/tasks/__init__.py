"""`local-judge tasks`: research tasks, what is expected of their reports, and what they are about."""

from __future__ import annotations

import typer

from local_judge.cli.tasks import build, checklist, criteria, dimensions, guidance, plan, topics

app = typer.Typer(help="Research tasks and what is expected of their reports.", no_args_is_help=True)
app.add_typer(guidance.app, name="guidance")
app.add_typer(criteria.app, name="criteria")
app.add_typer(dimensions.app, name="dimensions")
app.add_typer(checklist.app, name="checklist")
app.add_typer(plan.app, name="plan")
app.add_typer(build.app, name="build")
app.command("classify")(topics.classify)
app.command("filter")(topics.filter_tasks)
app.command("topics")(topics.topics)
