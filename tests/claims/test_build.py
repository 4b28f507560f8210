"""Sources, and the claim set from end to end."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.claims.build import (
    build_claim_set,
    extract_claim_set,
    gather_sources,
    preceding,
    urls_of,
    verify_claim_set,
    verify_page,
)
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import ClaimSet
from local_judge.documents import parse_report
from local_judge.protocols.deer.verification.rows import rows_of
from serving.engine import JsonSchema
from serving.engines.scripted import Call, Reply, ScriptedEngine
from serving.errors import EngineTimeout
from serving.types import Choice, Generation, Message, Sampling

from ..scripted_judge import MakeJudge
from .conftest import claim

RENEWAL = "https://heat.example/fernholt/renewal"
MINUTES = "https://council.example/minutes/2021-03-18"
GAZETTE = "https://gazette.example/2022/opening-day"
NOWHERE = "https://nowhere.example/page"

REPORT = f"""# Heat

## Built

The retrofit connected 1,240 dwellings [1][2]. All of them lie in the town. Visitors came [3].

## Effects

The dwellings are warm now. One more thing was said [4]. It is a kind of wonder [9].

## References

[1] {RENEWAL}
[2] {MINUTES}
[3] {GAZETTE}
[4] {NOWHERE}
"""
DOCUMENT = parse_report(REPORT)
TYPES = {
    "L3.S1": ("A", ""),
    "L3.S2": ("B", "L3.S1"),
    "L3.S3": ("A", ""),
    "L5.S1": ("C", "L3.S2"),
    "L5.S2": ("A", ""),
    "L5.S3": ("A", ""),
}


def judge_of_the_town(call: Call) -> Reply:
    """One claim for each sentence, with the support above; verdicts by the page."""
    if call.options is not None:
        return "Yes" if RENEWAL in call.prompt or "captcha" in call.prompt else "No"
    asked = call.prompt.rpartition("Sentences:\n" if "Sentences:\n" in call.prompt else "Claims:\n")[2]
    if "Sentences:\n" in call.prompt:
        sentences: list[tuple[str, str, str]] = re.findall(
            r"^(\d+)\. (L\d+\.S\d+): (.+)$", asked, re.MULTILINE
        )
        return {
            number: {"claim": text, "type": TYPES[label][0], "support": TYPES[label][1]}
            for number, label, text in sentences
        }
    label = "supported" if RENEWAL in call.prompt else "not_found"
    return {number: {"quote": "", "label": label} for number in re.findall(r"^(\d+)\. ", asked, re.MULTILINE)}


async def built(make_judge: MakeJudge, snapshot: Snapshot, **config: Any) -> tuple[ClaimSet, ScriptedEngine]:
    judge, engine = make_judge(judge_of_the_town)
    return await build_claim_set(DOCUMENT, snapshot, judge, ClaimsConfig(form="terse", **config)), engine


def test_urls_of_a_claim_are_each_once_the_written_before_the_recovered() -> None:
    of = {sentence.label: sentence.citations for sentence in DOCUMENT.sentences}
    assert urls_of(claim(1, "x", citations=of["L3.S3"], recovered=of["L3.S1"]), DOCUMENT) == (
        GAZETTE,
        RENEWAL,
        MINUTES,
    )
    assert urls_of(claim(1, "x", citations=of["L3.S1"], recovered=of["L3.S1"]), DOCUMENT) == (
        RENEWAL,
        MINUTES,
    )
    # A number without an entry leads nowhere, and nothing is put in its place.
    assert of["L5.S3"]
    assert urls_of(claim(1, "x", citations=of["L5.S3"]), DOCUMENT) == ()


def test_sources_stand_in_the_order_in_which_the_report_leans_on_them(snapshot: Snapshot) -> None:
    of = {sentence.label: sentence.citations for sentence in DOCUMENT.sentences}
    claims = [
        claim(n, "x", citations=of[label]) for n, label in enumerate(("L3.S3", "L3.S1", "L5.S2", "L3.S3"))
    ]
    found = gather_sources(claims, DOCUMENT, snapshot)
    assert [(source.url, source.status, source.claims) for source in found] == [
        (GAZETTE, "dead", ("L1.S0.1", "L1.S3.1")),
        (RENEWAL, "ok", ("L1.S1.1",)),
        (MINUTES, "ok", ("L1.S1.1",)),
        (NOWHERE, "not_in_snapshot", ("L1.S2.1",)),
    ]
    assert [bool(source.text_digest) for source in found] == [False, True, True, False]
    assert found[0].reason


@pytest.mark.parametrize("method", ["grouped", "scored"])
async def test_a_claim_set_from_end_to_end(
    make_judge: MakeJudge, snapshot: Snapshot, method: Literal["grouped", "scored"]
) -> None:
    judge, _ = make_judge(judge_of_the_town)
    config = ClaimsConfig(form="terse", method=method)
    claims = await build_claim_set(DOCUMENT, snapshot, judge, config)
    assert (claims.document, claims.n_sentences) == (DOCUMENT.id, len(DOCUMENT.sentences))
    assert [(c.id, c.type, c.recovered_from) for c in claims.claims] == [
        ("L3.S1.1", "A", ()),
        ("L3.S2.1", "B", ("L3.S1",)),
        ("L3.S3.1", "A", ()),
        # Named L3.S2, which carries none itself, and through it L3.S1.
        ("L5.S1.1", "C", ("L3.S1",)),
        ("L5.S2.1", "A", ()),
        ("L5.S3.1", "A", ()),
    ]
    assert [(source.url, source.status) for source in claims.sources] == [
        (RENEWAL, "ok"),
        (MINUTES, "ok"),
        (GAZETTE, "dead"),
        (NOWHERE, "not_in_snapshot"),
    ]
    # Written or recovered, a claim on two pages has two verdicts; on pages that cannot be read it has none.
    assert [(v.claim, v.url, v.label, v.reliable) for v in claims.verdicts] == [
        (claim_id, url, label, reliable)
        for url, label, reliable in ((RENEWAL, "supported", True), (MINUTES, "not_found", False))
        for claim_id in ("L3.S1.1", "L3.S2.1", "L5.S1.1")
    ]
    # The rating of each page is one reply for all of its verdicts, and it is in the ledger.
    ratings = {v.url: v.reliable_reply for v in claims.verdicts}
    assert {(v.url, v.reliable_reply) for v in claims.verdicts} == set(ratings.items())
    for key in ratings.values():
        trace = judge.ledger.reply(key or "")
        assert trace is not None and trace.reply.kind == "choose"
    assert claims.extraction_failures == ()
    assert claims.violations == ()


async def test_no_question_is_asked_about_a_page_that_cannot_be_read(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    _, engine = await built(make_judge, snapshot)
    pages = [
        match[1]
        for call in engine.calls
        if (match := re.match(r"Page:\n`+\nAddress: (\S+)\n", call.messages[1].content))
    ]
    assert sorted(pages) == sorted([RENEWAL, RENEWAL, MINUTES, MINUTES])
    _, engine = await built(make_judge, snapshot, reliability=False)
    assert len(engine.calls) == 1 + 2


async def test_pairs_of_the_published_code_alone_are_asked_about_in_calls_of_their_own(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    """The other questions are the same with them and without them; a page's reliability is asked once."""
    document = parse_report(
        f"The town is old. It meets on Mondays. In 1998 the council voted [1].\n\n## References\n\n[1] {MINUTES}\n"
    )
    config = ClaimsConfig(form="terse")

    def reply(call: Call) -> Reply:
        if "Sentences:\n" not in call.prompt:
            return judge_of_the_town(call)
        return {
            number: {"claim": f"Claim {number}.", "type": type, "support": ""}
            for number, type in zip("123", "EBA", strict=True)
        }

    async def verified(upstream: bool) -> tuple[ClaimSet, list[str]]:
        judge, engine = make_judge(reply)
        claims = await extract_claim_set(document, snapshot, judge, config, upstream=upstream)
        return await verify_claim_set(claims, document, snapshot, judge, config), [
            call.prompt for call in engine.calls
        ]

    (claims, without), (both, with_them) = await verified(False), await verified(True)
    # By the paper, the E and the B that names nothing have no citation. By the code, both take over that of the next.
    assert [(source.claims, source.upstream) for source in claims.sources] == [(("L1.S3.1",), None)]
    assert [(source.claims, source.upstream) for source in both.sources] == [
        (("L1.S3.1",), ("L1.S1.1", "L1.S2.1", "L1.S3.1"))
    ]
    assert [verdict.claim for verdict in both.verdicts] == ["L1.S3.1", "L1.S1.1", "L1.S2.1"]
    assert set(without) < set(with_them) and len(with_them) == len(without) + 1
    assert len({verdict.reliable_reply for verdict in both.verdicts}) == 1
    rows = rows_of(both, document)
    assert [(one.type, len(one.pairs)) for one in rows.claims] == [("E", 0), ("B", 0), ("A", 1)]
    assert [(one.type, len(one.pairs)) for one in rows.by_code.claims] == [("E", 1), ("B", 1), ("A", 1)]
    # What was not asked about is unknown, and never absent.
    unasked = [[pair.outcome for pair in one.pairs] for one in rows_of(claims, document).by_code.claims]
    assert unasked == [["judge_failed"], ["judge_failed"], ["not_supported"]]


async def test_one_page_s_failure_leaves_the_others_verdicts(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    def script(call: Call) -> Reply:
        return (
            EngineTimeout("no answer")
            if MINUTES in call.messages[1].content[:80]
            else judge_of_the_town(call)
        )

    judge, _ = make_judge(script)
    claims = await build_claim_set(DOCUMENT, snapshot, judge, ClaimsConfig(form="terse"))
    kinds = {(v.url, v.label, v.failure.kind if v.failure else None, v.reliable) for v in claims.verdicts}
    assert kinds == {(RENEWAL, "supported", None, True), (MINUTES, None, "timeout", None)}


@pytest.mark.parametrize("method", ["grouped", "scored"])
async def test_a_redirected_page_has_the_verdicts_of_the_address_that_the_report_cites(
    make_judge: MakeJudge, tmp_path: Path, method: Literal["grouped", "scored"]
) -> None:
    (tmp_path / "page.md").write_text("The retrofit connected 1,240 dwellings.\n", encoding="utf-8")
    line = {"url": "https://short.example/x", "file": "page.md", "final_url": RENEWAL}
    (tmp_path / "pages.jsonl").write_text(json.dumps(line), encoding="utf-8")
    import_pages(tmp_path, tmp_path / "snapshot", workers=0)
    claims, _ = await built(make_judge, Snapshot.open(tmp_path / "snapshot"), method=method)
    verdicts = [(v.claim, v.url, v.evidence and v.evidence.url) for v in claims.verdicts]
    assert verdicts == [
        (claim, RENEWAL, "https://short.example/x") for claim in ("L3.S1.1", "L3.S2.1", "L5.S1.1")
    ]
    pairs = {
        (claim.id, pair.url): pair.outcome
        for claim in rows_of(claims, DOCUMENT).claims
        for pair in claim.pairs
    }
    assert {pairs[claim, RENEWAL] for claim, _, _ in verdicts} == {"not_supported"}


@pytest.mark.parametrize(
    ("answer", "label", "kind"), [("No", "unusable", None), (EngineTimeout("late"), None, "timeout")]
)
async def test_a_short_page_is_asked_about_once_whether_it_is_usable(
    make_judge: MakeJudge, snapshot: Snapshot, answer: Reply, label: str | None, kind: str | None
) -> None:
    def script(call: Call) -> Reply:
        return answer if "captcha" in call.prompt and MINUTES in call.prompt else judge_of_the_town(call)

    judge, engine = make_judge(script)
    claims = await build_claim_set(
        DOCUMENT, snapshot, judge, ClaimsConfig(form="terse", method="scored", reliability=False)
    )
    on_minutes = [verdict for verdict in claims.verdicts if verdict.url == MINUTES]
    assert len(on_minutes) == 3
    assert {(one.label, one.failure and one.failure.kind) for one in on_minutes} == {(label, kind)}
    about = [call for call in engine.calls if f"Address: {MINUTES}" in call.prompt]
    assert len({call.prompt for call in about}) == 1
    # A pair of the published code's back-tracking alone has the same answer.
    claim = next(one for one in claims.claims if one.id == on_minutes[0].claim)
    sources = tuple(
        source.model_copy(update={"claims": (), "upstream": (claim.id,)})
        for source in claims.sources
        if source.url == MINUTES
    )
    alone = await verify_claim_set(
        claims.model_copy(update={"sources": sources}),
        DOCUMENT,
        snapshot,
        judge,
        ClaimsConfig(form="terse", method="scored", reliability=False),
    )
    assert [(one.claim, one.label, one.failure and one.failure.kind) for one in alone.verdicts] == [
        (claim.id, label, kind)
    ]


class JitteryEngine(ScriptedEngine):
    """Takes a different time for each call, so that replies come in another order than they were asked for."""

    def __init__(self, seed: int) -> None:
        super().__init__(judge_of_the_town)
        self._rng = Random(seed)
        self.finished: list[str] = []

    async def generate(
        self,
        messages: Any,
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Any = None,
    ) -> Generation:
        await asyncio.sleep(self._rng.uniform(0, 0.01))
        return self._done(messages, await super().generate(messages, sampling, schema, started))

    async def choose(self, messages: Any, options: Any) -> Choice:
        await asyncio.sleep(self._rng.uniform(0, 0.01))
        return self._done(messages, await super().choose(messages, options))

    def _done(self, messages: tuple[Message, ...], result: Any) -> Any:
        self.finished.append(messages[1].content)
        return result


@pytest.mark.parametrize("method", ["grouped", "scored"])
async def test_what_the_beginning_of_a_page_does_not_show_is_unknown(
    make_judge: MakeJudge, snapshot: Snapshot, method: str
) -> None:
    """Claim 1 is supported by what was stored; claim 2 may be supported by what was not."""
    claims = [
        claim(1, "The retrofit connected 1,240 dwellings."),
        claim(2, "Halvorsen Pipework was the contractor."),
    ]

    def answer(call: Call) -> Reply:
        if call.options:
            return {"Yes": 0.9, "No": 0.1} if claims[0].text in call.prompt else {"Yes": 0.1, "No": 0.9}
        found = ("supported", other)
        return {str(n): {"quote": "", "rationale": "", "label": label} for n, label in enumerate(found, 1)}

    page = snapshot.page(RENEWAL)
    other = "partial" if method == "grouped" else "not_found"
    for truncated, second in ((False, other), (True, None)):
        judge, _ = make_judge(answer)
        cut = page.model_copy(update={"truncated": truncated})
        config = ClaimsConfig.model_validate({"method": method})
        verdicts = await verify_page(cut, claims, snapshot, judge, config)
        assert [one.label for one in verdicts] == ["supported", second]
        assert [one.failure and one.failure.kind for one in verdicts] == [
            None,
            "page_cut" if truncated else None,
        ]


async def test_the_same_claim_set_whatever_the_delays(make_judge: MakeJudge, snapshot: Snapshot) -> None:
    config = ClaimsConfig(form="terse", batch_sentences=1, claims_per_call=1)
    sets: list[str] = []
    orders: set[tuple[str, ...]] = set()
    for seed in range(4):
        judge, _ = make_judge(())
        engine = JitteryEngine(seed)
        judge = type(judge)(engine, judge.ledger)
        sets.append((await build_claim_set(DOCUMENT, snapshot, judge, config)).model_dump_json())
        orders.add(tuple(engine.finished))
    assert len(orders) > 1, "the delays changed nothing"
    assert len(set(sets)) == 1


def test_the_text_before_a_claim_stays_in_its_section() -> None:
    claims = [claim(1, "Visitors came.").model_copy(update={"sentence": "L3.S3", "id": "L3.S3.1"})]
    claims += [claim(1, "Warm.").model_copy(update={"sentence": "L5.S1", "id": "L5.S1.1"})]
    first, second = "The retrofit connected 1,240 dwellings [1][2].", "All of them lie in the town."
    assert preceding(claims, DOCUMENT, 0) == {}
    assert preceding(claims, DOCUMENT, 1) == {"L3.S3.1": second, "L5.S1.1": ""}
    assert preceding(claims, DOCUMENT, 5) == {"L3.S3.1": f"{first} {second}", "L5.S1.1": ""}


async def test_a_run_shows_the_sentences_before_a_claim_in_the_view_contrast(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    settings = {"method": "scored", "view": "contrast", "context_sentences": 1}
    found, engine = await built(make_judge, snapshot, **settings)
    shown = (
        "The claim follows this text:\n```\nThe retrofit connected 1,240 dwellings [1][2].\n```\n\nClaim:\n"
    )
    assert any(shown in call.prompt for call in engine.calls)
    assert all(verdict.failure is None for verdict in found.verdicts)
