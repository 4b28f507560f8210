"""The pages of the verification benchmark are good for as many claims as it asks of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from local_judge.lab.planting.claims import DrawSettings, draw_claims
from local_judge.lab.planting.model import ALTERATIONS
from scripts.benchmarking.pages import planted_snapshot

pytestmark = pytest.mark.slow


def test_real_pages_give_true_and_altered_claims_in_equal_parts(shared: Path, tmp_path: Path) -> None:
    snapshot, pages = planted_snapshot(shared / "data", 12, 4, 0, tmp_path)
    assert len(snapshot) == len(pages) == 12 and all(page.candidates for page in pages)
    settings = DrawSettings(n=48, per_page=4, kinds=ALTERATIONS, languages=("en",))
    claims = draw_claims(pages, settings).claims
    kinds = Counter(claim.kind for claim in claims)
    assert kinds[None] == kinds.total() - kinds[None] >= 16 and len(kinds) >= 7
    for claim in claims:
        assert (claim.claim in snapshot.page(claim.url).text) == claim.true
