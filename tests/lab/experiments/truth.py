"""A judge who knows what is true of the topics, and says of a page what stands in it."""

from __future__ import annotations

import re
from typing import Any

from local_judge.lab.experiments.corruption import Topic, load_topics
from local_judge.lab.experiments.curves import Curve, Results
from local_judge.lab.experiments.model import PlainPage
from serving.engines.scripted import Call, Reply

from .conftest import fenced, numbered

TOPICS = load_topics()
TRUE = {topic.true_claim: topic for topic in TOPICS}
FALSE = {topic.false_claim: topic for topic in TOPICS}


def judge_by_truth(call: Call) -> Reply:
    """Of a cited page: what it says. Of what a search has found: what is true, with words of both sides."""
    if "Statement:" in call.prompt:
        return checked(call.prompt)
    if "search queries" in call.prompt:
        return queried(call.prompt)
    if "speaks against it" in call.prompt:
        return settled(call.prompt)
    if call.options is not None:
        if "Claim:" not in call.prompt:
            return "Yes"
        states = fenced(call.prompt, "Claim:") in fenced(call.prompt, "Page:")
        return "Yes" if states == ("state everything" in call.prompt) else "No"
    page = fenced(call.prompt, "Page:")
    return {
        number: {"quote": claim, "rationale": "", "label": "supported" if claim in page else "contradicted"}
        for number, claim in numbered(fenced(call.prompt, "Claims:")).items()
    }


def topic_of(claim: str) -> tuple[Topic, bool]:
    """The topic of a claim, and whether it is true."""
    return (TRUE[claim], True) if claim in TRUE else (FALSE[claim], False)


def passages(prompt: str) -> dict[str, str]:
    """The passages of a prompt by their number; each stands in a fence of its own."""
    found: list[tuple[str, str, str]] = re.findall(
        r"Passage (\d+)[^\n]*:\n(`{3,})\n(.*?)\n\2$", prompt, re.MULTILINE | re.DOTALL
    )
    return {number: text for number, _, text in found}


def words_of(page: PlainPage) -> str:
    """Its first sentences, to be quoted."""
    return page.text[:80]


def queried(prompt: str) -> Reply:
    """DREAM's queries: what the claim is about."""
    claims = numbered(fenced(prompt, "Claims:"))
    return {number: {"queries": [topic_of(claim)[0].matter]} for number, claim in claims.items()}


def settled(prompt: str) -> Reply:
    """DREAM's verdicts: the truth, with words of each page on the side that it takes."""
    shown = "".join(passages(prompt).values())
    reply: dict[str, Any] = {}
    for number, claim in numbered(fenced(prompt, "Claims:")).items():
        topic, true = topic_of(claim)
        sides = {
            says_true: [words_of(page) for page in pages if page is not None and page.url in shown]
            for says_true, pages in (
                (True, (topic.true_page, topic.second_page)),
                (False, (topic.false_page,)),
            )
        }
        reply[number] = {
            "supporting": sides[true],
            "opposing": sides[not true],
            "rationale": "",
            "label": "supported" if true else "contradicted",
        }
    return reply


def checked(prompt: str) -> Reply:
    """DeepResearchEval's answer: the truth, with words of each page on the side that it takes."""
    claim = fenced(prompt, "Statement:").splitlines()[0].removeprefix("[s1] ")
    topic, true = topic_of(claim)
    pages = {page.url: page for page in topic.pages}
    shown = {
        re.findall(r"^address: (\S+)$", text, re.MULTILINE)[0]: int(number)
        for number, text in passages(prompt).items()
    }
    evidence = [
        {
            "passage": shown[url],
            "quote": words_of(page),
            "stance": "supports" if (page is not topic.false_page) == true else "contradicts",
        }
        for url, page in pages.items()
        if url in shown
    ]
    return {"evidence": evidence, "reasoning": "", "label": "Right" if true else "Wrong"}


def curve(results: Results, protocol: str, path: str) -> Curve:
    """One score's curve."""
    (found,) = [one for one in results.curves if (one.protocol, one.path) == (protocol, path)]
    return found


def values(found: Curve) -> list[float | None]:
    """Its values by condition."""
    return [point.value for point in found.points]


def criteria_asked(prompt: str) -> list[str]:
    """The ids of RACE's criteria in a prompt."""
    listed = fenced(prompt, "Criteria, each with its id in brackets:")
    return re.findall(r"^\[([\w.]+)\]", listed, re.MULTILINE)
