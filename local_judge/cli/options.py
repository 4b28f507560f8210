"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from local_judge.agents.actions import ToolName
from local_judge.errors import ConfigError
from local_judge.rows import is_text
from serving.connect import PERSISTENT, Persistence

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
SnapshotDir = Annotated[
    Path, typer.Option("--snapshot", help="A snapshot directory (`local-judge snapshot import`).")
]
SomeSnapshotDir = Annotated[
    Path | None,
    typer.Option("--snapshot", help="A snapshot directory; not needed where no protocol verifies claims."),
]
JudgeName = Annotated[
    str, typer.Option("--judge", help="A judge preset (`local-judge judge list`) or a preset file.")
]
JudgeNames = Annotated[
    list[str],
    typer.Option(
        "--judge",
        help="A judge preset (`local-judge judge list`) or a preset file; repeat for several: the first extracts "
        "the claims.",
    ),
]
BootstrapSeed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the bootstrap.")]
Resamples = Annotated[int, typer.Option("--resamples", min=0, max=100_000, help="Draws of each interval.")]
OneOfJudges = Annotated[
    str | None,
    typer.Option(
        "--judge",
        help="In a run with several judges, this judge's scores, not the ensemble's.",
    ),
]
BaseUrls = Annotated[
    list[str] | None,
    typer.Option("--base-url", help="URL of a running OpenAI-compatible server; repeat for replicas."),
]
BaseUrlsByName = Annotated[
    list[str] | None,
    typer.Option(
        "--base-url",
        help="URL of a running OpenAI-compatible server; NAME=URL for one judge of several; repeat for replicas.",
    ),
]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="A YAML file of run settings.")]
Method = Annotated[
    str | None,
    typer.Option("--method", help="`grouped` (quotations, rationales) or `scored` (probabilities)."),
]
View = Annotated[
    str | None,
    typer.Option(
        "--view",
        help="With `scored`, the judge reads the `page` or the passages `near` a claim.",
    ),
]
Terse = Annotated[
    bool, typer.Option("--terse", help="One claim a sentence, no flags, no rationales: faster.")
]
Ledger = Annotated[
    Path | None, typer.Option("--ledger", help="Keep the judge's replies here instead of in --out.")
]
CalibrationFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--calibration",
        help="Calibrations of a judge (`local-judge judge calibrate --out`); repeat for several judges.",
    ),
]
QualificationFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--qualification",
        help="What a judge was found to be worth (`qualification.json` of `local-judge judge qualify`), shown with the "
        "results; repeat for several judges.",
    ),
]
Offline = Annotated[
    bool, typer.Option("--offline/--no-offline", help="Refuse every connection but to the judge's server.")
]
WaitForServer = Annotated[
    float,
    typer.Option(
        "--wait-for-server",
        min=0,
        help="Minutes to wait for a server that stops answering; 0 lets each call fail by itself.",
    ),
]
Attempts = Annotated[
    int, typer.Option("--attempts", min=1, help="How often one call is sent before it fails.")
]
FailAfter = Annotated[
    int | None,
    typer.Option("--fail-after", min=1, help="Stop once this many calls of one judge have failed."),
]
TasksFile = Annotated[
    Path | None,
    typer.Option(
        "--tasks", help="Tasks, joined by id: JSONL, the dataset of LiveResearchBench, or DEER's folder."
    ),
]
GuidanceFile = Annotated[
    Path | None, typer.Option("--guidance", help="Guidance for tasks (`local-judge tasks guidance`).")
]
CriteriaFile = Annotated[
    Path | None, typer.Option("--criteria", help="Criteria of tasks (`local-judge tasks criteria`).")
]
DimensionsFile = Annotated[
    Path | None,
    typer.Option(
        "--dimensions",
        help="Dimensions of tasks (`local-judge tasks dimensions`), or results or the cache of DeepResearchEval.",
    ),
]
ChecklistsFile = Annotated[
    Path | None,
    typer.Option(
        "--checklists", help="Checklists of tasks (`local-judge tasks checklist`), or the dataset's."
    ),
]
PlansFile = Annotated[
    Path | None, typer.Option("--plans", help="Evaluation plans of tasks (`local-judge tasks plan`).")
]
References = Annotated[
    list[Path] | None,
    typer.Option("--references", help="Reference reports, a JSONL file; repeat for several a task."),
]
Protocols = Annotated[list[str] | None, typer.Option("--protocol", help="Repeat for several; default: deer.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting of a protocol, such as race.mode=vanilla; repeat for several."),
]
Tools = Annotated[
    list[str] | None,
    typer.Option(
        "--tool", help=f"Offer this tool alone: {', '.join(get_args(ToolName))}; repeat for several."
    ),
]


WAIT_MINUTES = PERSISTENT.wait_seconds / 60
ATTEMPTS = PERSISTENT.attempts


def persistence_of(wait_for_server: float, attempts: int, fail_after: int | None) -> Persistence:
    """What `--wait-for-server` (minutes), `--attempts` and `--fail-after` say."""
    return Persistence(attempts, 60 * wait_for_server, fail_after)


def claims_settings(method: str | None, view: str | None, terse: bool) -> dict[str, str | None]:
    """What `--method`, `--view` and `--terse` change of a run's `claims`."""
    return {"method": method, "view": view, "form": "terse" if terse else None}


def tools_named(named: Sequence[str] | None, default: tuple[ToolName, ...]) -> tuple[ToolName, ...]:
    """The tools that `--tool` names, each once, or the default. Raises ConfigError for a name that is none."""
    known: tuple[ToolName, ...] = get_args(ToolName)
    for name in named or ():
        if name not in known:
            raise ConfigError(f"--tool {name}: no such tool; there are {', '.join(known)}")
    return tuple(name for name in known if name in (named or default))


def name_option(flag: str, names: Sequence[str], help: str) -> Any:
    """An option whose value is one of some names that are known only when the program runs."""

    def check(given: str) -> str:
        if given not in names:
            raise typer.BadParameter(f"{given!r} is not one of {', '.join(map(repr, names))}.")
        return given

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return typer.Option(
        flag, metavar=f"<{'|'.join(names)}>", callback=check, autocompletion=complete, help=help
    )


def said(what: str, text: str) -> str:
    """A text that is kept with what comes of it, without blanks at its ends.

    Raises:
        ConfigError: there is nothing in it, or bytes that are no UTF-8.
    """
    if not text.strip():
        raise ConfigError(f"{what} is empty")
    if not is_text(text):
        raise ConfigError(f"{what} is not UTF-8: {text!r}")
    return text.strip()
