"""Options shared by several commands, each declared once.

A command takes related options as one parameter whose type is a subclass of `Options`. `CommandGroup.command` replaces
this parameter with the options, and adds the options that every command has. Invariant: a flag has the same help text
in all commands, except for those that tests/cli/test_options.py lists.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from local_judge.agents.actions import ToolName
from local_judge.base.errors import ConfigError
from local_judge.base.rows import is_text
from local_judge.cli.help import ADVANCED, AGENT, CLAIMS, HelpCommand, HelpGroup, everywhere
from local_judge.scoring.node import Profile

QUERIES = typer.Option("--queries", help="Queries: one per line, or JSONL with `query`.")
SAMPLE = typer.Option("--sample", min=1, help="Number of random claims to use from each set or run.")
SEED = typer.Option("--seed", min=0, help="Random seed.")
SNAPSHOT = typer.Option("--snapshot", help="Snapshot directory (`local-judge snapshot import`).")
PROTOCOL = typer.Option("--protocol", help="Protocol, such as deer or race.")
LABELS = typer.Option(
    "--labels", help="People's labels of claims of the run (`local-judge lab label`); repeatable."
)
SCORE = typer.Option(
    "--score",
    metavar="[PROTOCOL:]PATH",
    help="Id or path of a score, such as `overall`, `a/b/c` or `fact:citation_accuracy`.",
)
PROFILE = typer.Option(
    "--profile", help="Formulas of the scores: `paper` (as printed) or `upstream` (as in the published code)."
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="YAML file of settings.")]
Day = Annotated[str | None, typer.Option("--date", metavar="DATE", help="Date to use as today, YYYY-MM-DD.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what the command would do, without doing it.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Use only the first N reports or claims.")]
MaxCalls = Annotated[
    int,
    typer.Option(
        "--calls", min=1, help="Maximum number of searches and pages per agent.", rich_help_panel=AGENT
    ),
]
MaxTokens = Annotated[
    int,
    typer.Option(
        "--tokens",
        min=1,
        help="Maximum number of tokens in all prompts and replies per agent.",
        rich_help_panel=AGENT,
    ),
]
MaxTurns = Annotated[
    int,
    typer.Option("--turns", min=1, help="Maximum number of questions per agent.", rich_help_panel=AGENT),
]
OneOfJudges = Annotated[
    str | None, typer.Option("--judge", help="Use the scores of this judge instead of the ensemble's.")
]
RunsDiffer = Annotated[
    Literal["systems", "judges"] | None,
    typer.Option(
        "--differ",
        help="What several runs differ in: all are one judge's, of different systems or tasks, or each is another "
        "judge's.",
        show_default="follows from the runs",
    ),
]
OneReport = Annotated[str | None, typer.Option("--report", help="Use only the report with this id.")]
ProfileName = Annotated[Profile, PROFILE]
PromptsFrom = Annotated[
    list[str] | None,
    typer.Option(
        "--prompts",
        metavar="original=PATH",
        help="Use the published prompts in a checkout of the published project; repeatable.",
        rich_help_panel=ADVANCED,
    ),
]
AllowPrompts = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-prompts",
        metavar="SHA256",
        help="Use published prompts of an unknown version with this digest; repeatable.",
        rich_help_panel=ADVANCED,
    ),
]
Protocols = Annotated[list[str] | None, PROTOCOL]
RunLedger = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="LEDGER",
        help="Ledger of the run, with its prompts and replies.",
    ),
]
Reports = Annotated[
    list[Path] | None,
    typer.Option("--reports", help="Reports: Markdown files, folders of them, or JSONL files; repeatable."),
]
Resamples = Annotated[
    int, typer.Option("--resamples", min=0, max=100_000, help="Number of bootstrap resamples per interval.")
]
Seed = Annotated[int, SEED]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Setting of a protocol, such as race.mode=vanilla; repeatable."
    ),
]
SnapshotDir = Annotated[Path, SNAPSHOT]
SomeProtocol = Annotated[str | None, PROTOCOL]
SomeSnapshotDir = Annotated[Path | None, SNAPSHOT]
SystemName = Annotated[
    str | None,
    typer.Option("--system", help="System that wrote the reports, for input that does not name one."),
]
View = Annotated[
    str | None,
    typer.Option(
        "--view",
        help="With `scored`: show the judge the `page`, or the passages `near` a claim.",
        rich_help_panel=CLAIMS,
    ),
]
Tools = Annotated[
    list[str] | None,
    typer.Option(
        "--tool",
        help=f"Offer only this tool: {', '.join(get_args(ToolName))}; repeatable.",
        rich_help_panel=AGENT,
    ),
]


class Options:
    """Base class of options that a command takes as one parameter; subclasses are dataclasses."""


@dataclass(frozen=True, kw_only=True)
class ClaimOptions(Options):
    """Options that change how claims are extracted and verified."""

    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="`grouped` (quotations, rationales) or `scored` (probabilities).",
            rich_help_panel=CLAIMS,
        ),
    ] = None
    view: View = None
    terse: Annotated[
        bool,
        typer.Option(
            "--terse",
            help="Extract one claim per sentence, without flags and rationales.",
            rich_help_panel=CLAIMS,
        ),
    ] = False

    def changes(self) -> dict[str, str | None]:
        """Return the `claims` settings of a run that the options change."""
        return {"method": self.method, "view": self.view, "form": "terse" if self.terse else None}


class CommandGroup(typer.Typer):
    """Group of commands with help pages of one screen, and with the options that every command has."""

    def __init__(self) -> None:
        super().__init__(cls=HelpGroup, callback=everywhere, no_args_is_help=True, rich_markup_mode=None)

    def command(
        self, name: str | None = None, *, help: str | None = None, **settings: Any
    ) -> Callable[..., Any]:
        """Return a decorator that adds a command."""
        add = super().command(name, cls=HelpCommand, help=help, **settings)

        def added(command: Callable[..., None]) -> Callable[..., None]:
            add(_expanded(command))
            return command

        return added


_EVERYWHERE = inspect.signature(everywhere, eval_str=True).parameters


def _expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which the fields of each `Options` parameter replace that parameter."""
    own = inspect.signature(command, eval_str=True)
    groups: dict[str, type[Any]] = {
        name: one.annotation
        for name, one in own.parameters.items()
        if isinstance(one.annotation, type) and issubclass(one.annotation, Options)
    }
    parameters: list[inspect.Parameter] = []
    for name, one in own.parameters.items():
        parameters += (
            _parameters(groups[name]) if name in groups else [_parameter(name, one.annotation, one.default)]
        )
    parameters += [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in _EVERYWHERE.values()]

    @wraps(command)
    def call(**given: Any) -> None:
        for name in _EVERYWHERE:
            del given[name]
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    vars(call)["__signature__"] = own.replace(parameters=parameters)
    return call


def _parameters(group: type[Any]) -> list[inspect.Parameter]:
    """Return the options of a group as parameters of a command: required ones first, inherited ones last."""
    own: Container[str] = vars(group).get("__annotations__", {})
    types = get_type_hints(group, include_extras=True)
    return [
        _parameter(
            field.name,
            types[field.name],
            inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in sorted(
            fields(group), key=lambda field: (field.default is not MISSING, field.name not in own)
        )
    ]


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    """Return a parameter of a command; an option without a metavar gets that of its type."""
    if get_origin(kind) is Annotated:
        bare, *notes = get_args(kind)
        for place, note in enumerate(notes):
            if isinstance(note, OptionInfo) and note.metavar is None:
                notes[place] = copy(note)
                notes[place].metavar = _metavar(bare)
        kind = Annotated[bare, *notes]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _metavar(kind: Any) -> str | None:
    """Return the placeholder of an option's value: `PATH`, `N`, `TEXT`, or its choices."""
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    inner = [one for one in get_args(kind) if one is not type(None)]
    if inner:
        return _metavar(inner[0])
    return {int: "N", float: "N", str: "TEXT", Path: "PATH", datetime: "DATE"}.get(kind)


def tools_named(named: Sequence[str] | None, default: tuple[ToolName, ...]) -> tuple[ToolName, ...]:
    """Return the tools named with `--tool`, or the default. Raises ConfigError for an unknown name."""
    return tuple(chosen("--tool", named, get_args(ToolName)) or default)


def chosen(option: str, named: Sequence[str] | None, known: Sequence[str]) -> tuple[Any, ...] | None:
    """Return the given names without duplicates, in the order of `known`, or None without names.

    Raises:
        ConfigError: a name is not in `known`.
    """
    names = [name.strip() for one in named or () for name in one.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise ConfigError(f"{option} {name}: unknown name; choose from {', '.join(known)}")
    return tuple(one for one in known if one in names) or None


def refuse(options: Mapping[str, bool], kind: str) -> None:
    """Refuse the options that are in use although they have no meaning for a kind of input. Raises ConfigError."""
    for option, used in options.items():
        if used:
            raise ConfigError(f"{option}: has no meaning for {kind}; leave it out")


_LONGEST_LIST = 50
"""Maximum number of characters of a list of choices that the help shows in place of a name."""


def format_option(names: Sequence[str]) -> Any:
    """Return the option for a file format, whose names depend on the installed protocols."""

    def check(given: str) -> str:
        if given not in names:
            raise typer.BadParameter(f"{given!r} is not one of {', '.join(map(repr, names))}.")
        return given

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    listed = "|".join(names)
    return typer.Option(
        "--format",
        metavar=f"<{listed}>" if len(listed) <= _LONGEST_LIST else "FORMAT",
        callback=check,
        autocompletion=complete,
        help="Format of the files.",
    )


def protocol_and_score(protocol: str | None, score: str | None) -> tuple[str | None, str | None]:
    """Return the protocol and the path of `--score [PROTOCOL:]PATH`.

    Raises:
        ConfigError: `--protocol` names another protocol than `--score`.
    """
    name, colon, path = (score or "").rpartition(":")
    if not colon:
        return protocol, score
    if protocol not in (None, name):
        raise ConfigError(
            f"--score {score}: names another protocol than --protocol {protocol}; give one of them"
        )
    return name, path


def said(what: str, text: str) -> str:
    """Return a text for the results, without leading and trailing white space.

    Raises:
        ConfigError: the text is empty, or has bytes that are not UTF-8.
    """
    if not text.strip():
        raise ConfigError(f"{what} is empty")
    if not is_text(text):
        raise ConfigError(f"{what} is not UTF-8: {text!r}")
    return text.strip()
