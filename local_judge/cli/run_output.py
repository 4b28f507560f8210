"""Output of `run`, `show`, `rescore` and `import`: the results of a run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import typer

from local_judge.cli.options import PROFILE
from local_judge.reporting.run_tables import (
    TableOptions,
    agreement_notes,
    agreement_table,
    judge_tables,
    run_summary,
)
from local_judge.reporting.warnings import RunWarning, run_warnings, stored_claims
from local_judge.runs.execution.qualifications import qualifications_as_json, recorded_qualifications
from local_judge.runs.results.tables import system_row
from local_judge.runs.storage.manifest import judges_of, protocols_of
from local_judge.runs.storage.records import (
    CaseRecord,
    RunScoreRecord,
    ScoreRecord,
    load_records,
    load_run_scores,
    load_scores,
)
from local_judge.runs.storage.rescoring import AgreementRecord, derived_scores, load_agreement
from local_judge.runs.storage.resume import is_finished, unfinished_records
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import SystemScore, load_system_scores, summarised
from local_judge.scoring.node import Profile
from local_judge.terminal import print_parts, safe, stdout

WithReports = Annotated[bool, typer.Option("--reports", help="Add a row for each report.")]
WithAllScores = Annotated[
    bool, typer.Option("--all-scores", help="Print the scores of all dimensions and of all pairs of judges.")
]
WithBounds = Annotated[
    bool,
    typer.Option("--bounds", help="Print the lowest and highest value that missing answers leave possible."),
]
WithProfile = Annotated[Profile | None, PROFILE]

MORE = "More: `local-judge show {}` with --reports, --all-scores, --bounds or --profile upstream."
"""Last line; the gap is the run directory."""

CLAIMS_READ = 100
"""Maximum number of reports whose claims are read for a warning; reading a thousand takes seconds."""


class Results(NamedTuple):
    """Stored results of a run, for all of its judges."""

    store: RunStore
    records: Sequence[CaseRecord]
    protocols: Sequence[str]
    judges: Sequence[str]
    """Names of the judges if there are several; otherwise empty."""
    systems: Sequence[SystemScore]
    aggregates: Sequence[RunScoreRecord]
    agreement: Sequence[AgreementRecord]
    derived: Sequence[ScoreRecord] | None = None
    """Scores of the reports of an unfinished run; those of a finished run are read when they are asked for."""

    @classmethod
    def load(cls, store: RunStore, records: Sequence[CaseRecord]) -> Results:
        """Load the results of a run whose records are `records`."""
        protocols, judges = protocols_of(store), judges_of(store)
        return cls(
            store,
            records,
            protocols,
            judges,
            load_system_scores(store, protocols, (None, *judges)),
            load_run_scores(store, protocols, (None, *judges)),
            load_agreement(store),
        )

    @classmethod
    def open(cls, store: RunStore) -> Results:
        """Load the results of a run; of an unfinished one, those of the reports that are complete so far.

        Raises:
            RunError: the directory is not that of a run, or the run was modified.
        """
        if is_finished(store):
            return cls.load(store, load_records(store))
        protocols, judges = protocols_of(store), judges_of(store)
        records = unfinished_records(store, judges)
        done = [record for record in records if record.status == "done"]
        derived = [derived_scores(store, name, done, judges) for name in protocols if done]
        scores = [row for rows, _ in derived for row in rows]
        aggregates = [row for _, rows in derived for row in rows]
        systems = summarised(records, scores, aggregates)
        return cls(store, records, protocols, judges, systems, aggregates, (), scores)

    def scores(self, report: str | None = None) -> list[ScoreRecord]:
        """Return the scores of all reports, or of one, by all judges."""
        if self.derived is None:
            return load_scores(self.store, self.protocols, (None, *self.judges), case=report)
        return [row for row in self.derived if report in (None, row.case)]

    def shown_scores(self, options: TableOptions) -> list[ScoreRecord]:
        """Return the scores of the reports that have a row of their own in the tables."""
        if options.reports:
            return self.scores()
        return self.scores(self.records[0].id) if len(self.records) == 1 else []

    def as_json(
        self, judge: str | None = None, report: str | None = None, *, every_judge: bool = False
    ) -> dict[str, object]:
        """Return the results of one judge or the ensemble, or of `every_judge`, as data for JSON output.

        Args:
            judge: one of several judges.
            report: id of the only report whose scores are returned; None for all.
            every_judge: return the results of all judges.
        """
        rows: dict[str, Sequence[object]] = {
            "cases": self.records,
            "scores": [row for row in self.scores(report) if every_judge or row.judge == judge],
            "aggregates": [row for row in self.aggregates if every_judge or row.judge == judge],
            "systems": [
                system_row(row)
                for row in self.systems
                if (every_judge or row.judge == judge) and not row.all_systems
            ],
        }
        if self.judges:
            rows["agreement"] = self.agreement if judge is None else []
        qualifications = qualifications_as_json(recorded_qualifications(self.store))
        return {**rows, "qualifications": qualifications, "warnings": self.warnings(judge)}

    def warnings(self, judge: str | None = None) -> Sequence[RunWarning]:
        """Return the warnings about the run; those that need the claims only if there are few reports."""
        claims = stored_claims(self.store, self.records) if len(self.records) <= CLAIMS_READ else ()
        return run_warnings(self.store, self.records, judge=judge, claims=claims)


def print_results(found: Results, options: TableOptions, judge: str | None = None) -> None:
    """Print warnings, the table of systems and, for several judges, a comparison of the judges.

    Args:
        found: the results.
        options: choice of tables.
        judge: one of several judges; None for all of them.
    """
    console = stdout()
    notes = print_warnings(found, judge)
    systems = [row for row in found.systems if row.judge == judge]
    aggregates = [row for row in found.aggregates if row.judge == judge]
    scores = [row for row in found.shown_scores(options) if row.judge == judge]
    print_parts(run_summary(found.records, systems, options, aggregates=aggregates, scores=scores))
    if found.judges and judge is None:
        print_judges(found, options)
    for line in notes:
        console.print(line, style="dim", markup=False, soft_wrap=True)
    if options == TableOptions():
        console.print(MORE.format(safe(shlex.quote(str(found.store.root)))), style="dim", soft_wrap=True)


def print_judges(found: Results, options: TableOptions) -> None:
    """Print each judge's scores and the agreement of the judges in the whole run.

    With all scores, the agreement has intervals and each pair of judges.
    """
    console, whole = stdout(), options.all_scores
    single = found.scores(found.records[0].id) if len(found.records) == 1 else ()
    tables = judge_tables(found.records, found.systems, found.judges, options, scores=single)
    console.print(*tables, sep="\n")
    if found.agreement:
        console.print(agreement_table(found.agreement, whole=whole))
    print_parts(agreement_notes(found.agreement) if whole else ())


def print_warnings(found: Results, judge: str | None = None) -> list[str]:
    """Print the warnings and the qualification of each judge whose scores are shown; return the other notes."""
    notes: list[str] = []
    for one in found.warnings(judge):
        if one.level == "note" and one.kind != "qualification":
            notes.append(one.text)
        else:
            stdout().print(one.text, markup=False, soft_wrap=True)
    return notes
