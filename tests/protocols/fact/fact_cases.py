"""Findings from a few letters, and a run directory with them, as `run` leaves one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from local_judge.base.failures import Failure
from local_judge.protocols.fact.findings import FactFindings, Outcome, Pair, Reason
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore

LETTERS: dict[str, tuple[Outcome, Reason | None]] = {
    "s": ("supported", None),
    "u": ("unsupported", None),
    "d": ("unknown", "dead"),
    "x": ("unknown", "judged_unknown"),
    "n": ("unknown", "not_in_snapshot"),
    "f": ("unknown", "judge_failed"),
    "e": ("unknown", "not_extracted"),
}
"""s supported, u unsupported, d a dead page, x one that the judge called unusable, n nobody fetched, f no answer, e a
sentence whose statements nobody extracted."""


def findings(letters: str, case: str = "r") -> FactFindings:
    """A report with one pair for each letter, on pages of their own."""
    pairs = tuple(
        Pair(
            statement=f"Statement {n}.",
            url=f"https://{n}.example/",
            outcome=LETTERS[letter][0],
            reason=LETTERS[letter][1],
            failure=Failure(kind="timeout", detail="no answer") if letter == "f" else None,
        )
        for n, letter in enumerate(letters, 1)
    )
    return FactFindings(
        case=case, document="d", source="shared", pairs=pairs, n_citations=len(pairs), article="Text."
    )


def write_run(folder: Path, found: Mapping[str, FactFindings], *cases: CaseRecord) -> RunStore:
    """A run whose scores are yet to be computed."""
    store = RunStore(folder)
    store.write_json(
        "manifest.json",
        {
            "format_version": 4,
            "config": {"protocols": ["fact"]},
            "reports": {"n": 0},
            "judges": [],
        },
    )
    store.write_jsonl("cases.jsonl", cases)
    stored = ((case.id, found[case.id]) for case in cases if case.id in found)
    store.write_items(findings_file("fact", None), stored)
    seal_run(store)
    return store
