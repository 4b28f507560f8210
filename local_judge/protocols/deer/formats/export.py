"""DEER's result folder of a run, one for each system where there are several.

Invariant: a report without claims, without items or without findings is left out, or a part of it, and named with the
reason.
"""

from __future__ import annotations

from local_judge.protocols.deer.formats.folder import Sample, folder
from local_judge.protocols.deer.protocol import DeerFindings
from local_judge.protocols.file_formats import (
    Exported,
    FileFormat,
    NumberedReport,
    Outcome,
    ReportFindings,
    ReportList,
    RunFindings,
    by_folder,
    json_text,
)
from local_judge.terminal import count


class DeerFiles(FileFormat[DeerFindings]):
    """`fact/`, `others/` and `final/` with their summaries."""

    title = "DEER"

    def write(self, run: RunFindings[DeerFindings]) -> Exported:
        """A sample's number is its task's id where these are whole numbers, else its report's position in the run."""
        samples: dict[str, NumberedReport] = {}
        files: dict[str, str] = {}
        for name, own in by_folder(run):
            contents: dict[int, Sample] = {}
            for number, report in own:
                content = None
                if report.findings is not None:
                    content = Sample(report.findings.rows, report.findings.rubric)
                samples[report.id] = sample = _exported(report, content, name, number)
                if content is not None and sample.sample is not None:
                    contents[number] = content
            files |= {f"{name}/{file}": json_text(data) for file, data in folder(contents).items()}
        rows = [samples[report.id] for report in run.reports]
        listed = ReportList(
            name="samples.json",
            what=count(len(files), "file"),
            outcomes=[Outcome(row, row.sample is not None, row.left_out) for row in rows],
            notes=_notes([row for row in rows if row.sample is not None]),
        )
        return Exported(files, [listed])


def _exported(
    report: ReportFindings[DeerFindings], content: Sample | None, folder: str, number: int
) -> NumberedReport:
    missing: list[str] = []
    kept = content is not None and (content.has_fact or content.has_others)
    if content is None:
        missing.append(report.status)
    else:
        if content.rows is not None and not content.has_fact:
            missing.append("claims unknown" if content.rows.n_unread else "no claims")
        if content.rubric is not None and not content.has_others:
            missing.append(f"no items: its rubric was judged as {content.rubric.mode}")
    rubric = content.rubric if content is not None and content.has_others else None
    rows = content.rows if content is not None and content.has_fact else None
    return NumberedReport(
        report=report.id,
        task=report.task,
        system=report.system,
        folder=folder,
        sample=number if kept else None,
        left_out="; ".join(missing),
        n_failed=sum(grade.status == "failed" for grade in rubric.grades) if rubric else 0,
        n_sentences_failed=rows.n_unread if rows else 0,
        n_pairs_failed=sum(pair.failed for claim in rows.claims for pair in claim.pairs) if rows else 0,
    )


def _notes(kept: list[NumberedReport]) -> list[str]:
    """What is said of the failures that the format has no word for."""
    notes: list[str] = []
    n_failed = sum(sample.n_failed for sample in kept)
    if n_failed:
        notes.append(f"{count(n_failed, 'item')} failed, written as N/A with a description that says so")
    n_sentences = sum(sample.n_sentences_failed for sample in kept)
    n_pairs = sum(sample.n_pairs_failed for sample in kept)
    if n_sentences or n_pairs:
        notes.append(
            f"claims of {count(n_sentences, 'sentence')} unknown, {count(n_pairs, 'verdict')} missing: "
            "DEER's files do not say so, and charge missing verdicts to the report"
        )
    return notes
