"""Domain authority: domains, who rates them, and what they score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.protocols.base import AnyProtocol, load_protocol
from local_judge.protocols.dream import Dream
from local_judge.protocols.dream.authority import (
    Authority,
    AuthorityFindings,
    AuthoritySettings,
    CitedDomain,
    cited_domains,
)
from local_judge.protocols.dream.domains import domain_of, shown
from local_judge.scoring.node import ScoreNode
from serving.engines.scripted import Call, Reply

from ...scripted_judge import MakeJudge
from .dream_cases import FAILURE, case, context

SENT = """Task: say how far a careful researcher may rely on what stands on the web domain at the end, by who \
publishes there and who checks it. Judge by what you know of the domain and by what its name tells, and by nothing \
else: you see no page of it.

The score is a whole number from 1 to 10:
9 or 10: public authorities and official statistics; international bodies; leading universities and research \
institutes; peer-reviewed journals and archives of the first rank.
7 or 8: established newspapers, agencies and broadcasters with an editorial office; known professional bodies; \
reference works with editors.
4 to 6: ordinary commercial sites: companies, trade press, consultancies, shops, general portals and how-to sites.
1 to 3: what anybody can put there unchecked: social networks, forums, personal blogs, content farms, sites that copy \
or advertise; and domains that you know nothing of and whose name tells nothing.

Give first "rationale": one sentence on who publishes there; then "score": the whole number. Answer with one JSON \
object with these two keys.

Domain:
```
a.example
```"""


def score_authority(judges: Sequence[AuthorityFindings]) -> ScoreNode:
    return Authority().score(judges, "paper")


def over_authority(reports: Sequence[Sequence[AuthorityFindings]], n_missing: int) -> ScoreNode:
    return Authority().aggregate(reports, "paper", n_missing)


def rated_by(file: Path) -> AnyProtocol:
    """The protocol with a file of ratings."""
    return load_protocol("dream", {"authority": {"ratings_file": str(file)}})


def rating(call: Call) -> Reply:
    """The town is an authority; of others a 4."""
    return {"rationale": "A publisher.", "score": 9 if "b.example" in call.prompt else 4}


def domains(**scores: int | None) -> AuthorityFindings:
    """Domains by their first letter and score; None failed."""
    return AuthorityFindings(
        domains=tuple(
            CitedDomain(
                domain=f"{name}.example",
                urls=(f"https://{name}.example/",),
                score=score,
                failure=FAILURE if score is None else None,
            )
            for name, score in scores.items()
        )
    )


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://www.bbc.co.uk/news/1", "bbc.co.uk"),
        ("http://News.BBC.co.uk:8080/x?y=1", "bbc.co.uk"),
        ("https://alice.github.io/page", "alice.github.io"),
        ("https://github.com/alice", "github.com"),
        ("https://en.wikipedia.org./wiki/Mill", "wikipedia.org"),
        ("https://www.ncbi.nlm.nih.gov/pmc/1", "nih.gov"),
        ("https://münchen.de/a", "xn--mnchen-3ya.de"),
        ("https://XN--MNCHEN-3YA.de/b", "xn--mnchen-3ya.de"),
        ("https://192.0.2.7:8000/x", "192.0.2.7"),
        ("http://[2001:db8::7]:81/x", "2001:db8::7"),
        ("http://localhost:3000/", "localhost"),
        ("https://www.gov.uk/guidance", "gov.uk"),  # a public suffix that is a site of its own
    ],
)
def test_the_domain_that_answers_for_an_address(url: str, domain: str) -> None:
    assert domain_of(url) == domain


def test_people_see_the_unicode_form() -> None:
    assert shown("xn--mnchen-3ya.de") == "münchen.de (xn--mnchen-3ya.de)"
    assert [shown(one) for one in ("who.int", "2001:db8::7", "_x.example")] == [
        "who.int",
        "2001:db8::7",
        "_x.example",
    ]


def test_a_domain_is_cited_once_whatever_the_address() -> None:
    text = "One [a](https://www.a.example/1). Two [b](https://x.a.example/2). Three [c](https://b.example/). Four [9]."
    found = cited_domains(case(text).report)
    assert found == {
        "a.example": ("https://a.example/1", "https://x.a.example/2"),
        "b.example": ("https://b.example",),
    }


async def test_a_prompt_holds_the_domain_alone(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(rating)
    found = await Authority().examine(case(), context(judge))
    assert [(one.domain, one.score) for one in found.domains] == [("a.example", 4), ("b.example", 9)]
    sent = sorted(call.messages[1].content for call in engine.calls)
    assert sent == [SENT, SENT.replace("a.example", "b.example")]


async def test_one_judgement_serves_all_reports_and_runs(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(rating, ledger="one.sqlite")
    first = await Authority().examine(case(), context(judge))
    other = case("It is so [a](https://news.b.example/x).", task=None)
    second = await Authority().examine(other, context(judge))
    assert len(engine.calls) == 2
    assert second.domains[0].replies == first.domains[1].replies
    again, idle = make_judge(rating, ledger="one.sqlite")
    assert await Authority().examine(case(), context(again)) == first and not idle.calls


async def test_a_persons_rating_is_not_asked_for(make_judge: MakeJudge, tmp_path: Path) -> None:
    file = tmp_path / "ratings.jsonl"
    file.write_text('{"domain": "B.example", "score": 10, "note": "the accounts themselves"}\n')
    given = Authority(AuthoritySettings(ratings_file=str(file)))
    judge, engine = make_judge(rating)
    found = await given.examine(case(), context(judge))
    assert len(engine.calls) == 1
    assert (found.domains[1].score, found.domains[1].by, found.domains[1].rationale) == (
        10,
        "file",
        "the accounts themselves",
    )
    # DA = 100 * (4/10 + 10/10) / 2
    assert score_authority([found]).score.value == pytest.approx(70)
    assert [row.item for row in given.decisions(found)] == ["a.example"]
    digest = rated_by(file).data_digest()
    assert digest is not None and Dream().data_digest() is None
    file.write_text('{"domain": "b.example", "score": 9}\n')
    assert rated_by(file).data_digest() != digest


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ('{"domain": "blogs.who.int", "score": 3}', "'blogs.who.int' belongs to 'who.int'; rate that domain"),
        ('{"domain": "not a domain", "score": 3}', "'not a domain' is not a domain"),
        ('{"domain": "who.int", "score": 11}', "score must be at most 10"),
        (
            '{"domain": "who.int", "score": 3}\n{"domain": "WHO.int", "score": 4}',
            "'WHO.int' is rated twice",
        ),
        ('{"domain": "who.int", "points": 3}', "score is missing"),
        ("who.int 3", "not JSON"),
    ],
)
def test_a_faulty_file_ends_in_a_line_that_says_where(tmp_path: Path, row: str, why: str) -> None:
    file = tmp_path / "ratings.jsonl"
    file.write_text(row + "\n")
    with pytest.raises(InputError) as refused:
        rated_by(file).data_digest()
    message = str(refused.value)
    assert message.startswith(f"{file}:") and why in message and "\n" not in message


@pytest.mark.parametrize(
    "answer", [{"rationale": "", "score": 0}, {"rationale": "", "score": True}, {"score": 11}]
)
async def test_what_is_no_score_is_a_failure(make_judge: MakeJudge, answer: dict[str, Any]) -> None:
    def reply(call: Call) -> Reply:
        return answer

    judge, _ = make_judge(reply)
    found = await Authority().examine(case(), context(judge))
    assert found.n_failed == 2
    score = score_authority([found]).score
    assert (score.value, score.low, score.high, score.n_failed) == (None, 10, 100, 2)


def test_known_values() -> None:
    """DA = 100 * (9/10 + 6/10 + 3/10) / 3 = 60."""
    root = score_authority([domains(a=9, b=6, c=3)])
    assert (root.score.value, root.score.numerator, root.score.denominator) == (
        pytest.approx(60),
        pytest.approx(1.8),
        3,
    )
    assert root.find("when_cited", "b.example").score.value == 60
    # One of two is not known: between (90 + 10) / 2 and (90 + 100) / 2.
    root = score_authority([domains(a=9, b=None)])
    assert (root.score.value, root.score.low, root.score.high, root.score.n_failed) == (90, 50, 95, 1)
    # The least with citations is a tenth.
    assert score_authority([domains(a=1)]).score.value == 10


def test_a_report_that_cites_nothing_is_zero_in_the_headline_and_undefined_beside_it() -> None:
    root = score_authority([AuthorityFindings(domains=(), n_unresolved=2)])
    assert (root.score.value, root.score.low, root.score.high) == (0, 0, 0)
    assert root.score.note == "0: it cites no domain; 2 citations lead to no address"
    beside = root.find("when_cited").score
    assert (beside.value, beside.n_undefined, beside.n_failed) == (None, 1, 0)


def test_two_judges_are_put_together_by_domain() -> None:
    """a: (9 + 7) / 2; b: by the first alone, between (4 + 1) / 2 and (4 + 10) / 2."""
    root = score_authority([domains(a=9, b=4), domains(a=7, b=None)])
    assert root.score.value == pytest.approx((80 + 40) / 2)
    assert (root.score.low, root.score.high) == (pytest.approx((80 + 25) / 2), pytest.approx((80 + 70) / 2))
    assert root.score.note == "1 of 4 answers failed"


def test_over_reports() -> None:
    """Reports with 90, 60 and none: mean 50, when cited 75, a third uncited; one more report is missing."""
    reports = [(domains(a=9),), (domains(a=9, b=3),), (AuthorityFindings(domains=()),)]
    root = over_authority(reports, 0)
    assert root.score.value == pytest.approx(50)
    assert root.find("when_cited").score.value == pytest.approx(75)
    share = root.find("share_uncited").score
    assert (share.value, share.numerator, share.denominator) == (pytest.approx(100 / 3), 1, 3)
    assert root.find("when_cited").score.n_undefined == 1
    root = over_authority(reports, 1)
    assert (root.score.value, root.score.n_expected, root.score.n_failed) == (pytest.approx(50), 4, 1)
    assert (root.score.low, root.score.high) == (pytest.approx(150 / 4), pytest.approx(250 / 4))
    share = root.find("share_uncited").score
    assert (share.low, share.high) == (25, 50)
