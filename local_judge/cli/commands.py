"""Table of all commands; each command is imported when it is called.

Invariant: help and completion of a group come from the table below and do not import what its commands need. A test
checks that the help texts in the table equal those of the commands.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_group

from local_judge import __version__
from local_judge.cli.faults import Stopped
from local_judge.cli.help import HelpAll, HelpGroup, Home, Quiet, Verbose, everywhere


class Lazy(TyperCommand):
    """Command whose module is imported only when it is called."""

    def __init__(self, target: str, help: str, panel: str | None = None) -> None:
        super().__init__(name=None, help=help, rich_help_panel=panel)
        self.target = target
        """`module:attribute` below `local_judge.cli`."""

    def load(self) -> Any:
        """Import the command itself."""
        assert self.name is not None
        return _load(self.target, self.name)

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments with the imported command, which then runs, prints help or completes."""
        return self.load().make_context(info_name, args, parent, **extra)


@cache
def _load(target: str, name: str) -> Any:
    module, _, attribute = target.partition(":")
    around: Any = import_module("local_judge.cli.options").CommandGroup()
    around.command(name)(getattr(import_module(f"local_judge.cli.{module}"), attribute))
    return get_group(around).commands[name]


def _named(commands: dict[str, Lazy | HelpGroup]) -> dict[str, Any]:
    for name, command in commands.items():
        command.name = name
    return dict(commands)


def _group(panel: str, help: str, commands: dict[str, Lazy | HelpGroup]) -> HelpGroup:
    params = get_group(typer.Typer(callback=everywhere, add_completion=False)).params
    return HelpGroup(
        help=help, commands=_named(commands), params=params, no_args_is_help=True, rich_help_panel=panel
    )


EVALUATE, RESULTS, JUDGES, DATA, RESEARCH = "Evaluate", "Results", "Judges", "Data", "Research"
"""Panels of the help."""

COMMANDS: dict[str, Lazy | HelpGroup] = {
    "run": Lazy(
        "run:run",
        "Evaluate reports with one or more protocols and print their scores.",
        EVALUATE,
    ),
    "sweep": Lazy("sweep:sweep_", "Evaluate reports by many runs, which one file describes.", EVALUATE),
    "verify": Lazy("verify:verify", "Verify claims against their pages, without a report.", EVALUATE),
    "demo": Lazy(
        "demo:demo",
        "Verify a sample report whose altered claims are known.",
        EVALUATE,
    ),
    "show": Lazy(
        "show:show",
        "Print the tables of a run, the scores of groups of reports, or progress.",
        RESULTS,
    ),
    "report": Lazy(
        "report:report",
        "Write runs as a web page: scores, claims, quotations, prompts, replies.",
        RESULTS,
    ),
    "rescore": Lazy(
        "show:rescore",
        "Compute all scores again from the stored findings.",
        RESULTS,
    ),
    "export": Lazy(
        "export:export", "Write results as tables, as a leaderboard, or for other tools.", RESULTS
    ),
    "bundle": Lazy(
        "bundle:bundle",
        "Pack a run with its reports, cited pages and used replies into one file, which `audit` verifies.",
        RESULTS,
    ),
    "audit": Lazy("bundle:audit", "Verify a bundle or a run without model, server or network.", RESULTS),
    "import": Lazy(
        "imports:import_",
        "Make a run from judgements in the format of a published project.",
        RESULTS,
    ),
    "results": _group(
        RESULTS,
        "Rank systems, compare with human ratings, compute statistics.",
        {
            "rank": Lazy(
                "results.rank:rank",
                "Rank systems by pairwise comparisons or scores: Bradley-Terry strengths and win rates.",
            ),
            "diff": Lazy(
                "results.diff:diff",
                "Compare two runs: scores with paired intervals, and verdicts and answers that changed.",
            ),
            "agree": Lazy(
                "results.agree:agree",
                "Compare the scores of runs with human ratings, or the answers to items with human labels.",
            ),
            "correct": Lazy(
                "results.correct:correct",
                "Correct the share of supported claims by people's labels of a random sample of them.",
            ),
            "stats": Lazy(
                "results.stats:stats",
                "Compute a statistic of runs: bias by length, or stability of judges.",
            ),
        },
    ),
    "judge": _group(
        JUDGES,
        "Choose, start, qualify and calibrate judges.",
        {
            "show": Lazy(
                "judge.presets:show", "List the packaged presets, print one, or list the running judges."
            ),
            "fetch": Lazy(
                "judge.presets:fetch",
                "Download the weights of a preset and check their digest. A repeated call continues the download.",
            ),
            "up": Lazy(
                "judge.running:up_",
                "Start a judge's vLLM servers, one per group of GPUs, and fetch its weights if need be. Ctrl-C stops "
                "them.",
            ),
            "down": Lazy(
                "judge.running:down_",
                "Stop the servers of a judge that `judge up` or --serve started on this machine.",
            ),
            "qualify": Lazy(
                "judge.qualify:qualify",
                "Measure on items with known answers which of a judge's judgements are reliable.",
            ),
            "calibrate": Lazy(
                "judge.calibrate:calibrate",
                "Fit a judge's probabilities and threshold on labelled claims.",
            ),
        },
    ),
    "snapshot": _group(
        DATA,
        "Make, describe, verify and search snapshots of the web.",
        {
            "import": Lazy(
                "snapshot.make:import_",
                "Make a snapshot from pages, archives or snapshots that you already have.",
            ),
            "fetch": Lazy(
                "snapshot.fetch:fetch",
                "Fetch the pages that reports cite into a snapshot: each page once, at a polite rate.",
            ),
            "search-web": Lazy(
                "snapshot.search_web:search_web_",
                "Search the web for queries, and fetch the first results into a snapshot.",
            ),
            "export": Lazy(
                "snapshot.make:export",
                "Write a snapshot as one WACZ 1.1.1 file, which other web archive tools can open.",
            ),
            "info": Lazy(
                "snapshot.look:info",
                "Describe a snapshot, or the differences of two. The exit code is 1 if two differ.",
            ),
            "page": Lazy(
                "snapshot.look:page",
                "List the pages, or print one: its text, its archived bytes, or its complete record.",
            ),
            "verify": Lazy(
                "snapshot.look:verify",
                "Rehash every byte of a snapshot and check that its pages, texts and archive agree.",
            ),
            "search": Lazy(
                "snapshot.search:search",
                "Search all chunks of a snapshot, offline, or measure how well the search finds known pages.",
            ),
            "index": Lazy(
                "snapshot.search:index",
                "Rebuild a snapshot's search indexes, or add a dense index. The snapshot's digest does not change.",
            ),
            "mcp": Lazy(
                "snapshot.mcp:mcp",
                "Serve the tools search, open and find over MCP on standard input and output.",
            ),
        },
    ),
    "tasks": _group(
        DATA,
        "Make tasks; draft and review the requirements for their reports.",
        {
            "draft": Lazy(
                "tasks.drafts:draft",
                "Let the judge draft data of a kind for the tasks that have none.",
            ),
            "show": Lazy(
                "tasks.drafts:show",
                "Print a table of the rows of a file, or with --task all details of one task.",
            ),
            "review": Lazy(
                "tasks.drafts:review", "Accept, edit or reject drafts. Each decision is stored at once."
            ),
            "lint": Lazy(
                "tasks.drafts:lint",
                "Check checklists or plans against rules in code. The exit code is 1 if a rule is broken.",
            ),
            "build": Lazy(
                "tasks.build:build",
                "Make tasks in DIR, print what was made, or let a person rank and approve them.",
            ),
        },
    ),
    "text": _group(
        DATA,
        "Check how reports are read, and remove citations from them.",
        {
            "check": Lazy(
                "text:check",
                "Check how much of the reports' citations and source lists is read.",
            ),
            "clean": Lazy(
                "text:clean",
                "Remove citation marks, addresses and reference lists from reports.",
            ),
        },
    ),
    "ledger": _group(
        DATA,
        "Check, merge and compact ledgers of replies.",
        {
            "verify": Lazy("ledger:verify", "Check every row of a ledger, and print its contents."),
            "merge": Lazy(
                "ledger:merge",
                "Merge ledgers by key. The order of the parts makes no difference, and a repeated merge changes "
                "nothing.",
            ),
            "gc": Lazy("ledger:gc", "Remove what is no longer needed from a ledger, and compact its file."),
        },
    ),
    "lab": _group(
        RESEARCH,
        "Examine judges: planted errors, experiments, annotations, agents.",
        {
            "plant": Lazy(
                "lab.plant:plant",
                "Plant errors: labelled claims from a snapshot's pages, or copies of reports with one flaw each.",
            ),
            "experiment": Lazy(
                "lab.experiment:experiment",
                "Measure how scores react to reports with planted errors, older facts or flawed reasoning.",
            ),
            "compare-prompts": Lazy(
                "lab.compare_prompts:compare_prompts_of",
                "Compare the prompts of two runs: scores, agreement, planted flaws, people's labels, tokens, failures.",
            ),
            "replicate": Lazy(
                "lab.replicate:replicate",
                "Compute a published table or figure, and print the published figures next to the computed ones.",
            ),
            "label": Lazy(
                "lab.label:label",
                "Label a random sample of a run's claims on a local page. Ctrl-C ends it.",
            ),
            "benchmark-verifier": Lazy(
                "lab.benchmark_verifier:benchmark_verifier",
                "Measure verdicts against labels by people, next to a baseline and to published verifiers.",
            ),
            "agent": Lazy(
                "lab.agent:agent",
                "Answer a question from the pages of a snapshot, with quotations that code has verified.",
            ),
        },
    ),
}
"""Commands in the order of the help page."""


class _Commands(HelpGroup):
    """Group of all commands; passes interrupts and system errors on to `main`, which reports them."""

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
    rich_markup_mode=None,
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
    home: Home = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    help_all: HelpAll = False,
) -> None:
    """Do nothing: the options' callbacks apply them."""
