"""Pages to plant in: the sample's, and one that is written for it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.lab.annotations.load import sample_folder
from local_judge.lab.planting.pages import PlantPage, plant_pages, usable


@pytest.fixture(scope="session")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The pages of the annotated sample: English and Chinese, some of them not readable."""
    out = tmp_path_factory.mktemp("annotated") / "snapshot"
    import_pages(sample_folder() / "pages", out, workers=0)
    return Snapshot.open(out)


@pytest.fixture(scope="session")
def pages(annotated: Snapshot) -> list[PlantPage]:
    return plant_pages(usable(annotated.pages()), seed=3)


@pytest.fixture(scope="session")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """120 web pages, and Chinese reports in the place of Chinese pages."""
    source = tmp_path_factory.mktemp("real") / "source"
    source.mkdir()
    lines: list[str] = []
    for row in map(json.loads, (shared / "data/pages/pages.jsonl").read_text(encoding="utf-8").splitlines()):
        shutil.copy(shared / "data/pages" / row["file"], source / row["file"])
        lines.append(json.dumps({"url": row["url"], "file": row["file"]}))
    reports = (shared / "data/reports/drb/cleaned.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, reports[:15]):
        text = row["article"]
        lines.append(json.dumps({"url": f"https://reports.example/{row['id']}", "text": text}))
    (source / "pages.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    import_pages(source, source.parent / "snapshot")
    return Snapshot.open(source.parent / "snapshot")
