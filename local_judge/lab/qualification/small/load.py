"""The small set of reports, with tasks and pages.

Invariant: every report has a task with all that the protocols need of one, but for a reference report, which any of the
others can be made; every address that a report cites is among the pages.
"""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from pydantic import Field

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.runs.inputs import RawReport
from local_judge.tasks.model import Checklist, Guidance, KeyInformation, Plan, ReasoningQuestion, Task
from serving.strict_yaml import load_yaml
from serving.types import Frozen

PAGES = (("local_judge.demo", "pages"), ("local_judge.lab.annotations", "sample/pages"))
"""Packages, and folders in them, whose pages the reports cite."""


class _Reasoning(Frozen):
    question: str
    extract: str
    verify: str
    compare: str


class _Entry(Frozen):
    """A task as it stands in `tasks.yaml`."""

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


def small_reports() -> list[RawReport]:
    """Four reports of about 400 words, three in English and one in Chinese, mostly right by their pages."""
    folder = files("local_judge.lab.qualification.small")
    entries = cast("list[Any]", load_yaml((folder / "tasks.yaml").read_text(encoding="utf-8")))
    reports: list[RawReport] = []
    for entry in (_Entry.model_validate(one) for one in entries):
        name = f"{entry.id}.md"
        content = (folder / "reports" / name).read_bytes()
        reports.append(RawReport(entry.id, content, entry.task(), name, task_id=entry.id))
    return reports


def small_snapshot(folder: Path, workers: int = 1) -> Snapshot:
    """The pages that they cite, with some that none cites, made into `folder/snapshot`.

    Args:
        folder: where the pages and the snapshot are put.
        workers: processes that extract; 0 for this one.

    Raises:
        SnapshotExists: something else is there.
    """
    pages = folder / "pages"
    pages.mkdir(parents=True, exist_ok=True)
    lists: list[str] = []
    for package, name in PAGES:
        source = Path(str(files(package))) / name
        for file in sorted(source.iterdir()):
            if file.name == "pages.jsonl":
                lists.append(file.read_text(encoding="utf-8").strip())
            else:
                shutil.copyfile(file, pages / file.name)
    (pages / "pages.jsonl").write_text("\n".join(lists) + "\n", encoding="utf-8")
    import_pages(pages, folder / "snapshot", workers=workers)
    return Snapshot.open(folder / "snapshot")
