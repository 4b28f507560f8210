"""`local-judge export`: a run as the files of a published project, or its numbers as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.modified import AllowModified, marked, print_marks, write_marks
from local_judge.cli.options import AsJson, OneOfJudges
from local_judge.cli.output import print_json
from local_judge.errors import ConfigError
from local_judge.protocols.scores import Profile
from local_judge.reporting.dre_fact_files import ExportedFacts
from local_judge.reporting.dre_files import FACTS, RESULTS, ExportedDre, export_deepresearcheval
from local_judge.reporting.dre_files import MAPPING as DRE_MAPPING
from local_judge.reporting.exports import MAPPING, Exported, export_deer
from local_judge.reporting.exports_csv import export_csv
from local_judge.reporting.exports_fact import export_fact
from local_judge.reporting.lrb_files import MAPPING as LRB_MAPPING
from local_judge.reporting.lrb_files import ExportedLrb, export_liveresearchbench
from local_judge.reporting.numbers import count
from local_judge.reporting.race_files import MAPPING as RACE_MAPPING
from local_judge.reporting.race_files import ExportedRace, export_race
from local_judge.reporting.tables import safe, stdout
from local_judge.runs.store import RunStore


class Format(StrEnum):
    """Whose files."""

    csv = "csv"
    deepresearcheval = "deepresearcheval"
    deer = "deer"
    fact = "fact"
    liveresearchbench = "liveresearchbench"
    race = "race"


def export(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    out: Annotated[Path, typer.Argument(help="An empty or new folder.")],
    format: Annotated[
        Format, typer.Option("--format", help="Whose files to write; csv: all numbers, one a row.")
    ],
    judge: OneOfJudges = None,
    profile: Annotated[
        Profile | None,
        typer.Option("--profile", help="csv: by which formulas; default: paper. Other formats hold answers."),
    ] = None,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Write a run's results as a published project writes its own, or as CSV.

    Of several judges, csv has the scores of all together unless one is named; the others' files hold the answers of
    one.
    """
    store = RunStore(run)
    if format is Format.csv:
        tables = export_csv(store, out, judge, profile or "paper")
        listed = ", ".join(f"{name} ({count(n, 'row')})" for name, n in tables.files.items())
        write_marks(out)
        if as_json:
            print_json(marked(tables.model_dump(mode="json")))
            return
        print_marks()
        print(f"{listed} in {out}")
        return
    if profile is not None:
        raise ConfigError(
            f"--profile {profile}: the files of {format} hold answers, which no profile changes"
        )
    exported = WRITERS[format](store, out, judge)
    write_marks(out)
    if as_json:
        print_json(marked(exported.model_dump(mode="json")))
        return
    print_marks()
    console = stdout()
    match exported:
        case ExportedRace():
            said = race_lines(exported, out)
        case ExportedLrb():
            said = lrb_lines(exported, out)
        case ExportedDre():
            said = dre_lines(exported, out)
        case _:
            said = lines(exported, out, FAILED[format])
    for line in said:
        console.print(line, soft_wrap=True)


WRITERS: Mapping[
    Format, Callable[[RunStore, Path, str | None], Exported | ExportedDre | ExportedRace | ExportedLrb]
] = {
    Format.deepresearcheval: export_deepresearcheval,
    Format.deer: export_deer,
    Format.fact: export_fact,
    Format.liveresearchbench: export_liveresearchbench,
    Format.race: export_race,
}

FAILED = {
    Format.deer: ("item", "failed, written as N/A with a description that says so"),
    Format.fact: ("pair", "failed, written as unknown or with the error of their URL"),
}
"""What is said of the failures that a format has no word for."""


def lines(exported: Exported, out: Path, failed: tuple[str, str]) -> list[str]:
    """What was written, and what was not."""
    kept = [sample for sample in exported.samples if sample.sample is not None]
    found = [
        f"{count(exported.n_files, 'file')} of {count(len(kept), 'report')} in {safe(str(out))}; "
        f"{MAPPING} there says which report is which sample"
    ]
    n_failed = sum(sample.n_failed for sample in kept)
    if n_failed:
        found.append(f"{count(n_failed, failed[0])} {failed[1]}")
    n_sentences = sum(sample.n_sentences_failed for sample in kept)
    n_pairs = sum(sample.n_pairs_failed for sample in kept)
    if n_sentences or n_pairs:
        found.append(
            f"claims of {count(n_sentences, 'sentence')} unknown, {count(n_pairs, 'verdict')} missing: "
            "DEER's files do not say so, and charge missing verdicts to the report"
        )
    found += [
        f"{safe(sample.report)}: {'left out' if sample.sample is None else 'in part'}: {safe(sample.left_out)}"
        for sample in exported.samples
        if sample.left_out
    ]
    return found


def race_lines(exported: ExportedRace, out: Path) -> list[str]:
    """What was written, and what was not."""
    written = [report for report in exported.reports if report.written]
    found = [
        f"{count(exported.n_files, 'file')} of {len(written)} of {count(len(exported.reports), 'report')} in "
        f"{safe(str(out))}; {RACE_MAPPING} there says which"
    ]
    arrangements = list(dict.fromkeys(report.arrangement for report in written))
    found += arrangements
    n_failed = sum(report.n_failed for report in written)
    if n_failed:
        found.append(
            f"{count(n_failed, 'criterion', 'criteria')} failed and were passed over, as in the published code"
        )
    found += [
        f"{safe(report.report)}: left out: {safe(report.left_out)}"
        for report in exported.reports
        if not report.written
    ]
    return found


def lrb_lines(exported: ExportedLrb, out: Path) -> list[str]:
    """What was written, and what was not."""
    written = [report for report in exported.reports if report.criteria]
    found = [
        f"{' and '.join(exported.files)} of {len(written)} of {count(len(exported.reports), 'report')} in "
        f"{safe(str(out))}; {LRB_MAPPING} there says which"
    ]
    n_failed = sum(report.n_failed for report in written)
    if n_failed:
        found.append(
            f"{count(n_failed, 'answer')} failed: counted as 0 or left out, as in the published code"
        )
    return found + [
        f"{safe(report.report)}: left out: {safe(report.left_out)}"
        for report in exported.reports
        if not report.criteria
    ]


def dre_lines(exported: ExportedDre, out: Path) -> list[str]:
    """What was written, and what was not."""
    found: list[str] = []
    if exported.reports:
        missing = [report for report in exported.reports if report.left_out]
        n_written = len(exported.reports) - len(missing)
        found += [
            f"{RESULTS} of {n_written} of {count(len(exported.reports), 'report')} on "
            f"{count(exported.n_tasks, 'task')} in {safe(str(out))}; {DRE_MAPPING} there says which",
            *(f"{safe(report.report)}: left out: {safe(report.left_out)}" for report in missing),
        ]
    return found + (fact_file_lines(exported.facts, out) if exported.facts else [])


def fact_file_lines(reports: Sequence[ExportedFacts], out: Path) -> list[str]:
    """What was written of checked facts, and what was not."""
    written = [report for report in reports if report.file is not None]
    found = [
        f"facts of {len(written)} of {count(len(reports), 'report')} in {safe(str(out))}; {FACTS} there says which"
    ]
    n_failed, n_unread = sum(one.n_failed for one in written), sum(one.n_unread for one in written)
    if n_failed or n_unread:
        found.append(
            f"{count(n_failed, 'statement')} failed, those of {count(n_unread, 'sentence')} unknown: left out, as in "
            "the published code"
        )
    return found + [
        f"{safe(report.report)}: facts left out: {safe(report.left_out)}"
        for report in reports
        if report.file is None
    ]
