"""Export of a run's scores by one profile as CSV, one row for each score.

Invariant: every score of a tree has a row, including scores without a value. No number is rounded and no file is
overwritten. Text cells contain no control characters, and no spreadsheet reads them as formulas.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from local_judge.reporting.exports import check_new
from local_judge.rows import harmless_cell
from local_judge.runs.manifest import judge_of, protocols_of
from local_judge.runs.records import load_records, load_scores
from local_judge.runs.rescoring import AgreementRecord, load_agreement
from local_judge.runs.scored import SystemScore, system_scores
from local_judge.runs.seal import modifications
from local_judge.runs.store import RunStore
from local_judge.scoring.node import Profile, Score, ScoreNode
from local_judge.stats.estimate import Estimate

SCORES, SYSTEMS, AGREEMENT = "scores.csv", "systems.csv", "agreement.csv"

_OF_SCORE = tuple(Score.model_fields)
_FIGURES = ("alike", "alike_pairs", "difference", "kappa", "alpha")
_COLUMNS = {
    SCORES: (
        "report",
        "task",
        "system",
        "protocol",
        "version",
        "profile",
        "judge",
        "path",
        "label",
        *_OF_SCORE,
    ),
    SYSTEMS: (
        *("system", "n_reports", "n_values", "aggregate", "protocol", "version", "profile", "judge", "path"),
        "label",
        *_OF_SCORE,
    ),
    AGREEMENT: (
        *("protocol", "version", "metric", "scale", "judges", "n_reports", "n_items", "n_missing"),
        *(f"{name}_{part}" for name in _FIGURES for part in ("value", "n", "low", "high")),
        "seed",
    ),
}


def export_csv(
    store: RunStore, out: Path, judge: str | None = None, profile: Profile = "paper"
) -> dict[str, int]:
    """Write `scores.csv`, `systems.csv`, and where the run has such numbers `agreement.csv`.

    Args:
        store: the run.
        out: an empty or new folder.
        judge: whose scores, of several; None for those of all together, and for how far they agree.
        profile: by which formulas.

    Returns:
        The number of rows of each file.

    Raises:
        RunError: no finished run, no such judge, or `out` is not empty or cannot be written.
    """
    chosen, protocols = judge_of(store, judge), protocols_of(store)
    check_new(out)
    records = {record.id: record for record in load_records(store)}
    version: dict[str, str] = {}
    rows: dict[str, list[dict[str, Any]]] = {SCORES: [], SYSTEMS: [], AGREEMENT: []}
    for row in load_scores(store, protocols, (chosen,)):
        if row.profile != profile:
            continue
        record = records[row.case]
        of = {"report": row.case, "task": record.task, "system": record.system}
        rows[SCORES] += _flat(row.scores, of | row.model_dump(exclude={"case", "scores"}))
        version[row.protocol] = row.version
    for name, number in version.items():
        of = {"protocol": name, "version": number, "profile": profile, "judge": chosen}
        rows[SYSTEMS] += [{**of, **_of_system(row)} for row in system_scores(store, name, profile, chosen)]
    if chosen is None:
        rows[AGREEMENT] = [_agreement(row) for row in load_agreement(store)]
    written = {name: found for name, found in rows.items() if found or name == SCORES}
    for name, found in written.items():
        RunStore(out).write_text(name, _csv(_COLUMNS[name], found))
    return {name: len(found) for name, found in written.items()}


def _flat(roots: Sequence[ScoreNode], of: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for root in roots:
        for path, node in root.walk():
            yield {**of, "path": "/".join(path), "label": node.label, **node.score.model_dump()}


def _of_system(row: SystemScore) -> dict[str, Any]:
    return {
        "system": row.system,
        "n_reports": row.n_reports,
        "n_values": row.n_values,
        "aggregate": "rule" if row.by_rule else "mean",
        "path": "/".join(row.path),
        "label": row.label,
        **row.score.model_dump(),
    }


def _agreement(row: AgreementRecord) -> dict[str, Any]:
    figures: dict[str, Estimate | None] = {name: getattr(row, name) for name in _FIGURES}
    flat = {
        f"{name}_{part}": None if figure is None else getattr(figure, part)
        for name, figure in figures.items()
        for part in ("value", "n", "low", "high")
    }
    missing = "; ".join(f"{judge} {n}" for judge, n in row.n_missing.items())
    kept = row.model_dump(exclude={*_FIGURES, "judges", "n_missing"})
    return {**kept, **flat, "judges": "; ".join(row.judges), "n_missing": missing}


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO(newline="")
    # A file of numbers goes from hand to hand without what stood beside it.
    mark = {"modified": "; ".join(modifications())} if modifications() else {}
    writer = csv.DictWriter(text, (*columns, *mark), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: harmless_cell(value) for name, value in {**row, **mark}.items()} for row in rows)
    return text.getvalue()
