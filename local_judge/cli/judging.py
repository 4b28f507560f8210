"""Options of commands that ask judges: judges, servers, ledger and task files."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer

from local_judge.base.errors import ConfigError
from local_judge.cli.help import ADVANCED, SERVER, TASK_FILES
from local_judge.cli.options import Options
from local_judge.judge.judge import Judge
from local_judge.runs.execution.judges import JudgeSpec, judge_specs_of, open_judges
from local_judge.runs.planning.calibrations import GivenCalibrations
from local_judge.runs.planning.config import OPTION_NAMES
from local_judge.runs.planning.run_file import RunFile
from local_judge.tasks.files import TaskFiles
from serving.engines import PERSISTENT, Persistence
from serving.preset_code import ALLOWING

_JUDGE = "LOCAL_JUDGE_JUDGE"
JUDGE_HELP = "Judge preset (`local-judge judge show`) or preset file."


def run_option(
    key: str,
    panel: str | None = None,
    *,
    flags: str | None = None,
    metavar: str | None = None,
    show_default: str | bool = True,
    envvar: str | None = None,
) -> Any:
    """Return the option that sets a key of a run file; help and limits are those of the key's field.

    Args:
        key: field of `RunFile`.
        panel: heading of the option in the help.
        flags: names of the option; `--key` if None.
        metavar: placeholder of the value; that of its type if None.
        show_default: text for the default; True for the default itself.
        envvar: environment variable that sets the option where the command line does not.
    """
    field = RunFile.model_fields[key]
    name = OPTION_NAMES.get(key, key).replace("_", "-")
    text = " ".join((field.description or "").split())
    return typer.Option(
        flags or f"--{name}",
        help=f"{text.removesuffix('.')}; repeatable." if get_origin(field.annotation) is tuple else text,
        min=next((limit.ge for limit in field.metadata if hasattr(limit, "ge")), None),
        metavar=metavar,
        show_default=show_default,
        envvar=envvar,
        rich_help_panel=panel,
    )


def _one(judge: str) -> str:
    """Return the name of one judge. Raises ConfigError if the environment names several."""
    names = judge.split()
    if len(names) > 1 and judge == os.environ.get(_JUDGE) and not Path(judge).exists():
        raise ConfigError(
            f"{_JUDGE} names {len(names)} judges, but this command takes one: choose it with --judge, such as "
            f"--judge {names[0]}"
        )
    return judge


_JUDGES = typer.Option("--judge", metavar="NAME", help=JUDGE_HELP, envvar=_JUDGE)
JudgeName = Annotated[
    str, typer.Option("--judge", metavar="NAME", help=JUDGE_HELP, envvar=_JUDGE, callback=_one)
]

TasksFile = Annotated[Path | None, run_option("tasks", TASK_FILES)]
CriteriaFile = Annotated[Path | None, run_option("criteria", TASK_FILES)]
ChecklistsFile = Annotated[Path | None, run_option("checklists", TASK_FILES)]
PlansFile = Annotated[Path | None, run_option("plans", TASK_FILES)]
References = Annotated[list[Path] | None, run_option("references", TASK_FILES)]
CalibrationFiles = Annotated[list[Path] | None, run_option("calibrations", ADVANCED)]
QualificationFiles = Annotated[list[Path] | None, run_option("qualifications", ADVANCED)]
Replay = Annotated[
    bool,
    typer.Option(
        "--replay",
        help="Answer from the ledger only; the judges' servers are not needed.",
        rich_help_panel=SERVER,
    ),
]
PrintConfig = Annotated[
    bool,
    typer.Option("--print-config", help="Print all settings in the form of run files, and stop."),
]


AllowPresetCode = Annotated[
    bool,
    typer.Option(
        ALLOWING,
        help="Let preset files run code on this machine, with any argument and environment variable.",
        rich_help_panel=SERVER,
    ),
]


@dataclass(frozen=True, kw_only=True)
class ServerOptions(Options):
    """Options for reaching the servers of judges."""

    base_url: Annotated[
        list[str] | None, run_option("base_urls", metavar="URL", envvar="LOCAL_JUDGE_BASE_URL")
    ] = None
    serve: Annotated[bool, run_option("serve")] = False
    allow_preset_code: AllowPresetCode = False
    offline: Annotated[bool, run_option("offline", SERVER, flags="--offline/--no-offline")] = True
    wait_for_server: Annotated[float, run_option("wait_for_server", SERVER)] = PERSISTENT.wait_seconds / 60
    attempts: Annotated[int, run_option("attempts", SERVER)] = PERSISTENT.attempts
    fail_after: Annotated[int | None, run_option("fail_after", SERVER)] = None

    @property
    def persistence(self) -> Persistence:
        """Limits on waiting and on repeated calls."""
        return Persistence(self.attempts, 60 * self.wait_for_server, self.fail_after)

    def specs(self, *judges: str) -> tuple[JudgeSpec, ...]:
        """Return judges with their servers from --base-url or --serve."""
        return judge_specs_of(
            judges, self.base_url or (), self.serve, allow_preset_code=self.allow_preset_code
        )

    @asynccontextmanager
    async def open_all(
        self,
        specs: Sequence[JudgeSpec],
        ledger: Path,
        reasks: int = 2,
        calibrations: Sequence[GivenCalibrations] = (),
    ) -> AsyncGenerator[Mapping[str, Judge]]:
        """Open judges with these options."""
        async with open_judges(
            specs,
            ledger=ledger,
            reasks=reasks,
            only_engine=self.offline,
            calibrations=calibrations,
            persistence=self.persistence,
        ) as judges:
            yield judges

    @asynccontextmanager
    async def open(
        self,
        spec: JudgeSpec,
        ledger: Path,
        reasks: int = 2,
        calibrations: Sequence[GivenCalibrations] = (),
    ) -> AsyncGenerator[Judge]:
        """Open one judge with these options."""
        async with self.open_all([spec], ledger, reasks, calibrations) as judges:
            yield judges[spec.name]


@dataclass(frozen=True, kw_only=True)
class LedgerOptions(ServerOptions):
    """Options for servers and the ledger."""

    ledger: Annotated[Path | None, run_option("ledger", metavar="LEDGER", envvar="LOCAL_JUDGE_LEDGER")] = None

    def ledger_or(self, default: Path | None) -> Path:
        """Return the ledger that was named, or the default.

        Raises:
            ConfigError: neither is given.
        """
        found = self.ledger or default
        if found is None:
            raise ConfigError("no file for the judge's replies: give --ledger FILE or --out")
        return found

    def ledger_beside(self, out: Path | None) -> Path:
        """Return the ledger that was named, or OUT.ledger.sqlite."""
        if self.ledger is None and out is not None and out.name in ("", ".."):
            raise ConfigError(
                f"--out {out}: has no file name to derive the ledger's name from; give --ledger"
            )
        return self.ledger_or(None if out is None else out.with_suffix(".ledger.sqlite"))


@dataclass(frozen=True, kw_only=True)
class OneJudge(LedgerOptions):
    """One judge, its servers and its ledger."""

    judge: JudgeName

    def spec(self) -> JudgeSpec:
        """Return the judge."""
        return self.specs(self.judge)[0]


@dataclass(frozen=True, kw_only=True)
class SeveralJudges(LedgerOptions):
    """One or several judges, their servers and their ledger. The first judge extracts the claims."""

    judge: Annotated[list[str], _JUDGES]


@dataclass(frozen=True, kw_only=True)
class RunJudges(LedgerOptions):
    """One or several judges as in `SeveralJudges`, for a command whose run file can also name them."""

    judge: Annotated[list[str] | None, _JUDGES] = None


@dataclass(frozen=True, kw_only=True)
class OptionalJudge(LedgerOptions):
    """Optional judge of a command; environment variables do not set the judge or its servers."""

    judge: Annotated[str | None, typer.Option("--judge", metavar="NAME", help=JUDGE_HELP)] = None
    base_url: Annotated[list[str] | None, run_option("base_urls", metavar="URL")] = None
    ledger: Annotated[Path | None, run_option("ledger", metavar="LEDGER")] = None

    def spec(self) -> JudgeSpec | None:
        """Return the judge, or None without --judge.

        Raises:
            ConfigError: servers or a ledger are given without a judge.
        """
        if self.judge is not None:
            return self.specs(self.judge)[0]
        if self.base_url or self.ledger or self.serve:
            raise ConfigError("--base-url, --serve and --ledger need a judge; name it with --judge")
        return None


@dataclass(frozen=True, kw_only=True)
class TaskFileOptions(Options):
    """Files that belong to the tasks of reports."""

    tasks: TasksFile = None
    guidance: Annotated[Path | None, run_option("guidance", TASK_FILES)] = None
    criteria: CriteriaFile = None
    dimensions: Annotated[Path | None, run_option("dimensions", TASK_FILES)] = None
    references: References = None
    checklists: ChecklistsFile = None
    plans: PlansFile = None

    def files(self) -> TaskFiles:
        """Return the files that were named."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return TaskFiles.model_validate({**named, "references": tuple(self.references or ())})
