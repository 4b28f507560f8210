"""Help pages of all commands, and the options that every command has.

`--help` describes the common options and names the others, grouped by panel; `--help-all` describes all of them. An
option belongs to the panel that its declaration names (`rich_help_panel`); without one it is common. Invariant: this
module imports only Typer, so help pages load nothing that commands need.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from local_judge.cli.faults import DEBUG

TASK_FILES, CLAIMS, AGENT, SERVER, ADVANCED = "Task files", "Claims", "Agent", "Server", "Advanced"
GENERAL = "General"
_MORE = (TASK_FILES, CLAIMS, AGENT, SERVER, ADVANCED, GENERAL)
"""Panels of options that only `--help-all` describes."""

HOME, QUIET = "LOCAL_JUDGE_HOME", "LOCAL_JUDGE_QUIET"
"""Environment variables: the folder of model weights and qualifications; only results and errors are printed."""

_RANGE = re.compile(r"[<>]=?")
_ALL = "local_judge.help_all"
"""Key of the context that asks for all options."""


def _set_home(home: Path | None) -> Path | None:
    if home is not None:
        os.environ[HOME] = str(home)
    return home


def _be_quiet(context: typer.Context, wanted: bool) -> bool:
    if wanted:
        _set_for(context, QUIET)
    return wanted


def _be_verbose(context: typer.Context, wanted: bool) -> bool:
    if wanted and DEBUG not in context.meta:
        context.meta[DEBUG] = True
        _set_for(context, DEBUG)
        log = logging.StreamHandler()
        log.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
        root, begun = logging.getLogger(), time.monotonic()
        context.call_on_close(lambda: root.removeHandler(log))
        context.call_on_close(lambda: sys.stderr.write(f"took {time.monotonic() - begun:.1f} s\n"))
        root.addHandler(log)
        root.setLevel(logging.INFO)
    return wanted


def _set_for(context: typer.Context, variable: str) -> None:
    """Set an environment variable until the command ends."""
    if variable not in os.environ:
        os.environ[variable] = "1"
        context.call_on_close(lambda: os.environ.pop(variable, None))


def _print_all(context: typer.Context, wanted: bool) -> bool:
    if wanted:
        context.meta[_ALL] = True
        print(context.get_help())
        raise typer.Exit
    return wanted


Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        metavar="DIR",
        envvar=HOME,
        callback=_set_home,
        show_default="the user's cache",
        help="Folder of weights and qualifications.",
        rich_help_panel=GENERAL,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        envvar=QUIET,
        callback=_be_quiet,
        help="Print only results and errors.",
        rich_help_panel=GENERAL,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        callback=_be_verbose,
        help="Also print library logs, tracebacks and timing.",
        rich_help_panel=GENERAL,
    ),
]
HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all",
        callback=_print_all,
        is_eager=True,
        help="Describe all options and exit.",
        rich_help_panel=GENERAL,
    ),
]


def everywhere(
    home: Home = None, quiet: Quiet = False, verbose: Verbose = False, help_all: HelpAll = False
) -> None:
    """Do nothing: the signature lists the options of every command, whose callbacks apply them."""


class _Help:
    """Help page of a command or a group."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **{**settings, "rich_markup_mode": None})

    def collect_usage_pieces(self: Any, ctx: Any) -> list[str]:
        """Return the usage line's words after the command's name."""
        shown = [_argument(one) for one in self.get_params(ctx) if one.param_type_name == "argument"]
        below = ["COMMAND [ARGS]..."] if hasattr(self, "commands") else []
        return [self.options_metavar, *shown, *below]

    def format_options(self: Any, ctx: Any, formatter: Any) -> None:
        """Write arguments, options and commands."""
        shown, rest = _panels(self.get_params(ctx))
        if _ALL in ctx.meta or ctx.parent is None:
            shown, rest = shown | rest, {}
        for panel, params in shown.items():
            with formatter.section(panel):
                formatter.write_dl([(label(one), _right(one, ctx)) for one in params], col_max=24)
        below = _commands(self)
        width = max((len(name) for commands in below.values() for name in commands), default=0)
        for panel, commands in below.items():
            with formatter.section(panel):
                formatter.write_dl([(f"{name:{width}}", one.help or "") for name, one in commands.items()])
        if rest:
            with formatter.section("More options, which --help-all describes"):
                formatter.write_dl([(panel, _flags(params)) for panel, params in rest.items()])


class HelpCommand(_Help, TyperCommand):
    """Command with a help page of one screen."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; state a wrong value without the words of pydantic, which Typer uses.

        Raises:
            typer.BadParameter: An option has a wrong value.
        """
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            said = error.message.removeprefix("Value error, ").partition(", unable to parse")[0]
            error.message = said.replace("Input should be ", "it must be ")
            raise


class HelpGroup(_Help, TyperGroup):
    """Group of commands with a help page of one screen."""


def _panels(params: Sequence[Any]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Return the common parameters and the others, each by panel; required options come first."""
    found: dict[str, list[Any]] = {panel: [] for panel in ("Arguments", "Options", *_MORE)}
    for one in sorted(params, key=lambda one: not one.required):
        if one.param_type_name == "argument":
            panel = "Arguments"
        else:
            panel = GENERAL if "--help" in one.opts else one.rich_help_panel or "Options"
        if not one.hidden:
            found.setdefault(panel, []).append(one)
    filled = {panel: below for panel, below in found.items() if below}
    return (
        {panel: below for panel, below in filled.items() if panel not in _MORE},
        {panel: below for panel, below in filled.items() if panel in _MORE},
    )


def _commands(group: Any) -> dict[str, dict[str, Any]]:
    """Return the commands of a group by panel."""
    found: dict[str, dict[str, Any]] = {}
    for name, command in getattr(group, "commands", {}).items():
        found.setdefault(command.rich_help_panel or "Commands", {})[name] = command
    return found


def _argument(one: Any) -> str:
    """Return an argument as the usage line shows it: `FILE`, `[FILE]` or `FILE...`."""
    name = _name(one)
    return name if one.required else f"[{name}]"


def _name(one: Any) -> str:
    name = one.metavar or one.name.upper()
    return name if one.nargs == 1 or name.endswith("...") else f"{name}..."


def label(one: Any) -> str:
    """Return the flags and the value of an option, or the name of an argument."""
    if one.param_type_name == "argument":
        return _name(one)
    flags = ", ".join([*sorted(one.opts, key=len), *one.secondary_opts])
    return flags if one.is_flag else f"{flags} {one.metavar or 'TEXT'}"


def _right(one: Any, context: Any) -> str:
    """Return the help text with the environment variable and the default, but without ranges of numbers."""
    text, bracket, notes = one.get_help_record(context)[1].partition("  [")
    kept = [note for note in notes.removesuffix("]").split("; ") if bracket and not _RANGE.search(note)]
    if one.param_type_name == "argument" and "required" in kept:
        kept.remove("required")
    return f"{text} [{'; '.join(kept).replace('env var: ', 'env: ')}]" if kept else text


def _flags(params: Sequence[Any]) -> str:
    """Return the options' long flags in lines that end between flags, which Click must not fill again."""
    flags = ", ".join(max(one.opts, key=len) for one in params)
    return "\b\n" + textwrap.fill(flags, 64, break_on_hyphens=False)
