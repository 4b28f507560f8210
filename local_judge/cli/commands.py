"""All commands by name."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from local_judge.cli import (
    agent,
    agree,
    calibrate,
    clean,
    compare,
    demo,
    evaluate_verifier,
    experiment,
    export,
    imports,
    judges,
    ledger,
    parse,
    plant,
    qualify,
    rank,
    run,
    serve,
    show,
    snapshot,
    stats,
    tasks,
    verify,
    verticals,
)
from local_judge.cli.faults import Stopped


class _Commands(TyperGroup):
    """Hands interrupts and faults of the system to whoever tells of them."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, EOFError, OSError) as error:
            raise Stopped from error


app = typer.Typer(
    cls=_Commands,
    name="local-judge",
    help="Score long, cited reports with open-weight judges against a frozen copy of the web.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("show")(show.show)
app.command("verticals")(verticals.verticals)
app.command("rescore")(show.rescore)
app.command("export")(export.export)
app.command("import")(imports.import_)
app.command("verify")(verify.verify)
app.command("calibrate")(calibrate.calibrate)
app.command("qualify")(qualify.qualify)
app.command("compare")(compare.compare)
app.command("agree")(agree.agree)
app.command("rank")(rank.rank)
app.command("evaluate-verifier")(evaluate_verifier.evaluate_verifier)
app.command("experiment")(experiment.experiment)
app.command("parse")(parse.parse)
app.command("plant")(plant.plant)
app.command("clean")(clean.clean)
app.command("serve")(serve.serve)
app.command("demo")(demo.demo)
app.add_typer(snapshot.app, name="snapshot")
app.add_typer(judges.app, name="judges")
app.add_typer(ledger.app, name="ledger")
app.add_typer(tasks.app, name="tasks")
app.add_typer(stats.app, name="stats")
app.add_typer(agent.app, name="agent")
