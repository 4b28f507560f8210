"""What a judge is asked about: pages, claims planted in them, and reports.

    pages/       where no snapshot was given: the packaged pages, as `snapshot import` takes them
    snapshot/    made of them
    planted/     the claims, in the files of `local-judge plant`

Invariant: the same snapshot, reports and settings give the same questions; what could not be planted is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from indexes.snapshot import Snapshot
from local_judge.planting.claims import Draw, DrawSettings
from local_judge.qualification.carry import Subject
from local_judge.qualification.config import QualifyConfig
from local_judge.qualification.parts.verification import TRUE
from local_judge.qualification.small.load import small_reports, small_snapshot
from local_judge.runs.inputs import RawReport
from local_judge.runs.planting import ClaimsSummary, plant_snapshot, write_claims


class Material(NamedTuple):
    """What a judge is asked about, and where it is from."""

    subject: Subject
    draw: Draw
    planted: ClaimsSummary
    own_pages: bool
    """Whether these are the user's pages, and not the packaged ones."""
    own_reports: bool


def material_of(
    config: QualifyConfig, out: Path, snapshot: Path | None, reports: Sequence[RawReport] | None
) -> Material:
    """Plant claims in the snapshot, or in one made of the packaged pages.

    Args:
        config: how many.
        out: directory of the qualification.
        snapshot: the user's; None for the packaged pages.
        reports: the user's; None for the packaged ones.

    Raises:
        InputError: nothing can be planted in the pages.
        RunError: something cannot be written.
    """
    frozen = small_snapshot(out) if snapshot is None else Snapshot.open(snapshot)
    settings = DrawSettings(
        n=config.verification.claims, per_page=config.verification.per_page, seed=config.seed
    )
    draw, _, summary = plant_snapshot(frozen, settings)
    subject = Subject(frozen, draw.claims, small_reports() if reports is None else reports)
    return Material(subject, draw, summary, snapshot is not None, reports is not None)


def write_planted(material: Material, out: Path) -> None:
    """The planted claims, for whoever wants to read them. Raises InputError, RunError where one cannot be written."""
    write_claims(out / "planted", material.draw, material.planted)


def material_notes(material: Material) -> Iterator[str]:
    """What a reader of the page must know of it."""
    missing = [cell for cell in material.planted.cells if cell.filled < cell.wanted]
    if missing:
        listed = ", ".join(
            f"{cell.kind or TRUE} ({cell.language}) {cell.filled} of {cell.wanted}" for cell in missing
        )
        yield (
            f"{len(material.subject.claims)} of {material.planted.settings.n} claims were planted: the pages admit no "
            f"more of these kinds: {listed}."
        )
    others = ", ".join(f"{name} {n}" for name, n in material.planted.other_languages.items())
    if others:
        yield f"Nothing can be planted in pages of other languages, and nothing was asked of them: {others}."
