"""All commands by name, each imported when it is called.

Invariant: a group is listed, completed and described from the table below, without an import of what its commands need.
A test holds the table's help texts to those of the commands.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from local_judge import __version__
from local_judge.cli.faults import Stopped


class Lazy(TyperCommand):
    """A command, or a group that is a Typer app in one module, known by its name and help until it is called."""

    def __init__(self, target: str, help: str) -> None:
        super().__init__(name=None, help=help)
        self.target = target
        """`module:attribute` below `local_judge.cli`."""

    def load(self) -> Any:
        """Import the command itself."""
        assert self.name is not None
        module, _, attribute = self.target.partition(":")
        found = getattr(import_module(f"local_judge.cli.{module}"), attribute)
        around = typer.Typer()
        if isinstance(found, typer.Typer):
            around.add_typer(found, name=self.name)
        else:
            around.command(self.name)(found)
        return get_group(around).commands[self.name]

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments of the command itself, which is what then runs, helps and completes."""
        return self.load().make_context(info_name, args, parent, **extra)


def _named(commands: dict[str, Lazy | TyperGroup]) -> dict[str, Any]:
    for name, command in commands.items():
        command.name = name
    return dict(commands)


def _group(help: str, commands: dict[str, Lazy | TyperGroup]) -> TyperGroup:
    return TyperGroup(help=help, commands=_named(commands), no_args_is_help=True)


COMMANDS: dict[str, Lazy | TyperGroup] = {
    "run": Lazy(
        "run:run",
        "Examine each report by the protocols: verify its claims against the snapshot, ask a rubric; and score it.",
    ),
    "show": Lazy("show:show", "Print the tables of a run, or the scores of groups of reports."),
    "verticals": Lazy(
        "verticals:verticals",
        "Print the metrics of all protocols under four verticals: presentation, task compliance, depth, sources.",
    ),
    "rescore": Lazy(
        "show:rescore",
        "Compute all scores again from the stored findings; needs no model, no snapshot and no network.",
    ),
    "export": Lazy(
        "export:export", "Write a run's results as a published project writes its own, or as CSV."
    ),
    "import": Lazy(
        "imports:import_",
        "Make a run of what a published project has judged: to show, score, compare with people and export it.",
    ),
    "verify": Lazy("verify:verify", "Verify claims against their pages, without a report."),
    "calibrate": Lazy(
        "calibrate:calibrate",
        "Fit a judge's probabilities and threshold on claims that are known to be true or altered, and keep the fit.",
    ),
    "qualify": Lazy(
        "qualify:qualify",
        "Ask a judge about things of which the answer is known, and say what it may be believed for.",
    ),
    "compare": Lazy(
        "compare:compare",
        "Compare judges that were asked the same: differences, cost, pairs worth having together. Asks nobody.",
    ),
    "agree": Lazy(
        "agree:agree",
        "Compare the scores of runs with ratings by people: pairwise agreement, correlations, reliability.",
    ),
    "rank": Lazy(
        "rank:rank",
        "Rank systems by their pairwise comparisons, in one run or several: Bradley-Terry strengths and win rates.",
    ),
    "evaluate-verifier": Lazy(
        "evaluate_verifier:evaluate_verifier",
        "Measure a judge against annotated reports: extraction, back-tracking, verification, coverage.",
    ),
    "experiment": Lazy(
        "experiment:experiment",
        "Judge a judge: reports with planted errors, of earlier days, with flawed reasoning; and plans that it drafts.",
    ),
    "parse": Lazy(
        "parse:parse",
        "Show a report's sentences, citations and references, and what could not be resolved.",
    ),
    "plant": Lazy(
        "plant:plant",
        "Plant claims in a snapshot's pages, half of them false, or flaws in twins of reports.",
    ),
    "clean": Lazy(
        "clean:clean",
        "Remove citation marks, addresses and lists of references from reports, and nothing else.",
    ),
    "serve": Lazy(
        "serve:serve", "Start vLLM with a preset's settings and wait until it is healthy; Ctrl-C stops it."
    ),
    "demo": Lazy(
        "demo:demo",
        "Verify a short sample report, some of whose claims are altered, and count how many the judge caught.",
    ),
    "snapshot": _group(
        "Make, describe, verify and search snapshots of the web.",
        {
            "import": Lazy("snapshot.make:import_", "Make a snapshot of pages that are there already."),
            "fetch": Lazy(
                "snapshot.fetch:fetch",
                "Fetch the pages that reports cite, politely and once, into a snapshot.",
            ),
            "merge": Lazy("snapshot.make:merge", "Make one snapshot of all captures of several."),
            "export": Lazy(
                "snapshot.make:export",
                "Write a snapshot as one WACZ 1.1.1 file, which other tools for web archives open.",
            ),
            "info": Lazy(
                "snapshot.look:info",
                "Describe a snapshot: pages by status, languages, hosts, dates, sizes.",
            ),
            "page": Lazy(
                "snapshot.look:page",
                "Print one page: its text, its archived bytes, or all that is known of it.",
            ),
            "pages": Lazy(
                "snapshot.look:pages",
                "List the pages: status, address as cited, and why there is no text.",
            ),
            "verify": Lazy(
                "snapshot.look:verify",
                "Hash every byte of a snapshot again, and compare pages, texts and archive.",
            ),
            "diff": Lazy(
                "snapshot.look:diff",
                "Name the pages and settings in which two snapshots differ; exits 1 if they do.",
            ),
            "search": Lazy("snapshot.search:search", "Search all chunks of a snapshot, offline."),
            "index": Lazy(
                "snapshot.search:index",
                "Build a snapshot's search indexes again, or add the one by meaning. The snapshot's digest stays.",
            ),
            "evaluate": Lazy(
                "snapshot.search:evaluate_",
                "Measure how well search finds the pages that are known to be relevant, in every mode that has its "
                "index.",
            ),
            "mcp": Lazy(
                "snapshot.mcp:mcp",
                "Serve search, open and find to other programs, over MCP on standard input and output.",
            ),
        },
    ),
    "judges": Lazy("judges:app", "List judge presets and fetch their weights."),
    "ledger": Lazy("ledger:app", "The store of judges' replies."),
    "tasks": _group(
        "Research tasks and what is expected of their reports.",
        {
            "classify": Lazy(
                "tasks.topics:classify",
                "Let the judge say which of DeepResearch Bench's 22 topics each task is about.",
            ),
            "filter": Lazy(
                "tasks.topics:filter_tasks",
                "Let the judge decide which tasks need deep research; kept and dropped ones are written, with the "
                "reason.",
            ),
            "topics": Lazy(
                "tasks.topics:topics",
                "Show how tasks are distributed over topics, and how far a judge agrees with topics that were given.",
            ),
            "guidance": Lazy("tasks.groups:guidance", "What a good report on a task must do."),
            "criteria": Lazy("tasks.groups:criteria", "What the reports on a task are compared by."),
            "dimensions": Lazy(
                "tasks.groups:dimensions", "By what the reports on a task are judged, each for itself."
            ),
            "checklist": Lazy(
                "tasks.groups:checklist", "What a report on a task has to deliver, item by item."
            ),
            "plan": Lazy(
                "tasks.plan:plan",
                "What the reports on a task are evaluated by: key information and reasoning questions.",
            ),
            "build": Lazy("tasks.build:app", "Make tasks: `build DIR`, `build rank DIR`, `build show DIR`."),
        },
    ),
    "stats": Lazy("stats:app", "Statistics over the reports of runs."),
    "agent": Lazy("agent:app", "A judge that looks things up in a snapshot."),
}
"""In the order in which they are listed."""


class _Commands(TyperGroup):
    """All commands; hands interrupts and faults of the system to whoever tells of them."""

    def __init__(self, **attrs: Any) -> None:
        attrs["commands"] = _named(COMMANDS)
        super().__init__(**attrs)

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


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"local-judge {__version__}")
        raise typer.Exit


@app.callback()
def _options(  # pyright: ignore[reportUnusedFunction]
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the program itself."""
