"""Python interface: evaluate reports, and read the results of a run as data frames.

Invariants: `evaluate` makes the run that `local-judge run` makes from the same settings; every number is the stored
one, as in `local-judge show --json`. The names that users import are those in `local_judge.__all__`.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import html
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, cast

from local_judge.base.errors import ConfigError, optional_module, plain
from local_judge.claims.config import ClaimsConfig
from local_judge.ledger.ledger import Ledger, Trace
from local_judge.protocols.originals import PromptSource
from local_judge.reporting.leaderboard import as_html
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.run_tables import leaderboard
from local_judge.reporting.warnings import RunWarning, run_warnings, stored_claims
from local_judge.runs.execution.job import job_of, run_job, unwatched
from local_judge.runs.planning.report_files import left_out
from local_judge.runs.planning.run_file import Selection, load_run_file
from local_judge.runs.results.tables import (
    COLUMNS,
    TableName,
    call_rows,
    claim_rows,
    item_rows,
    report_rows,
    score_rows,
    system_rows,
)
from local_judge.runs.storage.manifest import protocols_of, read_manifest
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import Profile

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
Name = str | PathLike[str]
Report = Name | Mapping[str, Any]

_ROWS: Mapping[TableName, Callable[..., list[dict[str, Any]]]] = {
    "reports": report_rows,
    "scores": score_rows,
    "systems": system_rows,
    "claims": claim_rows,
    "items": item_rows,
}
_DTYPES: Mapping[type, str] = {str: "string", int: "Int64", bool: "boolean", float: "float64"}


class RunOptions(TypedDict, total=False):
    """Keys of a run file that `evaluate` passes on as they are; `RunFile` documents and checks them."""

    system: str | None
    select: Sequence[dict[str, Any] | Selection]
    guidance: Name | None
    criteria: Name | None
    dimensions: Name | None
    references: Sequence[Name]
    checklists: Name | None
    plans: Name | None
    claims: dict[str, Any] | ClaimsConfig
    reasks: int
    date: dt.date | str | None
    prompts: dict[str, Any] | PromptSource | None
    draw: int
    extractor: str | None
    serve: bool
    calibrations: Sequence[Name]
    qualifications: Sequence[Name]
    offline: bool
    wait_for_server: float
    attempts: int
    fail_after: int | None


def evaluate(
    reports: Report | Iterable[Report],
    *,
    judge: Name | Sequence[Name],
    out: Name,
    snapshot: Name | None = None,
    protocols: str | Sequence[str] = ("deer",),
    base_url: str | Sequence[str] = (),
    tasks: Name | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    limit: int | None = None,
    ledger: Name | None = None,
    progress: bool = True,
    allow_preset_code: bool = False,
    **options: Unpack[RunOptions],
) -> Run:
    """Evaluate reports, and return the results.

    The same call with the same `out` continues a run that was stopped: no reply is asked for twice. The call also works
    where an event loop is running, as in a notebook. While it runs, the process reaches only the judge's servers,
    unless `offline=False` is given.

    Args:
        reports: Markdown files, folders of them, or JSONL files; or rows with `id`, `report` and, where there are tasks
            and systems, `task` and `system`.
        judge: preset by name or file, or several; the first one extracts the claims.
        out: run directory.
        snapshot: snapshot of the cited pages; None if no protocol reads pages.
        protocols: names of the protocols.
        base_url: OpenAI-compatible server of the judge, or `NAME=URL` for one of several judges; none for a judge in
            this process.
        tasks: file of tasks.
        settings: settings of protocols, by protocol: `{"deer": {"parts": ["verification"]}}`.
        limit: number of reports to evaluate, from the first one on; None for all.
        ledger: file for the judge's replies; in the run directory if None.
        progress: write the progress to standard error.
        allow_preset_code: let the presets run code on this machine.
        options: the other keys of a run file; see `RunOptions`.

    Returns:
        The results. Answers that are missing are counted in `reports()`; repeat the call to ask for them again.

    Raises:
        UserError: a file or a setting cannot be used, or `out` has another run; the message says what to do.
        ServingError: the judge cannot be reached.
        IndexesError: the snapshot cannot be read.
        JudgeError: the ledger cannot be used.

    Examples:
        >>> run = evaluate(
        ...     "mill.md",
        ...     judge="judge.yaml",
        ...     base_url="http://127.0.0.1:8000/v1",
        ...     snapshot="snapshot",
        ...     protocols="fact",
        ...     out="run",
        ...     progress=False,
        ... )
        >>> run
        <Run run: 1 reports, fact by judge>
    """
    single = isinstance(reports, str | PathLike | Mapping)
    given = [cast("Report", reports)] if single else list(reports)
    if not given:
        raise ConfigError("no report was given; name at least one")
    rows = [one for one in given if isinstance(one, Mapping)]
    judges = [judge] if isinstance(judge, str | PathLike) else judge
    file = load_run_file(
        None,
        {
            **options,
            "reports": [Path(one) for one in given if not isinstance(one, Mapping)],
            "judges": [fspath(one) for one in judges],
            "out": Path(out),
            "snapshot": _path(snapshot),
            "protocols": [protocols] if isinstance(protocols, str) else list(protocols),
            "base_urls": [base_url] if isinstance(base_url, str) else list(base_url),
            "tasks": _path(tasks),
            "settings": dict(settings or {}),
            "limit": limit,
            "ledger": _path(ledger),
        },
    )
    job = job_of(file, rows, allow_preset_code=allow_preset_code)
    if progress:
        sys.stderr.writelines(f"{plain(line)}\n" for line in left_out(file.reports))
    _finish(lambda: run_job(job, RunProgress if progress else unwatched))
    return load(job.store.root, ledger=job.ledger)


def load(run: Name, *, ledger: Name | None = None) -> Run:
    """Return the results of a finished run.

    Args:
        run: run directory.
        ledger: file of the judge's replies, if it is not in the run directory.

    Raises:
        RunError: there is no finished run, or a file of it was changed after the run ended.

    Examples:
        >>> load("run").protocols
        ('fact',)
    """
    return Run(Path(run), _path(ledger))


class Run:
    """Results of a finished run.

    Attributes:
        path: run directory.
        protocols: names of the protocols, in the order of the run.
        judges: names of the judges, in the order of the run; empty for imported results.

    Examples:
        >>> run = Run(Path("run"))
        >>> run.judges
        ('judge',)
    """

    def __init__(self, path: Path, ledger: Path | None = None) -> None:
        self.path = path
        self._store = RunStore(path)
        self._records = load_records(self._store)
        self._ledger = ledger
        self.protocols = protocols_of(self._store)
        self.judges = tuple(str(judge["name"]) for judge in read_manifest(self._store).get("judges", []))

    def reports(self) -> pd.DataFrame:
        """Return one row for each report: task, system, status, length, sources read, missing answers.

        Examples:
            >>> load("run").reports()[["report", "status", "n_sources_read"]].values.tolist()
            [['mill', 'done', 2]]
        """
        return self._frame("reports")

    def scores(self, *, profile: Profile = "paper", judge: str | None = None) -> pd.DataFrame:
        """Return one row for each score of each report, with bounds and the counts that it rests on.

        Args:
            profile: formulas: `paper` as printed, `upstream` as in the published code.
            judge: one of several judges; None for the ensemble or the only judge.

        Raises:
            RunError: the run has no such judge.

        Examples:
            >>> load("run").scores().set_index("path").loc["citation_accuracy", "value"].item()
            1.0
        """
        return self._frame("scores", profile=profile, judge=judge)

    def systems(self, *, profile: Profile = "paper", judge: str | None = None) -> pd.DataFrame:
        """Return one row for each score of each system over its reports.

        `aggregate` is `rule` where the protocol defines the score over reports, and `mean` elsewhere. Arguments and
        errors are those of `scores`.

        Examples:
            >>> load("run").systems().set_index("path").loc["citations", "value"].item()
            2.0
        """
        return self._frame("systems", profile=profile, judge=judge)

    def claims(self, *, judge: str | None = None) -> pd.DataFrame:
        """Return one row for each claim and each page that it cites, with verdict, quotation and rationale.

        A claim that cites nothing has one row without a page.

        Args:
            judge: one of several judges; None for the rows of all.

        Raises:
            RunError: the run has no such judge.

        Examples:
            >>> load("run").claims()[["claim", "verdict"]].values.tolist()
            [['L2.S1.1', 'supported'], ['L2.S2.1', 'supported']]
        """
        return self._frame("claims", judge=judge)

    def items(self, *, judge: str | None = None) -> pd.DataFrame:
        """Return one row for each answer to a question of a protocol: a rubric's item, a criterion, a requirement.

        The answer is in `label` or `value`; `failure` says why there is none. Arguments and errors are those of
        `claims`.

        Examples:
            >>> load("run").items()["label"].tolist()
            ['supported', 'supported']
        """
        return self._frame("items", judge=judge)

    def calls(self) -> pd.DataFrame:
        """Return one row for each call of the judges, with question, reply, tokens and seconds.

        `replies` in `claims` and `items` are values of `key`. The whole prompt is in `call(key)`. A ledger that several
        runs share has the calls of all of them.

        Raises:
            RunError: the ledger is missing.
            LedgerError: it is damaged.

        Examples:
            >>> load("run").calls()["judge"].unique().tolist()
            ['judge']
        """
        return self._frame("calls")

    def warnings(self, *, judge: str | None = None) -> tuple[RunWarning, ...]:
        """Return the reasons to trust the numbers less, the most important first, as `local-judge show` prints them.

        Args:
            judge: one of several judges; None for the warnings about all.

        Examples:
            >>> [warning.kind for warning in load("run").warnings()]
            ['qualification', 'single_draw', 'few_tasks']
        """
        claims = stored_claims(self._store, self._records)
        return run_warnings(self._store, self._records, judge=judge, claims=claims)

    def call(self, key: str) -> Trace:
        """Return one call with its whole prompt, schema and sampling.

        Raises:
            KeyError: the ledger has no reply under this key.
            LedgerError: the ledger is damaged.

        Examples:
            >>> run = load("run")
            >>> run.call(run.calls()["key"][0]).messages[0].role
            'system'
        """
        with Ledger.open(self._ledger or self._store.ledger, read_only=True) as replies:
            found = replies.reply(key)
        if found is None:
            raise KeyError(key)
        return found

    def records(self, table: TableName, **arguments: Any) -> list[dict[str, Any]]:
        """Return a table as a list of dictionaries, for programs without pandas.

        Args:
            table: `reports`, `scores`, `systems`, `claims`, `items` or `calls`.
            arguments: those of the method with this name.

        Examples:
            >>> [row["verdict"] for row in load("run").records("claims")]
            ['supported', 'supported']
        """
        if table == "calls":
            return call_rows(self._store, self._ledger)
        return _ROWS[table](self._store, **arguments)

    def _frame(self, table: TableName, **arguments: Any) -> pd.DataFrame:
        """Return a table; missing whole numbers and flags stay missing instead of becoming fractions."""
        pd = optional_module("pandas", "a data frame", "frames")
        rows = self.records(table, **arguments)
        return pd.DataFrame(
            {
                name: pd.Series([row[name] for row in rows], dtype=_DTYPES.get(kind, "object"))
                for name, kind in COLUMNS[table].items()
            }
        )

    def __repr__(self) -> str:
        judges = ", ".join(self.judges) or "no judge"
        return f"<Run {self.path}: {len(self._records)} reports, {', '.join(self.protocols)} by {judges}>"

    def _repr_html_(self) -> str:
        """Return the leaderboard with its warnings for a notebook, without scripts, styles or links."""
        lines = [one.text for one in self.warnings()]
        notes = "".join(f"<p>{html.escape(plain(line))}</p>\n" for line in lines)
        return f"{notes}{as_html(*leaderboard(self._store))}<p>{html.escape(plain(repr(self)))}</p>\n"


def _path(name: Name | None) -> Path | None:
    return None if name is None else Path(name)


def _finish(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end: in this thread, or in another one if an event loop is running here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    begun: Future[asyncio.Task[Any] | None] = Future()

    async def main() -> T:
        begun.set_result(asyncio.current_task())
        return await make()

    with ThreadPoolExecutor(1, thread_name_prefix="local_judge") as thread:
        ended = thread.submit(asyncio.run, main())
        try:
            return ended.result()
        except KeyboardInterrupt:  # of the cell; the thread is awaited when the block ends
            task = begun.result()
            if task is not None:
                with contextlib.suppress(RuntimeError):  # it has ended
                    task.get_loop().call_soon_threadsafe(task.cancel)
            raise
