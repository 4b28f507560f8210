"""Claims with the published prompts, here of a few words: pages under other addresses, places of sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.claims.build import gather_sources
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import ClaimSet
from local_judge.documents import parse_report
from local_judge.protocols.deer.verification.original_prompts import extract
from local_judge.protocols.deer.verification.original_verification import verify
from local_judge.protocols.originals import Original, formatted
from serving.types import Sampling

from ....claims.conftest import claim
from ....scripted_judge import MakeJudge

CITED, FETCHED = "https://long.example/y", "https://short.example/x"
PROMPTS = Original(
    "DEER",
    "",
    None,
    {
        "reference_headings": ["## References"],
        "extraction_instructions": "Extract claims.",
        "extraction_system": formatted("{prompt_content}", "extraction_system"),
        "extraction_user": formatted("{report_text}\n{targets}", "extraction_user"),
        "verification": formatted("{url}\n{claims}\n{context}", "verification"),
    },
)


async def test_a_redirected_page_is_verified_under_the_address_that_the_report_cites(
    make_judge: MakeJudge, tmp_path: Path
) -> None:
    (tmp_path / "page.md").write_text("It cost 8 million.\n", encoding="utf-8")
    line = {"url": FETCHED, "file": "page.md", "final_url": CITED}
    (tmp_path / "pages.jsonl").write_text(json.dumps(line), encoding="utf-8")
    import_pages(tmp_path, tmp_path / "snapshot", workers=0)
    snapshot = Snapshot.open(tmp_path / "snapshot")
    document = parse_report(f"It cost 8 million [1].\n\n## References\n\n[1] {CITED}\n")
    claims = (claim(1, "It cost 8 million.", citations=document.sentences[0].citations),)
    unverified = ClaimSet(
        document=document.id,
        n_sentences=1,
        claims=claims,
        sources=gather_sources(claims, document, snapshot),
        verdicts=(),
    )
    results = [{"claim_index": 1, "explanation": "So.", "result": "supported"}]
    judge, engine = make_judge(
        [{"reliable": True, "reliable_explanation": "", "results": results}], context_tokens=200_000
    )
    judge = judge.sharing(
        judge.settings.model_copy(update={"sampling": Sampling(temperature=0.7, reasoning_effort="high")}),
        judge.calibrations,
    )
    found = await verify(unverified, document, snapshot, judge, ClaimsConfig(), prompts=PROMPTS)
    sent = engine.calls[0].sampling
    assert sent is not None
    assert (sent.max_tokens, sent.temperature, sent.reasoning_effort) == (128_000, 0.7, "low")
    assert [(one.url, one.label) for one in found.verdicts] == [(CITED, "supported")]
    assert engine.calls[0].prompt.startswith(CITED)


async def test_a_repeated_sentence_has_its_own_place(make_judge: MakeJudge, snapshot: Snapshot) -> None:
    stated = {"claim": "It rose.", "claim_type": "E", "rationale": "", "numeric": False}
    claims = [{**stated, "position": position} for position in ("L1.S1", "L1.S2", "L2.S1")]
    judge, _ = make_judge([{"claims": claims}])
    document = parse_report("It rose. It rose.\n\nIt rose.\n")
    found = await extract(document, snapshot, judge, ClaimsConfig(), prompts=PROMPTS)
    # 8 characters and a space, then 8 characters and an empty line: 8 + 1 = 9 and 9 + 8 + 2 = 19.
    assert [one.span.start for one in found.claims] == [0, 9, 19]


@pytest.mark.parametrize("text", ["```\nx = 1\n```", "---"])
async def test_a_report_without_sentences_has_no_claims(
    make_judge: MakeJudge, snapshot: Snapshot, text: str
) -> None:
    judge, engine = make_judge([])
    document = parse_report(text)
    assert document.sentences == ()
    found = await extract(document, snapshot, judge, ClaimsConfig(), prompts=PROMPTS)
    assert (found.n_sentences, found.claims, engine.calls) == (0, (), [])
