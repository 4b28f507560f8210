"""Files of a page.

    one file      page.html with all data
    a folder      index.html, and data/NAME.js for each report and list, loaded when it is shown

Invariants: the page makes no request except, in a folder, for its own data files; scripts and styles run only by their
digests in the content-security policy; data stands in the page as compressed, base64-encoded JSON, so that no text of a
report, a page or a judge can be read as markup. Reports are written one by one and not kept in memory.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

from jinja2 import Environment, StrictUndefined, Template
from pydantic import BaseModel

from local_judge import __version__
from local_judge.base.errors import RunError, os_errors
from local_judge.base.files import replacing
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.protocols.base import load_protocol
from local_judge.reporting.page.detail import WORST_FIRST, Detail, read_detail
from local_judge.reporting.page.overview import DEEPEST, Overview, overview
from local_judge.reporting.page.reliability import (
    FittedOn,
    GivenVerdict,
    Reliability,
    fitted_on,
    given_verdicts,
    reliability,
)
from local_judge.reporting.page.results import Results, load_results
from local_judge.reporting.page.sources import Sources
from local_judge.runs.proof.material import NOWHERE, Places
from local_judge.runs.results.attributes import OpenRun
from local_judge.runs.results.labels import ClaimLabel
from local_judge.runs.storage.manifest import judges_of, protocols_of, read_manifest
from local_judge.scoring.node import Profile

SCRIPTS = ("vendor/d3.min.js", "vendor/plot.umd.min.js")
"""Chart library, as published; see vendor/LICENSES.txt."""
OWN = ("text", "data", "parts", "charts", "overview", "lists", "report", "main")
"""Modules of the page's own script, in order."""
PLOT_STYLE = (
    ":where(.plot) {\n  --plot-background: white;\n  display: block;\n  height: auto;\n  height: intrinsic;\n"
    "  max-width: 100%;\n}\n:where(.plot text),\n:where(.plot tspan) {\n  white-space: pre;\n}"
)
"""Style element that the chart library adds to each chart, allowed by its digest."""
LONGEST_TEXT = 400
"""Characters of a claim or an item in a list."""


class ClaimRow(Frozen):
    """One claim and page in a list over reports."""

    entry: int
    """Index of the entry of the report."""
    verdict: int
    """Index among the report's verdicts."""
    text: str
    outcome: str
    url: str = ""
    confidence: float | None = None


class ItemLine(Frozen):
    """One answer to a question of a protocol in a list over reports."""

    entry: int
    """Index of the entry of the report."""
    item: int
    """Index among the report's items."""
    protocol: str
    path: tuple[str, ...] = ()
    text: str
    value: str | float | None
    share: float | None = None


class Entry(Frozen):
    """One report as one judge read it, whose details are in a chunk of their own."""

    report: int
    """Index in the overview's reports."""
    judge: str | None
    chunk: str
    outcomes: dict[str, int]
    """Number of claims and pages by outcome."""


class ListOf(Frozen):
    """Chunk with the claims or the items of one system."""

    kind: Literal["claims", "items"]
    run: int
    judge: str | None
    system: str | None
    chunk: str
    n: int


class Index(Frozen):
    """Data that the page reads when it opens."""

    version: str
    overview: Overview
    entries: tuple[Entry, ...]
    lists: tuple[ListOf, ...]
    items: dict[str, tuple[tuple[str, ...], ...]]
    """Paths of the scores that items count for, by protocol."""
    outcomes: tuple[str, ...]
    """All outcomes, the worst first."""
    reliability: tuple[Reliability, ...]
    in_folder: bool


class Written(NamedTuple):
    """Result of writing a page."""

    path: Path
    """File to open."""
    n_reports: int
    n_bytes: int
    """Size of all files."""
    missing: tuple[str, ...]
    """Lines on texts that were not at hand."""


def write_page(
    paths: Sequence[Path],
    out: Path,
    places: Places = NOWHERE,
    profile: Profile = "paper",
    labels: Sequence[ClaimLabel] = (),
) -> Written:
    """Write runs as a page.

    Args:
        paths: run directories.
        out: a file that ends in .html, or a folder for a page that loads its data when it is shown.
        places: places of reports, pages and replies.
        profile: formulas of the scores.
        labels: people's labels of claims of the runs.

    Raises:
        RunError: a run cannot be read, or the page cannot be written.
    """
    in_folder = out.suffix.lower() not in (".html", ".htm")
    target = out / "index.html" if in_folder else out
    results = load_results(paths, profile)
    numbers = overview(results)
    chunks = _Chunks(results, numbers, places, labels, in_folder)
    with os_errors(RunError, f"{out}: cannot be written"):
        if in_folder:
            _check_folder(out)
        size = 0
        with replacing(target) as file:
            if in_folder:
                (out / "data").mkdir(exist_ok=True)
                for name, data in chunks:
                    text = f'localJudge("{name}", "{data}");\n'
                    (out / "data" / f"{name}.js").write_text(text, encoding="utf-8")
                    size += len(text)
            inline: Any = () if in_folder else chunks
            for part in _template().generate(
                policy=_policy(in_folder),
                style=_asset("page.css"),
                scripts=[_asset(name) for name in SCRIPTS],
                own=_own_script(),
                chunks=inline,
                index=lambda: packed(chunks.index()),
            ):
                size += file.write(part.encode())
    return Written(target, len(numbers.reports), size, tuple(chunks.missing))


def _check_folder(out: Path) -> None:
    """Check that a folder is new, empty, or holds an earlier page. Raises RunError."""
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / "index.html").is_file())):
        raise RunError(f"{out}: not an empty folder and not a page; choose another --out")


class _Chunks:
    """Chunks of data by name, made one after the other; the index is known after the last."""

    def __init__(
        self,
        results: Results,
        numbers: Overview,
        places: Places,
        labels: Sequence[ClaimLabel],
        in_folder: bool,
    ) -> None:
        self._results = results
        self._numbers = numbers
        self._places = places
        self._labels = labels
        self._in_folder = in_folder
        self._reliability: list[Reliability] = []
        self._entries: list[Entry] = []
        self._lists: list[ListOf] = []
        self._paths: dict[str, dict[tuple[str, ...], None]] = {}
        self.missing: list[str] = []

    def __iter__(self) -> Iterator[tuple[str, str]]:
        first = 0
        for place, run in enumerate(self._results.runs):
            sources = Sources(run.store, self._places)
            try:
                self._note_missing(run, sources)
                judges = judges_of(run.store) or (None,)
                entries: list[dict[str, Any]] = read_manifest(run.store).get("judges") or [{}]
                for judge, entry in zip(judges, entries, strict=True):
                    calibrations = fitted_on(entry, sources.ledger)
                    yield from self._of_judge(place, run, judge, sources, first, calibrations)
            finally:
                sources.close()
            first += len(run.records)
        if self._labels and all(one.n_unmatched == len(self._labels) for one in self._reliability):
            self.missing.append(f"none of {count(len(self._labels), 'label')} is of a claim of these runs")

    def _of_judge(
        self,
        place: int,
        run: OpenRun,
        judge: str | None,
        sources: Sources,
        first: int,
        calibrations: Iterable[FittedOn],
    ) -> Iterator[tuple[str, str]]:
        """Yield the chunks of the reports of one run as one judge read them, then those of the lists.

        Args:
            place: index of the run.
            run: the run.
            judge: one of several judges; None for the only one.
            sources: texts of the run.
            first: index of the run's first report.
            calibrations: those of the judge.
        """
        protocols = [load_protocol(name) for name in protocols_of(run.store)]
        claims: dict[str | None, list[ClaimRow]] = {}
        items: dict[str | None, list[ItemLine]] = {}
        verdicts: list[GivenVerdict] = []
        for number, record in enumerate(run.records, first):
            if record.status != "done":
                continue
            trees = self._results.trees(place, judge, record.id)
            detail = read_detail(run.store, record, judge, sources, protocols, trees, whole=self._in_folder)
            claims.setdefault(record.system, []).extend(self._claims(detail))
            verdicts += given_verdicts(record.id, detail)
            items.setdefault(record.system, []).extend(self._items(detail))
            yield self._entry(number, judge, detail)
        for system, rows in claims.items():
            rank = {outcome: n for n, outcome in enumerate(WORST_FIRST)}
            rows.sort(key=lambda row: (rank[row.outcome], row.confidence or 0.0, row.entry, row.verdict))
            yield self._list("claims", place, judge, system, rows)
        for system, lines in items.items():
            yield self._list("items", place, judge, system, lines)
        known = reliability(place, judge, verdicts, self._labels, calibrations)
        self._reliability += [known] if known is not None else []

    def index(self) -> Index:
        """Return the index of all chunks."""
        return Index(
            version=__version__,
            overview=self._numbers,
            entries=tuple(self._entries),
            lists=tuple(self._lists),
            items={protocol: tuple(paths) for protocol, paths in self._paths.items()},
            outcomes=WORST_FIRST,
            reliability=tuple(self._reliability),
            in_folder=self._in_folder,
        )

    def _entry(self, number: int, judge: str | None, detail: Detail) -> tuple[str, str]:
        name = f"report-{len(self._entries)}"
        outcomes = {
            outcome: n
            for outcome in WORST_FIRST
            if (n := sum(verdict.outcome == outcome for verdict in detail.verdicts))
        }
        self._entries.append(Entry(report=number, judge=judge, chunk=name, outcomes=outcomes))
        return name, packed(detail)

    def _claims(self, detail: Detail) -> Iterator[ClaimRow]:
        for place, verdict in enumerate(detail.verdicts):
            yield ClaimRow(
                entry=len(self._entries),
                verdict=place,
                text=detail.claims[verdict.claim].text[:LONGEST_TEXT],
                outcome=verdict.outcome,
                url=verdict.url,
                confidence=verdict.confidence,
            )

    def _items(self, detail: Detail) -> Iterator[ItemLine]:
        for place, item in enumerate(detail.items):
            self._paths.setdefault(item.protocol, {})[item.path[:DEEPEST]] = None
            yield ItemLine(
                entry=len(self._entries),
                item=place,
                protocol=item.protocol,
                path=item.path,
                text=item.text[:LONGEST_TEXT],
                value=item.value,
                share=item.share,
            )

    def _list(
        self,
        kind: Literal["claims", "items"],
        run: int,
        judge: str | None,
        system: str | None,
        rows: Sequence[BaseModel],
    ) -> tuple[str, str]:
        name = f"{kind}-{len(self._lists)}"
        self._lists.append(ListOf(kind=kind, run=run, judge=judge, system=system, chunk=name, n=len(rows)))
        return name, packed(rows)

    def _note_missing(self, run: OpenRun, sources: Sources) -> None:
        texts = sum(sources.report(record.document) is not None for record in run.records)
        of = f"{run.name}: " if len(self._results.runs) > 1 else ""
        if texts < sum(record.document is not None for record in run.records):
            self.missing.append(
                f"{of}text of {texts} of {len(run.records)} reports found; name them with --reports"
            )
        if sources.snapshot is None and any(record.n_sources_read for record in run.records):
            self.missing.append(
                f"{of}snapshot not found; name it with --snapshot to show quotations in their pages"
            )
        if sources.ledger is None:
            self.missing.append(f"{of}ledger not found; name it with --ledger to show prompts and replies")


def packed(data: BaseModel | Sequence[BaseModel]) -> str:
    """Return data as compressed JSON in base64; fields with their default values are left out."""
    return base64.b64encode(gzip.compress(_json(data), 6, mtime=0)).decode("ascii")


def _json(data: BaseModel | Sequence[BaseModel]) -> bytes:
    if isinstance(data, BaseModel):
        return data.model_dump_json(exclude_defaults=True).encode()
    return b"[" + b",".join(one.model_dump_json(exclude_defaults=True).encode() for one in data) + b"]"


def _policy(in_folder: bool) -> str:
    """Return the content-security policy: only these scripts and styles, no connection, no frame, no form.

    In a folder, the page's own script may add scripts, which it does for its data files alone.
    """
    scripts = [*(_asset(name) for name in SCRIPTS), _own_script()]
    dynamic = " 'strict-dynamic'" if in_folder else ""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_digest, scripts))}{dynamic}",
            f"style-src {_digest(_asset('page.css'))} {_digest(PLOT_STYLE)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types local-judge",
        )
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    return (
        files("local_judge.reporting.page").joinpath("assets", *name.split("/")).read_text(encoding="utf-8")
    )


@cache
def _own_script() -> str:
    parts = "\n".join(_asset(f"{name}.js") for name in OWN)
    return f"(() => {{\n'use strict';\n{parts}\n}})();"


@cache
def _template() -> Template:
    made = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    return made.from_string(_asset("page.html"))
