"""The corruption sweep: a growing share of a report's claims is replaced by false ones with matching citations.

After DREAM (arXiv 2602.18940), the controlled experiment on factuality with 15 claim pairs: each false claim is cited
to a page that states it. A claim pair is a true sentence and its false counterpart on one topic, with the pages of
both.

Invariants: a claim that is false at one rate is false at every higher one. A claim has the same sentence, number and
citation in every report that contains it, so that each question about it and its page is asked once; the web is the
same. Each sentence of a pair occurs word for word in the page that a report cites for it, and on no other page. Two of
the three pages of a packaged topic state the truth, so that a search finds more truth than error.

A citation check alone sees nothing: each claim is what its page says. The rest of the web says what is true, so that a
score that searches it falls as 1 - r:

    ideal factuality = 1 - r      ideal citation faithfulness = 1      r = false claims / claims
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from local_judge.base.errors import ConfigError, InputError
from local_judge.base.model import Frozen
from local_judge.lab.experiments.model import (
    Condition,
    EntryId,
    Expectation,
    Experiment,
    Line,
    PlainPage,
    Shape,
    Trial,
    Version,
    cited,
    design,
    listed,
    load_entries,
    occurs,
    once,
    packaged,
    relative_change,
    taken,
)
from local_judge.tasks.model import Task

CLAIM_PAIRS = packaged("topics.yaml")
"""15 pairs, the number of the paper."""


class Topic(Frozen):
    """One claim pair."""

    id: EntryId
    """Id of the topic."""
    matter: Line
    """Topic in a few words that favour neither side."""
    true_claim: Line
    """One sentence, which occurs word for word in its own page and in no other."""
    false_claim: Line
    """One sentence, which occurs word for word in its own page and in no other."""
    true_page: PlainPage
    """Page cited for the true claim."""
    false_page: PlainPage
    """Page cited for the false claim."""
    second_page: PlainPage | None = None
    """Page that also states the truth and is not cited; the paper's pairs have none."""

    @property
    def pages(self) -> tuple[PlainPage, ...]:
        """All pages of the topic."""
        second = () if self.second_page is None else (self.second_page,)
        return (self.true_page, *second, self.false_page)


def load_topics(path: Path = CLAIM_PAIRS) -> tuple[Topic, ...]:
    """Load the claim pairs of a file, in its order; by default the packaged ones.

    Raises:
        InputError: the file is malformed, or its entries do not fit each other.
    """
    topics = load_entries(path, Topic)
    pages = [page for topic in topics for page in topic.pages]
    once(path, "id", [topic.id for topic in topics])
    once(path, "url", [page.url for page in pages])
    for topic in topics:
        for claim, home in ((topic.true_claim, topic.true_page), (topic.false_claim, topic.false_page)):
            occurs(path, topic.id, claim, home.text)
            for page in pages:
                if page is not home and claim in page.text:
                    raise InputError(f"{path}: {topic.id}: {claim!r} also occurs in {page.url}")
    return topics


RATES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
TODAY = date(2026, 1, 1)
"""An arbitrary day: nothing in the pairs changes with time."""
PROTOCOLS = ("dream", "fact", "deer", "liveresearchbench", "deepresearcheval")
SETTINGS = {
    "dream": {
        "parts": ["factuality", "citation"],
        "factuality": {"claims_per_query_call": 1, "claims_per_call": 1},
    },
    "deer": {"parts": ["verification"]},
    "liveresearchbench": {"parts": ["accuracy"]},
    "deepresearcheval": {"parts": ["facts"], "facts": {"statements": "shared", "method": "search"}},
}
SOURCE = "DREAM, appendix D.3: over 15 claim pairs factuality falls about as 1 - r; no figures"
SOURCE_FACT = "DREAM, appendix D.3: over 15 claim pairs FACT stays at 100 %"


def corruption(
    rates: Sequence[float] = RATES,
    topics: int | None = None,
    seed: int = 0,
    data: Path = CLAIM_PAIRS,
    pairs: Sequence[Topic] | None = None,
) -> Experiment:
    """Return the experiment.

    Args:
        rates: shares of false claims, rounded to whole numbers of claims.
        topics: number of claim pairs, the first ones; None for all.
        seed: random seed for the order in which claims become false.
        data: a file of claim pairs.
        pairs: the paper's claim pairs, in place of a file.

    Raises:
        ConfigError: a rate is outside 0 to 1, there are too few different ones, or `topics` is out of range.
        InputError: the file cannot be used.
    """
    known = load_topics(data) if pairs is None else pairs
    chosen = taken(known, topics, "claim pairs")
    order = [topic.id for topic in chosen]
    random.Random(seed).shuffle(order)
    task = Task(id="beliefs", prompt=_request(chosen))
    conditions: list[Condition] = []
    versions: list[Version] = []
    for n_false in _counts(rates, len(chosen)):
        share = n_false / len(chosen)
        name = f"false-{n_false:02d}-of-{len(chosen):02d}"
        false = tuple(sorted(order[:n_false]))
        conditions.append(Condition(id=name, label=f"r={share:.2g}", x=share))
        trial = Trial(report=name, condition=name, unit="beliefs", planted=false)
        versions.append(Version(trial, _report(chosen, false), task))
    pages = tuple(page for topic in known for page in topic.pages)
    made, reports = design("corruption", conditions, versions, pages, seed)
    experiment = Experiment(
        made, reports, pages, PROTOCOLS, SETTINGS, TODAY, pairs is not None or data == CLAIM_PAIRS
    )
    return experiment.expecting(
        _expectations([condition.x for condition in conditions], published=experiment.published)
    )


def _counts(rates: Sequence[float], n: int) -> list[int]:
    """Return how many of `n` claims are false at each rate, each number once, ascending."""
    wrong = [rate for rate in rates if not 0 <= rate <= 1]
    if wrong:
        raise ConfigError(f"--rates: {wrong[0]} is not a share; use numbers from 0 to 1")
    counts = sorted({int(rate * n + 0.5) for rate in rates})
    if len(counts) < 2:
        raise ConfigError(
            f"--rates: of {n} claims, {counts[0] if counts else 0} would be false in every report; use rates that "
            "differ more, such as 0,1"
        )
    return counts


def _request(topics: Sequence[Topic]) -> str:
    matters = "\n".join(f"- {topic.matter}" for topic in topics)
    return f"Say in one sentence each, with a source, what is known of these common beliefs:\n{matters}"


def _report(topics: Sequence[Topic], false: Sequence[str]) -> str:
    """Return a report with one claim per paragraph, each with its own citation."""
    sides = [
        (topic.false_claim, topic.false_page) if topic.id in false else (topic.true_claim, topic.true_page)
        for topic in topics
    ]
    body = "\n\n".join(cited(claim, number) for number, (claim, _) in enumerate(sides, 1))
    return f"# Common beliefs\n\n## What is known\n\n{body}\n\n{listed([page for _, page in sides])}"


def _expectations(shares: Sequence[float], *, published: bool) -> list[Expectation]:
    falls = tuple(1 - share for share in shares)
    full, none = (1.0,) * len(shares), (0.0,) * len(shares)
    rows: list[tuple[str, str, Shape, tuple[float, ...], float]] = [
        ("dream", "factuality", "falls", falls, 100.0),
        ("deepresearcheval", "facts", "falls", falls, 100.0),
        ("dream", "citation/faithfulness", "flat", full, 100.0),
        ("fact", "citation_accuracy", "flat", full, 1.0),
        ("dream", "citation/attribution", "flat", full, 100.0),
        ("deer", "information_integrity/claim_factuality", "flat", full, 10.0),
        ("deer", "information_integrity/citation_support", "flat", full, 10.0),
        ("deer", "information_integrity/reference_support", "flat", full, 10.0),
        ("liveresearchbench", "accuracy/e3_rate", "flat", none, 1.0),
    ]
    figures: dict[str, dict[str, Any]] = {
        "factuality": {"paper": falls, "approximate": True, "source": SOURCE},
        "citation_accuracy": {"paper": full, "source": SOURCE_FACT},
    }
    return [
        Expectation(
            protocol=protocol,
            path=path,
            shape=shape,
            ideal=ideal,
            ideal_change=relative_change([(ideal[0], ideal[-1])]),
            scale=scale,
            **(figures.get(path, {}) if published else {}),
        )
        for protocol, path, shape, ideal, scale in rows
    ]
