"""Tables of a run: its systems or reports, its judges side by side, and how far the judges agree.

Invariant: a judge that failed is visible. The number of its missing answers stands beside its scores and beside each
measure of agreement, and a measure without a value is a dash with its reason below the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from local_judge.base.output import NONE, Table, count, shorten
from local_judge.reporting.summary import (
    estimate_text,
    score_lines,
    score_notes,
)
from local_judge.reporting.tables import score_table
from local_judge.runs.results.summary import Summary, unknown_on
from local_judge.runs.storage.manifest import judge_of, protocols_of
from local_judge.runs.storage.records import (
    CaseRecord,
    RunScoreRecord,
    ScoreRecord,
    load_records,
    records_by_system,
)
from local_judge.runs.storage.rescoring import AgreementRecord
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import SystemScore, load_system_scores
from local_judge.scoring.node import Profile, Score
from local_judge.stats.estimate import DRAWS, LEVEL, Estimate

ENSEMBLE = "ensemble"
NO_SYSTEM = "no system named"
FEW = 3
"""Most scores that stand in one table beside the coverage columns."""

REPORTS, SOURCES, FAILED, IN_PART = "reports", "sources read", "answers missing", "read in part"


class TableOptions(NamedTuple):
    """Choice of what the tables of a run contain."""

    profile: Profile = "paper"
    """Formulas of the scores; a protocol without scores by this profile is printed by one that has some."""
    reports: bool = False
    """True for a row for each report."""
    all_scores: bool = False
    """True for all root scores as columns, and for scores over several reports as trees."""
    bounds: bool = False
    """True for the lowest and highest value that failures leave possible."""


DEFAULT = TableOptions()


class _Column(NamedTuple):
    """One score."""

    protocol: str
    profile: Profile
    root: str
    label: str


class _Row(NamedTuple):
    """Reports whose scores share one line."""

    name: str
    records: Sequence[CaseRecord]
    judge: str | None
    system: str | None = None
    all_systems: bool = False
    """True if the reports are of several systems."""
    single: bool = False
    """True for a report's own line, to which no rule over reports applies."""
    bold: bool = False


class _Scores:
    """Scores of a run by protocol, profile and judge: of its systems, and of those reports that have a line."""

    def __init__(self, systems: Sequence[SystemScore], scores: Sequence[ScoreRecord]) -> None:
        self._systems = {
            (row.protocol, row.profile, row.judge, row.system, row.all_systems, row.path): row
            for row in systems
        }
        self._reports = {(row.protocol, row.profile, row.judge, row.case): row for row in scores}

    def columns(self, options: TableOptions) -> list[_Column]:
        """Return the columns of all protocols: the scores that sum up a report, or all roots."""
        profiles: dict[str, dict[Profile, None]] = {}
        for row in self._systems.values():
            profiles.setdefault(row.protocol, {})[row.profile] = None
        return list(
            dict.fromkeys(
                _Column(row.protocol, row.profile, row.path[0], row.label)
                for protocol, having in profiles.items()
                for row in self._systems.values()
                if row.protocol == protocol
                and row.profile == (options.profile if options.profile in having else next(iter(having)))
                and len(row.path) == 1
                and not row.rule_only
                and (row.headline or options.all_scores)
            )
        )

    def summary(self, row: _Row, column: _Column) -> Summary:
        """Return one score of one line."""
        of = (column.protocol, column.profile, row.judge)
        if row.single:
            own = [self._reports.get((*of, record.id)) for record in row.records]
            return Summary.over(_root_score(one, column.root) for one in own)
        found = self._systems.get((*of, row.system, row.all_systems, (column.root,)))
        return Summary.over(unknown_on() for _ in row.records) if found is None else Summary.of_system(found)


def _root_score(row: ScoreRecord | None, root: str) -> Score:
    """Return the score of one root: unknown without a record, undefined if the report's tree has no such root."""
    if row is None:
        return unknown_on()
    return next((one.score for one in row.scores if one.id == root), Score(value=None, n_undefined=1))


def run_summary(
    records: Sequence[CaseRecord],
    systems: Sequence[SystemScore],
    options: TableOptions = DEFAULT,
    *,
    aggregates: Sequence[RunScoreRecord] = (),
    scores: Sequence[ScoreRecord] = (),
) -> list[Table | str]:
    """Return the tables of a run by one judge, or by the ensemble, and the notes below them.

    By default each system has one row with the scores that sum up its reports. If a protocol defines its own score over
    reports, such as a pooled rate, the row shows that score instead of the mean.

    Args:
        records: reports of the run.
        systems: scores of its systems.
        options: choice of rows, scores and contents.
        aggregates: trees of the protocols' own scores over reports, shown with all scores.
        scores: scores of the reports that have a row: of all with `options.reports`, and of a report without a system
            that is alone in the run.
    """
    found = _Scores(systems, scores)
    columns = found.columns(options)
    if not columns:
        return []
    judge = systems[0].judge
    sections = _sections(records, judge, {row.case for row in scores}, options)
    head, who = "report" if sections[0][0].single else "system", by_whom(records, judge)
    parts: list[Table | str] = []
    parts += _tables(
        head,
        lambda own: _title(own, who),
        sections,
        columns,
        found,
        options,
        (REPORTS, SOURCES, FAILED, *([IN_PART] if any(record.problems for record in records) else [])),
    )
    if options.all_scores:
        shown = {(column.protocol, column.profile) for column in columns}
        parts += aggregate_tables([row for row in aggregates if (row.protocol, row.profile) in shown], who)
    return [*parts, *_notes([row for section in sections for row in section], columns, found)]


def _notes(rows: Sequence[_Row], columns: Sequence[_Column], found: _Scores) -> list[str]:
    return score_notes(
        (f"{label} of {row.name}", found.summary(row, column))
        for row in rows
        for label, column in zip(_labels(columns), columns, strict=True)
    )


def leaderboard(
    store: RunStore, profile: Profile = "paper", judge: str | None = None
) -> tuple[Table, list[str]]:
    """Return the scores that sum up the reports of each system, in one table, and the notes below it.

    Args:
        store: a finished run.
        profile: formulas; a protocol without this profile is shown by its only one.
        judge: one of several judges; None for the ensemble or the only judge.

    Raises:
        RunError: the run is not finished or was modified, or it has no such judge.
    """
    chosen, records = judge_of(store, judge), load_records(store)
    found = _Scores(load_system_scores(store, protocols_of(store), (chosen,)), ())
    options = TableOptions(profile)
    rows, columns = _systems(records, chosen), found.columns(options)
    table = _table(
        _title(columns, ""), "system", [rows], columns, found, options, (REPORTS, SOURCES, FAILED), "\n"
    )
    return table, _notes(rows, columns, found)


def _sections(
    records: Sequence[CaseRecord], judge: str | None, scored: set[str], options: TableOptions
) -> list[list[_Row]]:
    """Return the rows: reports if asked for, systems, and then the mean over reports of several systems."""
    single = [
        _Row(shorten(record.id, 40), [record], judge, single=True)
        for record in records
        if record.id in scored
    ]
    if is_alone(records):
        return [single]
    together = _systems(records, judge)
    if not options.reports:
        return [together]
    last = [_Row("all reports", records, judge, all_systems=True, bold=True)] if len(together) > 1 else []
    return [section for section in (single, together if len(records) > 1 else [], last) if section]


def _systems(records: Sequence[CaseRecord], judge: str | None) -> list[_Row]:
    by_system = records_by_system(records)
    unnamed = "all reports" if len(by_system) == 1 else NO_SYSTEM
    return [
        _Row(unnamed if system is None else shorten(system, 40), own, judge, system)
        for system, own in by_system.items()
    ]


def is_alone(records: Sequence[CaseRecord]) -> bool:
    """Check whether a run has one report, of no named system: its row is the report's own."""
    return len(records) == 1 and records[0].system is None


def _title(columns: Sequence[_Column], who: str) -> str:
    """Return `deer, fact (paper profile)` for the protocols of the columns."""
    by_profile: dict[str, dict[str, None]] = {}
    for column in columns:
        by_profile.setdefault(column.profile, {})[column.protocol] = None
    return "; ".join(
        f"{', '.join(protocols)} ({profile} profile{who})" for profile, protocols in by_profile.items()
    )


def _tables(
    head: str,
    title: Callable[[Sequence[_Column]], str],
    sections: Sequence[Sequence[_Row]],
    columns: Sequence[_Column],
    found: _Scores,
    options: TableOptions,
    coverage: Sequence[str],
) -> Iterator[Table]:
    """Yield one table if it is narrow, one with scores as rows if few lines have many, else one for each protocol.

    Args:
        head: heading of the first column.
        title: title of a table by its columns.
        sections: lines, with a rule between sections.
        columns: scores.
        found: values.
        options: contents of the cells.
        coverage: columns beside the scores.
    """
    rows = [row for section in sections for row in section]
    if len(columns) > FEW >= len(rows):
        table = Table(title(columns), ("score",), [row.name for row in rows])
        for label, column in zip(_labels(columns), columns, strict=True):
            table.add_row(label, *(_cell(row, column, found, options, " ") for row in rows))
        table.add_section()
        for name in coverage:
            table.add_row(name, *(_coverage(row)[name] for row in rows))
        yield table
        return
    parts = [(columns, coverage)] if len(columns) <= FEW else [((), coverage)]
    if len(columns) > FEW:
        protocols = dict.fromkeys(column.protocol for column in columns)
        parts += [([one for one in columns if one.protocol == name], ()) for name in protocols]
    for own, shares in parts:
        between = " " if len(own) < FEW else "\n"
        title_of = title(own) if own else "coverage"
        yield _table(title_of, head, sections, own, found, options, shares, between)


def _table(
    title: str,
    head: str,
    sections: Sequence[Sequence[_Row]],
    columns: Sequence[_Column],
    found: _Scores,
    options: TableOptions,
    coverage: Sequence[str],
    between: str,
) -> Table:
    """Return one table; `between` separates a value from its interval."""
    table = Table(title, (head,), (*_labels(columns), *coverage))
    for section in sections:
        table.add_section()
        for row in section:
            cells = [_cell(row, column, found, options, between) for column in columns]
            table.add_row(row.name, *cells, *(_coverage(row)[name] for name in coverage), bold=row.bold)
    return table


def _labels(columns: Sequence[_Column]) -> list[str]:
    several = len({column.protocol for column in columns}) > 1
    return [f"{one.protocol}: {one.label}" if several else one.label for one in columns]


def _cell(row: _Row, column: _Column, found: _Scores, options: TableOptions, between: str) -> str:
    """Return the value and, separated by `between`, its interval; below them bounds and the known share."""
    first, *more = score_lines(found.summary(row, column), with_bounds=options.bounds)
    return "\n".join([first + between + more[0], *more[1:]] if more else [first])


def _coverage(row: _Row) -> dict[str, str]:
    """Return the reports evaluated and read in part, the sources read, and the judges' answers that are missing."""
    n, done = len(row.records), sum(record.status == "done" for record in row.records)
    n_means = sum(record.is_mean for record in row.records)
    n_sources = sum(record.n_sources for record in row.records)
    n_read = sum(record.n_sources_read for record in row.records)
    n_failed = sum(record.calls_failed(row.judge) for record in row.records)
    return {
        REPORTS: count(n, "stated mean") if n_means == n else str(done) if done == n else f"{done} of {n}",
        SOURCES: f"{n_read}/{n_sources}" if n_sources else NONE,
        FAILED: str(n_failed),
        IN_PART: str(sum(bool(record.problems) for record in row.records)),
    }


def aggregate_tables(rows: Sequence[RunScoreRecord], who: str) -> list[Table]:
    """Return one table for each system's scores over all its reports that are not means."""
    tables: list[Table] = []
    for row in rows:
        if row.scores:
            missing = f", {row.n_missing} of them missing" if row.n_missing else ""
            of = f" of {shorten(row.system, 40)}" if row.system is not None else ""
            title = f"{row.protocol}{who}, {count(row.n_reports, 'report')}{of} together{missing}"
            tables.append(score_table(title, {row.profile: row.scores}))
    return tables


def by_whom(records: Sequence[CaseRecord], judge: str | None) -> str:
    """Return `, judge a` or `, ensemble of 2 judges` for a title; nothing if the run has one judge."""
    if judge is not None:
        return f", judge {judge}"
    n_judges = max((len(record.n_failed_by_judge) for record in records), default=0)
    return f", ensemble of {n_judges} judges" if n_judges else ""


def judge_tables(
    records: Sequence[CaseRecord],
    systems: Sequence[SystemScore],
    judges: Sequence[str],
    options: TableOptions = DEFAULT,
    *,
    scores: Sequence[ScoreRecord] = (),
) -> list[Table]:
    """Return tables with one row for each judge and one for the ensemble.

    Values are means over the reports. In a run of one system, they are the protocol's own scores over its reports; of
    one report, they are its own, from `scores`.
    """
    found = _Scores(systems, scores)
    single = len(records) == 1
    mean = "" if single else f", means of {count(len(records), 'report')}"
    by_system = records_by_system(records)
    several, system = len(by_system) > 1, next(iter(by_system), None)

    def row(name: str, judge: str | None, *, bold: bool = False) -> _Row:
        return _Row(name, records, judge, None if several else system, several, single, bold)

    rows = [*(row(judge, judge) for judge in judges), row(ENSEMBLE, None, bold=True)]
    columns = found.columns(options)

    def title(own: Sequence[_Column]) -> str:
        return f"{_title(own, '')} by judge{mean}"

    return list(_tables("judge", title, [rows], columns, found, options, (FAILED,)))


def agreement_table(rows: Sequence[AgreementRecord], *, whole: bool) -> Table:
    """Return the agreement of the judges by metric.

    Args:
        rows: of one run.
        whole: with pairs of judges and of answers, differences and intervals; else of all judges, in short.
    """
    more = ("pairs alike", "difference") if whole else ()
    found = Table(
        "agreement of the judges",
        ("protocol", "metric", *(("judges",) if whole else ())),
        ("items", "all alike", *more, "kappa", "alpha", "without answer"),
    )
    for row in rows:
        if not whole and len(row.judges) < max(len(one.judges) for one in rows):
            continue
        figures = (row.alike, *((row.alike_pairs, row.difference) if whole else ()), row.kappa, row.alpha)
        found.add_row(
            row.protocol,
            row.metric,
            *((", ".join(row.judges),) if whole else ()),
            str(row.n_items),
            *(_figure(figure, whole) for figure in figures),
            ", ".join(f"{judge} {n}" for judge, n in row.n_missing.items() if n),
        )
    return found


def agreement_notes(rows: Sequence[AgreementRecord]) -> Iterator[str]:
    """Yield the notes below the whole table, one line each."""
    n_draws = max((figure.n_draws for row in rows for figure in (row.alike, row.alpha)), default=0)
    if n_draws:
        yield f"{LEVEL}% bootstrap intervals over reports of {DRAWS:,} draws"
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        for name, figure in (("all alike", row.alike), ("kappa", row.kappa), ("alpha", row.alpha)):
            if figure is not None and figure.value is None:
                reasons.setdefault((name, figure.reason), {})[f"{row.protocol} {row.metric}"] = None
    for (name, reason), metrics in reasons.items():
        yield f"no {name}, because {reason}: {', '.join(metrics)}"


def _figure(figure: Estimate | None, whole: bool) -> str:
    if figure is None:
        return ""
    hits = "" if figure.hits is None else f"{figure.hits:.0f}/{figure.n}"
    return estimate_text(figure if whole else replace(figure, low=None), 2, beside=hits, below=True)
