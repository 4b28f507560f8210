"""A snapshot in two languages, and claims planted in it."""

from __future__ import annotations

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.annotations.load import sample_folder
from local_judge.planting.claims import DrawSettings, draw_claims
from local_judge.planting.model import PlantedClaim
from local_judge.planting.pages import plant_pages, usable


@pytest.fixture(scope="session")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The pages of the annotated sample: English and Chinese."""
    out = tmp_path_factory.mktemp("annotated") / "snapshot"
    import_pages(sample_folder() / "pages", out, workers=0)
    return Snapshot.open(out)


@pytest.fixture(scope="session")
def planted(annotated: Snapshot) -> tuple[PlantedClaim, ...]:
    """Claims about these pages, as far as they admit 40."""
    pages = plant_pages(usable(annotated.pages()), seed=3)
    return draw_claims(pages, DrawSettings(n=40, seed=3)).claims
