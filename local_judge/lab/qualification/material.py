"""Pages, claims and reports that a judge is asked about.

Invariant: every packaged report has a task with everything that the protocols need except a reference report, for which
any of the other reports can be used. Every address that a packaged report cites is among the packaged pages.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import Field

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.base.model import Frozen
from local_judge.base.strict_yaml import load_yaml
from local_judge.lab.labelled.model import TRUE
from local_judge.lab.planting.claims import Draw, DrawSettings
from local_judge.lab.planting.commands import ClaimsSummary, plant_snapshot
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.config import QualifyConfig
from local_judge.runs.planning.inputs import RawReport
from local_judge.tasks.model import Checklist, Guidance, KeyInformation, Plan, ReasoningQuestion, Task

PAGES = (("local_judge.demo", "pages"), ("local_judge.lab.annotations", "sample/pages"))
"""Packages and their folders of the pages that the packaged reports cite."""


class Subject(NamedTuple):
    """Questions' subject: pages, planted claims and reports."""

    snapshot: Snapshot
    claims: Sequence[PlantedClaim]
    reports: Sequence[RawReport]


class Material(NamedTuple):
    """Subject of a qualification, and its origin."""

    subject: Subject
    draw: Draw
    planted: ClaimsSummary
    own_pages: bool
    """True if the user gave the pages."""
    own_reports: bool

    def notes(self) -> Iterator[str]:
        """Yield remarks for the reader of the page."""
        missing = [cell for cell in self.planted.cells if cell.filled < cell.wanted]
        if missing:
            listed = ", ".join(
                f"{cell.kind or TRUE} ({cell.language}) {cell.filled} of {cell.wanted}" for cell in missing
            )
            yield (
                f"{len(self.subject.claims)} of {self.planted.settings.n} claims were planted: the pages admit no "
                f"more of these kinds: {listed}."
            )
        others = ", ".join(f"{name} {n}" for name, n in self.planted.other_languages.items())
        if others:
            yield f"Pages in other languages were skipped, because no claims can be planted in them: {others}."


def material_of(
    config: QualifyConfig, out: Path, snapshot: Path | None, reports: Sequence[RawReport] | None
) -> Material:
    """Plant claims in the user's snapshot, or in a snapshot of the packaged pages.

    Args:
        config: number of claims, and the seed.
        out: directory of the qualification.
        snapshot: the user's snapshot; None for the packaged pages.
        reports: the user's reports; None for the packaged ones.

    Raises:
        InputError: no claims can be planted in the pages.
        RunError: a file cannot be written.
    """
    frozen = sample_snapshot(out) if snapshot is None else Snapshot.open(snapshot)
    planting = config.verification
    settings = DrawSettings(n=planting.claims, per_page=planting.per_page, seed=config.seed)
    draw, _, summary = plant_snapshot(frozen, settings)
    subject = Subject(frozen, draw.claims, sample_reports() if reports is None else reports)
    return Material(subject, draw, summary, snapshot is not None, reports is not None)


class _Reasoning(Frozen):
    question: str
    extract: str
    verify: str
    compare: str


class _Entry(Frozen):
    """Task as it is written in `tasks.yaml`."""

    id: str
    prompt: str
    guidance: str
    checklist: tuple[str, ...] = Field(min_length=1)
    key_information: tuple[str, ...] = Field(min_length=1)
    reasoning: _Reasoning

    def task(self) -> Task:
        questions = enumerate(self.key_information, 1)
        return Task(
            id=self.id,
            prompt=self.prompt,
            guidance=Guidance(text=self.guidance),
            checklist=Checklist.of(self.checklist),
            plan=Plan(
                key_information=tuple(KeyInformation(id=f"k{n}", question=text) for n, text in questions),
                reasoning=(ReasoningQuestion(id="r1", **self.reasoning.model_dump()),),
            ),
        )


def sample_reports() -> list[RawReport]:
    """Return the packaged reports: four of about 400 words, three in English and one in Chinese, mostly correct."""
    folder = files("local_judge.lab.qualification") / "sample"
    reports: list[RawReport] = []
    for one in cast("list[Any]", load_yaml((folder / "tasks.yaml").read_text(encoding="utf-8"))):
        entry = _Entry.model_validate(one)
        name = f"{entry.id}.md"
        content = (folder / "reports" / name).read_bytes()
        reports.append(RawReport(entry.id, content, entry.task(), name, task_id=entry.id))
    return reports


def sample_snapshot(folder: Path, workers: int = 1) -> Snapshot:
    """Make a snapshot of the packaged pages in `folder/snapshot`: cited pages and some that no report cites.

    Args:
        folder: where the pages and the snapshot are written.
        workers: number of extraction processes; 0 extracts in this process.

    Raises:
        SnapshotExists: another snapshot is there.
    """
    pages = folder / "pages"
    pages.mkdir(parents=True, exist_ok=True)
    lists: list[str] = []
    for package, name in PAGES:
        for file in sorted((Path(str(files(package))) / name).iterdir()):
            if file.name == "pages.jsonl":
                lists.append(file.read_text(encoding="utf-8").strip())
            else:
                shutil.copyfile(file, pages / file.name)
    (pages / "pages.jsonl").write_text("\n".join(lists) + "\n", encoding="utf-8")
    import_pages(pages, folder / "snapshot", workers=workers)
    return Snapshot.open(folder / "snapshot")
