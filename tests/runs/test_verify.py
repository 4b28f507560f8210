from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from indexes.snapshot import Snapshot
from local_judge.base.errors import InputError
from local_judge.claims.config import ClaimsConfig
from local_judge.judge.judge import Judge
from local_judge.runs.execution.verify import ClaimRow, load_claim_rows, verify_rows
from serving.engines.scripted import Call, Reply
from serving.errors import EngineTimeout

from ..scripted_judge import MakeJudge, believe

RENEWAL = "https://heat.example/fernholt/renewal"
ROWS = [
    ClaimRow(id="1", claim="1,240 dwellings were connected.", url=RENEWAL),
    ClaimRow(id="2", claim="Crowds came.", url="https://gazette.example/2022/opening-day"),
    ClaimRow(id="3", claim="The council agreed.", url="https://council.example/minutes/2021-03-18"),
    ClaimRow(id="4", claim="It opened in 1974.", url=RENEWAL.replace("https", "HTTPS") + "#top"),
    ClaimRow(id="5", claim="Nobody knows.", url="https://nowhere.example/"),
]


async def test_one_row_comes_out_for_each_that_went_in(make_judge: MakeJudge, snapshot: Snapshot) -> None:
    judge, engine = make_judge()
    found = await verify_rows(ROWS, snapshot, judge, ClaimsConfig(reliability=False))
    assert [(row.id, row.claim, row.url) for row in found] == [(row.id, row.claim, row.url) for row in ROWS]
    assert [(row.status, row.label) for row in found] == [
        ("ok", "supported"),
        ("dead", None),
        ("ok", "supported"),
        ("ok", "supported"),
        ("not_in_snapshot", None),
    ]
    # Both forms of one URL are one page, and its claims one call.
    assert len(engine.calls) == 2
    assert "1. 1,240 dwellings were connected.\n2. It opened in 1974.\n" in engine.calls[0].prompt
    assert all(row.failure is None for row in found)
    assert found[0].replies and found[0].text_digest == snapshot.page(RENEWAL).text_digest


async def test_a_watcher_is_told_of_each_page_that_is_judged(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    told: list[object] = []

    class Counting:
        def one_done(self) -> None:
            told.append("page")

    def watch(judge: Judge, total: int) -> AbstractContextManager[Counting]:
        told.append(total)
        return nullcontext(Counting())

    judge, _ = make_judge()
    await verify_rows(ROWS, snapshot, judge, ClaimsConfig(reliability=False), watch)
    # Five rows on four URLs, of which two can be read.
    assert told == [2, "page", "page"]


async def test_a_question_without_an_answer_is_a_failure_of_its_rows(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    def slow_page(call: Call) -> Reply:
        return EngineTimeout("no answer") if RENEWAL in call.prompt else believe(call)

    judge, _ = make_judge(slow_page)
    found = await verify_rows(ROWS, snapshot, judge, ClaimsConfig(reliability=False))
    assert [row.failure.kind if row.failure else None for row in found] == [
        "timeout",
        None,
        None,
        "timeout",
        None,
    ]
    assert [row.label for row in found] == [None, None, "supported", None, None]


async def test_a_quotation_of_the_title_has_its_offsets_there(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    title = snapshot.page(RENEWAL).title
    assert title and title not in snapshot.page(RENEWAL).text

    def quote_title(call: Call) -> Reply:
        if call.options is not None:
            return {"Yes": 0.2, "No": 0.8}
        return {"1": {"quote": title, "label": "supported"}}

    judge, engine = make_judge(quote_title)
    [row] = await verify_rows(ROWS[:1], snapshot, judge, ClaimsConfig(form="terse"))
    assert (row.quote, row.quote_span, row.quote_in_title) == (title, (0, len(title)), True)
    # One question for the verdict, one for the page.
    assert row.reliable is False and len(engine.calls) == 2


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"claim": "A."}], ":1: needs `claim` and `url`"),
        ([{"claim": "  ", "url": RENEWAL}], ":1: needs `claim` and `url`"),
        ([{"claim": "A.", "url": "ftp://a"}], ":1: "),
        (
            [{"claim": "A.", "url": RENEWAL, "id": 1}, {"claim": "B.", "url": RENEWAL, "id": "1"}],
            ":2: id '1' appears twice",
        ),
        ([{"claim": "\ud800", "url": RENEWAL}], ":1: needs `claim` and `url`"),
        ([{"claim": "A.", "url": RENEWAL, "id": 1.5}], ":1: id 1.5 must be"),
        ([{"claim": "A" * 20_001, "url": RENEWAL}], ":1: claim of 20,001 characters, more than 20,000"),
        ([{"claim": "A.", "url": RENEWAL + "a" * 9_000}], ":1: url of 9,0"),
        ([{"claim": "A.", "url": RENEWAL, "id": "a" * 201}], ":1: id of 201 characters, more than 200"),
        ([], ": no claims in it"),
    ],
)
def test_bad_rows(tmp_path: Path, rows: list[dict[str, Any]], said: str) -> None:
    path = tmp_path / "claims.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError) as caught:
        load_claim_rows(path)
    assert str(caught.value).startswith(f"{path}{said}")


def test_a_file_of_claims_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local_judge.runs.execution.verify.MOST_BYTES", 10)
    (tmp_path / "claims.jsonl").write_text(json.dumps({"claim": "A.", "url": RENEWAL}))
    with pytest.raises(InputError, match="more than 10; split the file"):
        load_claim_rows(tmp_path / "claims.jsonl")


def test_rows_without_an_id_have_their_line(tmp_path: Path) -> None:
    path = tmp_path / "claims.jsonl"
    path.write_text(
        f'\n{{"claim": " A \\n b. ", "url": "{RENEWAL}"}}\n{{"claim": "C.", "url": "{RENEWAL}", "id": 0}}\n'
    )
    assert [(row.id, row.claim) for row in load_claim_rows(path)] == [("2", "A b."), ("0", "C.")]
