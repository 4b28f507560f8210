"""Verification by our prompts, on the same planted claims and pages.

scored            page, then one claim and a question of one token, as `claims.method=scored`
scored_near       the question, then what is around the page's sentences nearest to one claim (`claims.view=near`)
grouped_terse     page, instructions, the claims of the page; quotation and label
grouped_full      the same with rationales
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from indexes.model import Page
from indexes.snapshot import Snapshot
from local_judge.claims.config import ClaimsConfig, View
from local_judge.claims.evidence import PageEvidence
from local_judge.claims.grouped import FullFinding, TerseFinding, verification_prompt
from local_judge.claims.model import Claim, Label, Quote
from local_judge.claims.yes_no import OPTIONS, QUESTIONS, question
from local_judge.documents.model import Span
from local_judge.judge.judge import Judge
from local_judge.judge.schemas import json_schema
from local_judge.lab.planting.model import PlantedClaim
from local_judge.runs.execution.verify import ClaimRow, VerifiedRow, verify_rows
from local_judge.stats.calibration.fitting import out_of_fold
from local_judge.stats.calibration.measures import NEUTRAL, Judged, auc
from scripts.benchmarking.planted import quality, share
from scripts.benchmarking.prompt_rows import digest_of

RANKS: Final[Mapping[Label, int]] = {
    "supported": 4,
    "partial": 3,
    "not_found": 2,
    "off_topic": 1,
    "unusable": 1,
    "contradicted": 0,
}
"""The greater, the more the judge holds a claim to be stated."""


class Way(NamedTuple):
    """One way to verify."""

    config: ClaimsConfig
    digest: Callable[[], str]


def _config(
    method: Literal["scored", "grouped"], form: Literal["full", "terse"] = "terse", view: View = "page"
) -> ClaimsConfig:
    return ClaimsConfig(
        method=method, form=form, view=view, reliability=False, calibration="none", threshold=NEUTRAL
    )


def _sample_page() -> PageEvidence:
    """Return a page that never changes."""
    url = "https://page.example/"
    page = Page(url=url, original_url=url, status="ok", title="T", text="Text.")
    return PageEvidence(page, (), whole=True)


def _sample_claims() -> list[Claim]:
    """Return two claims that never change."""
    return [
        Claim(
            id=f"c{n}",
            text=f"Claim {n}.",
            sentence="L1.S1",
            span=Span(start=0, end=8),
            type="A",
        )
        for n in (1, 2)
    ]


def _scored_digest(view: View) -> str:
    page, claim = _sample_page(), _sample_claims()[0]
    nearest = Quote(text="Text.", start=0, end=5)
    return digest_of([question(page, name, claim, [nearest]) for name in QUESTIONS[view]], [OPTIONS])


def _grouped_digest(form: str, answer: type[Any]) -> str:
    return digest_of([verification_prompt(_sample_page(), _sample_claims(), form)], [json_schema(answer)])


WAYS: Final[Mapping[str, Way]] = {
    "scored": Way(_config("scored"), lambda: _scored_digest("page")),
    "scored_near": Way(_config("scored", view="near"), lambda: _scored_digest("near")),
    "grouped_terse": Way(_config("grouped", "terse"), lambda: _grouped_digest("terse", TerseFinding)),
    "grouped_full": Way(_config("grouped", "full"), lambda: _grouped_digest("full", FullFinding)),
}


async def verified(
    way: Way, planted: Sequence[PlantedClaim], snapshot: Snapshot, judge: Judge
) -> list[VerifiedRow]:
    """Return the result of each claim, in order."""
    rows = [ClaimRow(id=one.id, claim=one.claim, url=one.url) for one in planted]
    return await verify_rows(rows, snapshot, judge, way.config)


def verification_figures(planted: Sequence[PlantedClaim], found: Sequence[VerifiedRow]) -> dict[str, Any]:
    """AUC (Mann-Whitney, ties a half) and the shares of `planted.quality`, over the claims that were answered.

    Claims rank by P(yes), or by their labels where the judge gives none. `fitted_accuracy`: each page's claims judged
    at the threshold of rank that is best on all other pages' claims.
    """
    claims: list[PlantedClaim] = []
    judged: list[Judged] = []
    called: list[bool] = []
    for claim, row in zip(planted, found, strict=True):
        if row.label is not None:
            rank = RANKS[row.label] if row.confidence is None else row.confidence
            claims.append(claim)
            judged.append(Judged(claim.true, rank, claim.url))
            called.append(row.label == "supported")
    area = auc(judged) if judged else None
    n_pages = len({one.page for one in judged})
    held = out_of_fold(judged, method=None, n_folds=n_pages) if n_pages > 1 and area is not None else None
    right = None if held is None else sum(map(operator.eq, held.called, (one.true for one in judged)))
    return {
        "n": len(judged),
        "failed": len(found) - len(judged),
        "failure_kinds": sorted({row.failure.kind for row in found if row.failure is not None}),
        "auc": None if area is None else round(area, 4),
        "fitted_accuracy": None if right is None else share(right, len(judged)),
        **quality(claims, called),
    }
