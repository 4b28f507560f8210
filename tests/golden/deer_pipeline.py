"""DEER's published pipeline on our claims: back-tracking, verification and metrics, from the judge's answers on.

Invariant: the code is the published one. Only what it fetches and what it asks a judge is replaced, by our sources and
verdicts. Citations that lead to no URL are taken out after its back-tracking, because it takes their numbers for URLs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from local_judge.claims.model import ClaimSet
from local_judge.documents.model import Document
from tests.originals import run_original

DRIVER = """
import asyncio, json, sys
import run_information_verification as scoring
from info_verification import claim_verifier as verifier
from info_verification.claim_processor import Claim
from info_verification.eval_metrics import compute_metrics

class Report:
    def read_text(self): return ""

async def result(case):
    claims = [Claim(rationale="", **one) for one in case["claims"]]
    ids = {id(claim): name for claim, name in zip(claims, case["ids"], strict=True)}
    verifier.backtrack_claims(claims)
    for claim in claims:
        for kind in ("citations", "implicit_citations"):
            named = getattr(claim, kind) or []
            setattr(claim, kind, [one for one in named if one in case["urls"]])
    verifier.replace_claims_to_url(claims, case["urls"])

    async def fetch(urls, **settings):
        return {url: "text" if url in case["readable"] else "Failed to fetch" for url in urls}

    async def verify(claims, context, url, **settings):
        return [
            verifier.VerificationResult(
                claim=claim.claim,
                url=url,
                explanation="",
                reliable_explanation="",
                **case["verdicts"][ids[id(claim)]][url],
            )
            for claim in claims
        ]

    verifier.fetch_webpages, verifier.batch_verify_claim_from_url_async = fetch, verify
    verified = await verifier.verify_claims_async(claims)
    metrics = compute_metrics(verified, references=case["references"], context_informations={})

    async def evaluated(*given, **settings):
        return {"metrics": metrics}

    scoring.evaluate_report = evaluated
    return await scoring.eval_and_score(1, Report(), "")

cases = json.load(open(sys.argv[1], encoding="utf-8"))
json.dump([asyncio.run(result(case)) for case in cases], open(sys.argv[2], "w"), default=float)
"""


def case_of(claims: ClaimSet, document: Document) -> dict[str, Any]:
    """Return a verified claim set as the driver reads it; only what the judge said, and no back-tracking."""
    verdicts: dict[str, dict[str, Any]] = {}
    for one in claims.verdicts:
        result = {"supported": "supported", "unusable": "error", None: "error"}.get(
            one.label, "not_supported"
        )
        verdicts.setdefault(one.claim, {})[one.url] = {"result": result, "reliable": bool(one.reliable)}
    return {
        "ids": [one.id for one in claims.claims],
        "claims": [
            {
                "position": one.sentence,
                "claim": one.text,
                "claim_type": one.type,
                "numeric": one.numeric,
                # Its extraction drops the citations of other classes.
                "citations": list(one.citations) if one.type in ("A", "B", "C") else [],
                "implicit_citations": [],
                "cross_references": list(one.evidence_positions),
            }
            for one in claims.claims
        ],
        "urls": {one.id: one.url for one in document.citations if one.url is not None},
        "readable": [one.url for one in claims.sources if one.status == "ok"],
        "references": {
            str(number): one.url for number, one in enumerate(document.references) if one.url is not None
        },
        "verdicts": verdicts,
    }


def published(cases: Sequence[dict[str, Any]], project: Path, scratch: Path) -> list[dict[str, Any]]:
    """Return what the published code writes to `fact/`; the test is skipped without its copy in `project`."""
    driver, given, results = (scratch / name for name in ("driver.py", "given.json", "results.json"))
    driver.write_text(DRIVER, encoding="utf-8")
    given.write_text(json.dumps(cases), encoding="utf-8")
    run_original(driver, scratch, given, results, recorder="http://127.0.0.1:1", project=project)
    return json.loads(results.read_text(encoding="utf-8"))
