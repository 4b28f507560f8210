"""`local-judge results correct`: the share of supported claims, corrected by people's labels."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from local_judge.base.errors import InputError
from local_judge.base.output import count
from local_judge.cli.modified import AllowModified, print_found
from local_judge.cli.options import LABELS, AsJson, OneOfJudges
from local_judge.reporting.corrected import corrected_notes, corrected_table
from local_judge.reporting.run_tables import NO_SYSTEM
from local_judge.runs.results.labels import labelled_run, load_labels, verdicts_of
from local_judge.runs.storage.manifest import one_judge_of
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.store import RunStore
from local_judge.stats.prediction_powered import Corrected, corrected_share


def correct(
    run: Annotated[Path, typer.Argument(help="Run directory.")],
    labels: Annotated[list[Path], LABELS],
    judge: OneOfJudges = None,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Correct the share of supported claims by people's labels of a random sample of them."""
    given, store = load_labels(labels), RunStore(run)
    records = load_records(store)
    chosen = one_judge_of(store, judge, "labels")
    found = labelled_run(list(verdicts_of(store, records, chosen)), given)
    if found.n_unmatched == len(given):
        texts = f"; the claims of {found.n_other_text} have another text there" if found.n_other_text else ""
        raise InputError(f"none of {count(len(given), 'label')} is of a claim of {run}{texts}")
    systems = {system: corrected_share(own) for system, own in found.by_system.items()}
    every = corrected_share([unit for own in found.by_system.values() for unit in own])
    data = {
        "run": str(run),
        "judge": chosen,
        "labels": len(given),
        "labels_without_verdict": found.n_unmatched,
        "labels_unclear": found.n_unclear,
        "labels_without_sample": found.n_unsampled,
        "samples": [one._asdict() for one in found.samples],
        "agreement": asdict(found.agreement),
        "all_reports": _dumped(every),
        "systems": [{"system": system or None, **_dumped(row)} for system, row in systems.items()],
    }
    rows = [(system or NO_SYSTEM, row) for system, row in systems.items()] if len(systems) > 1 else []
    rows.append(("all reports", every))
    print_found(data, [corrected_table(rows, chosen), *corrected_notes(rows, found, len(given))], as_json)


def _dumped(row: Corrected) -> dict[str, Any]:
    return {
        **{kind: asdict(getattr(row, kind)) for kind in ("judge", "people", "corrected")},
        "weight": row.weight,
        "reports_with_labels": row.clusters,
    }
