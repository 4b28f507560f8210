"""Scripted judges of which it is known what they make of a text."""

from __future__ import annotations

import re
from functools import cache

from local_judge.documents import parse_report
from local_judge.lab.planting.flaws.insertions import passages
from local_judge.lab.qualification.material import sample_reports
from serving.engines.scripted import Call, Reply
from serving.errors import RequestRefused


def fenced(prompt: str, name: str) -> str:
    """What stands in the first fence under `name`; empty if nothing does."""
    found = re.search(rf"{re.escape(name)}\n(`{{3,}})\n(.*?)\n\1$", prompt, re.MULTILINE | re.DOTALL)
    return found[2] if found else ""


def sentences(text: str) -> list[str]:
    """A report's sentences without citation marks, in order."""
    bare = re.sub(r"\s*\[\d+\](?=[.。])", "", text)
    return [one.text for one in parse_report(bare).sentences]


@cache
def known() -> frozenset[str]:
    """The sentences of the reports as they were written."""
    return frozenset(one for report in sample_reports() for one in sentences(report.content.decode()))


@cache
def cited() -> frozenset[tuple[str, str]]:
    """Each sentence of the reports with the address that it cites."""
    pairs: set[tuple[str, str]] = set()
    for report in sample_reports():
        document = parse_report(report.content)
        for one in document.sentences:
            text = re.sub(r"\s*\[\d+\](?=[.。])", "", one.text)
            pairs |= {(text, document.citation(name).url or "") for name in one.citations}
    return frozenset(pairs)


def is_padding(sentence: str) -> bool:
    """Whether a sentence stands in the list of those that say nothing, whatever the topic in it."""
    for language in ("en", "zh"):
        for passage in passages("padding", language):
            parts = [re.escape(part) for part in passage.text.split("{{topic}}")]
            if re.search(".{1,80}".join(parts), sentence):
                return True
    return False


def faults_of(article: str) -> int:
    """Sentences that no report has and that say something."""
    return sum(one not in known() and not is_padding(one) for one in sentences(article))


def faults(article: str) -> int:
    """Those, and one for a report that lacks a section."""
    return faults_of(article) + (sum(one in known() for one in sentences(article)) < LEAST)


LEAST = 23
"""Sentences of the shortest report."""


def score(points: int) -> dict[str, float]:
    """A certain number of a scale."""
    return {str(points): 1.0}


def reads_all(call: Call) -> Reply:
    """Sees every flaw and nothing else: 9 points less one for each fault; a claim is true as the reports cite it."""
    if call.options is not None and "10" in call.options:
        return score(9 - faults(fenced(call.prompt, "Article:")))
    if call.options is not None:
        claim = fenced(call.prompt, "Claim:")
        page = fenced(call.prompt, "Page:").partition("\n")[0].removeprefix("Address: ")
        true = not claim or (claim, page) in cited()  # without a claim: whether a page is on topic
        against = "cannot be true together" in call.prompt
        yes = 0.95 if true is not against else 0.05
        return {"Yes": yes, "No": 1 - yes}
    if call.schema is not None and "repeat each other" in call.prompt:
        return {number: {"repeats": 0} for number in call.schema["properties"]}
    raise AssertionError(call.prompt[-400:])


def likes_length(call: Call) -> Reply:
    """A point for each 500 characters of an article; every claim is true."""
    if call.options is not None and "10" in call.options:
        return score(min(10, len(fenced(call.prompt, "Article:")) // 500))
    return {"Yes": 0.9, "No": 0.1}


def mute(call: Call) -> Reply:
    """Answers nothing."""
    raise RequestRefused("scripted: no")
