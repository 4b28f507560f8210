"""DEER's result folders as a file format: each sample is a report, whose number is its file's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local_judge.base.output import count
from local_judge.protocols.deer.files import folder, sample_of
from local_judge.protocols.deer.findings import DeerFindings
from local_judge.protocols.deer.published import read_folder
from local_judge.protocols.file_formats import (
    Glimpse,
    Imported,
    NumberedFormat,
    NumberedReport,
    ReadableFormat,
    json_text,
)


class DeerFiles(NumberedFormat[DeerFindings], ReadableFormat[DeerFindings]):
    """`fact/`, `others/` and `final/` with their summaries; a sample's number is the report's."""

    title = "DEER"
    reads = "a result folder with `fact/`, `others/`, `final/`, or a `final.json`"

    def recognises(self, seen: Glimpse) -> bool:
        """Recognise a folder by its parts, and `final.json` by its keys."""
        # DeepResearch Bench keeps the results of FACT in a folder of this name too, beside those of RACE.
        fact = seen.has("fact") and not seen.has("race")
        parts = fact or seen.has("others") or seen.has("final")
        return parts or seen.has("final.json") or seen.keys == frozenset({"score_avgs", "criteria_avgs"})

    def read(self, path: Path) -> Imported[DeerFindings]:
        """Return the samples as reports, whose ids are their numbers."""
        return read_folder(path)

    def files(self, numbered: Mapping[int, DeerFindings]) -> Mapping[str, str]:
        """Return the result folder of a system."""
        samples = {number: sample_of(one) for number, one in numbered.items()}
        return {name: json_text(data) for name, data in folder(samples).items()}

    def describe(self, findings: DeerFindings) -> tuple[bool, dict[str, Any]]:
        """Name the parts that DEER's files cannot hold, and count what failed in the others."""
        sample = sample_of(findings)
        missing: list[str] = []
        fields: dict[str, Any] = {}
        if sample.rows is not None and not sample.has_fact:
            missing.append("claims unknown" if sample.rows.unread.sentences else "no claims")
        elif sample.rows is not None:
            pairs = [pair for claim in sample.rows.claims for pair in claim.pairs]
            fields["n_sentences_failed"] = len(sample.rows.unread.sentences)
            fields["n_pairs_failed"] = sum(pair.failed for pair in pairs)
        if sample.rubric is not None and not sample.has_others:
            missing.append(f"no items: its rubric was judged as {sample.rubric.mode}")
        elif sample.rubric is not None:
            fields["n_failed"] = sum(grade.status == "failed" for grade in sample.rubric.grades)
        return sample.has_fact or sample.has_others, {"left_out": "; ".join(missing), **fields}

    def notes(self, written: Sequence[NumberedReport]) -> list[str]:
        """Describe the failures that the format has no word for."""
        n_failed, n_sentences, n_pairs = (
            sum(getattr(row, name) for row in written)
            for name in ("n_failed", "n_sentences_failed", "n_pairs_failed")
        )
        notes: list[str] = []
        if n_failed:
            notes.append(f"{count(n_failed, 'item')} failed, written as N/A with a description that says so")
        if n_sentences or n_pairs:
            notes.append(
                f"claims of {count(n_sentences, 'sentence')} unknown, {count(n_pairs, 'verdict')} missing: "
                "DEER's files do not say so, and charge missing verdicts to the report"
            )
        return notes
