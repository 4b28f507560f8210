from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

from indexes.making.importing import import_pages
from indexes.model import Page
from indexes.snapshot import Snapshot
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import estimate_tokens, evidence_groups
from local_judge.claims.nearest import GAP

from .conftest import TOPICS, claim, paragraph

LongPage = tuple[Snapshot, Page]
WORDS = ("copper", "barley", "cotton", "butter", "silver")
RENEWAL = "https://heat.example/fernholt/renewal"


def shown(text: str) -> list[str]:
    """The topics whose paragraphs are in a text, in the order of the text."""
    return sorted((topic for topic in TOPICS if f"traded {topic} worth" in text), key=text.index)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("abcdefg", 2),  # 7 / 3.5
        ("abcdefgh", 3),  # 8 / 3.5 = 2.29, rounded up
        ("热泵", 2),  # a token each
        ("热abcdefg", 3),
    ],
)
def test_tokens_are_estimated_by_length_and_script(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_a_page_within_the_limit_is_shown_whole_and_alike_to_all_groups(snapshot: Snapshot) -> None:
    page = snapshot.page(RENEWAL)
    claims = [claim(n, f"Claim {n}.") for n in range(5)]
    found = evidence_groups(page, claims, snapshot, ClaimsConfig(claims_per_call=2))
    assert [[c.id for c in group] for _, group in found] == [
        ["L1.S0.1", "L1.S1.1"],
        ["L1.S2.1", "L1.S3.1"],
        ["L1.S4.1"],
    ]
    first = found[0][0]
    assert all(page_evidence is first for page_evidence, _ in found)
    assert first.shared == f"Page:\n```\nAddress: {RENEWAL}\n\n{page.title}\n\n{page.text}\n```"
    assert first.evidence.whole_page
    assert first.evidence.chunks == tuple(chunk.id for chunk in snapshot.chunks(page))
    assert first.evidence.text_digest == page.text_digest
    assert first.prefix_key == f"page:{page.url}:{page.text_digest}"


def test_the_limit_is_where_the_page_stops_being_whole(long_page: LongPage) -> None:
    snapshot, page = long_page
    tokens = estimate_tokens(page.text)
    at, below = (
        evidence_groups(page, [claim(1, "It traded tallow.")], snapshot, ClaimsConfig(evidence_tokens=limit))[
            0
        ][0]
        for limit in (tokens, tokens - 1)
    )
    assert at.evidence.whole_page
    assert not below.evidence.whole_page


def test_passages_stand_in_page_order_with_a_mark_where_something_is_left_out(long_page: LongPage) -> None:
    snapshot, page = long_page
    assert [chunk.text for chunk in snapshot.chunks(page)] == [paragraph(topic) for topic in TOPICS]
    config = ClaimsConfig(evidence_tokens=1000, passages_per_claim=1)
    claims = [claim(1, "It traded walnut."), claim(2, "It traded copper."), claim(3, "It traded timber.")]
    [(page_evidence, _)] = evidence_groups(page, claims, snapshot, config)
    # Best first per claim, but in page order; timber and walnut are neighbours, so no mark between them.
    assert shown(page_evidence.shared) == ["copper", "timber", "walnut"]
    assert page_evidence.shared.count(GAP) == 1
    assert (
        f"{paragraph('copper')}\n{GAP}\n{paragraph('timber')}\n\n{paragraph('walnut')}\n```"
        in page_evidence.shared
    )
    starts = [int(chunk.split(":")[1].split("-")[0]) for chunk in page_evidence.evidence.chunks]
    assert starts == sorted(starts)
    assert page_evidence.prefix_key.endswith(",".join(page_evidence.evidence.chunks))


def test_each_claim_gets_its_best_passage_before_any_gets_its_second(long_page: LongPage) -> None:
    snapshot, page = long_page
    cost = max(estimate_tokens(paragraph(topic)) for topic in TOPICS)
    claims = [claim(n, f"It traded {topic}.") for n, topic in enumerate(("velvet", "tallow", "copper"))]
    # Room for three passages and a half: one for each claim, whatever else each would like to have.
    config = ClaimsConfig(evidence_tokens=cost * 7 // 2, passages_per_claim=4)
    [(page_evidence, _)] = evidence_groups(page, claims, snapshot, config)
    assert shown(page_evidence.shared) == ["copper", "tallow", "velvet"]


def test_a_page_with_fewer_passages_than_a_claim_may_have_gives_those_that_fit(long_page: LongPage) -> None:
    snapshot, page = long_page
    cost = max(estimate_tokens(paragraph(topic)) for topic in TOPICS)
    # The page has ten passages, a claim may have twenty, and there is room for one and a half.
    config = ClaimsConfig(evidence_tokens=cost * 3 // 2, passages_per_claim=2 * len(TOPICS))
    [(page_evidence, _)] = evidence_groups(page, [claim(1, "It traded tallow.")], snapshot, config)
    assert shown(page_evidence.shared) == ["tallow"]


def test_the_cap_holds_but_one_passage_is_always_shown(long_page: LongPage) -> None:
    snapshot, page = long_page
    claims = [claim(n, f"It traded {topic}.") for n, topic in enumerate(TOPICS)]
    for limit in (200, 600, 1500):
        config = ClaimsConfig(evidence_tokens=limit, passages_per_claim=3)
        [(page_evidence, _)] = evidence_groups(page, claims, snapshot, config)
        spent = sum(estimate_tokens(paragraph(topic)) for topic in shown(page_evidence.shared))
        assert spent <= limit or len(shown(page_evidence.shared)) == 1
    assert (
        len(shown(evidence_groups(page, claims, snapshot, ClaimsConfig(evidence_tokens=200))[0][0].shared))
        == 1
    )


def test_groups_of_a_long_page_each_have_their_own_passages(long_page: LongPage) -> None:
    snapshot, page = long_page
    claims = [claim(1, "It traded barley."), claim(2, "It traded pewter.")]
    config = ClaimsConfig(evidence_tokens=300, passages_per_claim=1, claims_per_call=1)
    first, second = (page_evidence for page_evidence, _ in evidence_groups(page, claims, snapshot, config))
    assert (shown(first.shared), shown(second.shared)) == (["barley"], ["pewter"])
    assert first.prefix_key != second.prefix_key


def test_passages_join_consecutive_chunks_up_to_their_length(long_page: LongPage) -> None:
    snapshot, page = long_page
    chunks = snapshot.chunks(page)
    # Room for the second and third chunk together, and not for the fourth: passages are pairs of chunks.
    pair = max(estimate_tokens(page.text[one.start : two.end]) for one, two in pairwise(chunks))
    config = ClaimsConfig(evidence_tokens=pair, passages_per_claim=1, passage_tokens=pair)
    number = 3  # the second of its pair
    [(page_evidence, _)] = evidence_groups(page, [claim(1, f"It traded {TOPICS[number]}.")], snapshot, config)
    assert shown(page_evidence.shared) == [*TOPICS[number - 1 : number + 1]]
    digest = page.text_digest[:12]
    assert page_evidence.evidence.chunks == (f"{digest}:{chunks[2].start}-{chunks[3].end}",)


@pytest.fixture(scope="module")
def flowing_page(tmp_path_factory: pytest.TempPathFactory) -> LongPage:
    """200 numbered sentences in one paragraph, each with a word that no other has."""
    folder = tmp_path_factory.mktemp("flowing")
    text = " ".join(f"Sentence {n:03} is about the {WORDS[n % 5]}{n:03} only." for n in range(200))
    (folder / "flow.txt").write_text(text, encoding="utf-8")
    line = json.dumps({"url": "https://town.example/flow", "file": "flow.txt"})
    (folder / "pages.jsonl").write_text(line + "\n", encoding="utf-8")
    import_pages(folder, folder / "snapshot", workers=0)
    snapshot = Snapshot.open(folder / "snapshot")
    return snapshot, snapshot.page("https://town.example/flow")


def numbers(text: str) -> list[int]:
    """The numbers of the sentences shown, in order."""
    return [int(number) for number in re.findall(r"Sentence (\d+) is", text)]


def test_overlapping_chunks_show_each_sentence_once(flowing_page: LongPage) -> None:
    snapshot, page = flowing_page
    chunks = snapshot.chunks(page)
    held = [numbers(chunk.text) for chunk in chunks[:5]]
    assert all(set(one) & set(next_one) for one, next_one in pairwise(held))
    # A sentence from the middle of a chunk is in no other one.
    words = [f"{WORDS[n % 5]}{n:03}" for n in (held[1][12], held[0][12], held[4][12])]
    claims = [claim(n, f"It is {word}.") for n, word in enumerate(words)]
    config = ClaimsConfig(evidence_tokens=1_000, passages_per_claim=1)
    [(page_evidence, _)] = evidence_groups(page, claims, snapshot, config)
    assert page_evidence.evidence.chunks == (chunks[0].id, chunks[1].id, chunks[4].id)
    assert numbers(page_evidence.shared) == [*range(held[1][-1] + 1), *held[4]]
    assert page_evidence.shared.count(GAP) == 1
    assert page.text[: chunks[1].end] in page_evidence.shared  # one stretch, as it stands in the page


def test_what_a_neighbour_shows_already_is_not_counted_again(flowing_page: LongPage) -> None:
    snapshot, page = flowing_page
    first, second = snapshot.chunks(page)[:2]
    together = estimate_tokens(page.text[: second.end])
    assert together < estimate_tokens(first.text) + estimate_tokens(second.text) - 30
    words = [f"{WORDS[n % 5]}{n:03}" for n in (numbers(first.text)[3], numbers(second.text)[-1])]
    claims = [claim(n, f"It is {word}.") for n, word in enumerate(words)]
    # One token more: the new part of the second chunk is rounded up by itself.
    config = ClaimsConfig(evidence_tokens=together + 1, passages_per_claim=1)
    [(page_evidence, _)] = evidence_groups(page, claims, snapshot, config)
    assert page_evidence.evidence.chunks == (first.id, second.id)
    config = ClaimsConfig(evidence_tokens=together - 2, passages_per_claim=1)
    [(page_evidence, _)] = evidence_groups(page, claims, snapshot, config)
    assert page_evidence.evidence.chunks == (first.id,)
