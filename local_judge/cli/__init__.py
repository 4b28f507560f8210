"""The command line.

Invariants: a command parses, calls and prints, and holds no logic; a user's mistake ends in one line on standard error
and a non-zero exit, never in a traceback.

Exit codes: 0 done; 1 a mistake that the user can mend; 2 wrong usage; 3 done, but some of the judge's answers are
missing; 130 interrupted.
"""

from __future__ import annotations

import sys

import typer

from indexes.errors import IndexesError
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
from local_judge.documents import UnreadableReport
from local_judge.errors import UserError, one_line
from local_judge.judge.collector import relax_collector
from local_judge.judge.errors import JudgeError
from serving.errors import ServingError

app = typer.Typer(
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
app.add_typer(tasks.app, name="tasks")
app.add_typer(stats.app, name="stats")
app.add_typer(agent.app, name="agent")


def main() -> None:
    """Entry point of `local-judge`."""
    relax_collector()
    try:
        app()
    except (UserError, ServingError, IndexesError, JudgeError, UnreadableReport) as error:
        sys.stderr.write(f"local-judge: {one_line(error)}\n")
        raise SystemExit(1) from None
    except BrokenPipeError:
        raise SystemExit(0) from None
