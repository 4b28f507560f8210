"""The corruption sweep: a growing share of a report's claims is replaced by false ones with matching citations.

After DREAM (arXiv 2602.18940), the controlled experiment on factuality with 15 claim pairs: each false claim is cited
to a page that says the false thing. A claim pair is a true sentence and its false counterpart on one matter, with the
pages of both sides.

Invariants: what is false at one rate is false at every higher one; a claim has the same sentence, number and citation
in every report in which it is made, so that what is asked about it and its page is asked once; the web is the same.
Each sentence of a pair stands word for word in the page that a report cites for it, and on no other page; two of the
three pages of a matter say what is true, so that a search finds more truth than error.

A citation check alone sees nothing: each claim is what its page says. The rest of the web says what is true, so that a
score that searches it falls as 1 - r:

    ideal factuality = 1 - r      ideal citation faithfulness = 1      r = false claims / claims
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from local_judge.errors import ConfigError, InputError
from local_judge.lab.experiments.data_files import EntryId, Line, load_entries, occurs, once, packaged, taken
from local_judge.lab.experiments.model import (
    Condition,
    Design,
    Expectation,
    Experiment,
    PlainPage,
    Trial,
    cited,
    listed,
    texts_digest,
)
from local_judge.runs.inputs import RawReport
from local_judge.tasks.model import Task
from serving.types import Frozen

CLAIM_PAIRS = packaged("topics.yaml")
"""15 pairs, as many as the paper has."""


class Topic(Frozen):
    """One matter."""

    id: EntryId
    matter: Line
    """What it is about, in a few words that favour neither side."""
    true_claim: Line
    """One sentence."""
    false_claim: Line
    """One sentence."""
    true_page: PlainPage
    """Cited for the true claim."""
    second_page: PlainPage
    """Says what is true too; nobody cites it."""
    false_page: PlainPage
    """Cited for the false claim."""

    @property
    def pages(self) -> tuple[PlainPage, ...]:
        """All of them."""
        return (self.true_page, self.second_page, self.false_page)


def load_topics(path: Path = CLAIM_PAIRS) -> tuple[Topic, ...]:
    """The claim pairs of a file, in its order; by default those that come with the package.

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
                    raise InputError(f"{path}: {topic.id}: {claim!r} stands in {page.url} too")
    return topics


RATES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
TODAY = date(2026, 1, 1)
"""Any day will do: nothing in the pairs changes with time."""
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
    rates: Sequence[float] = RATES, topics: int | None = None, seed: int = 0, data: Path = CLAIM_PAIRS
) -> Experiment:
    """The experiment.

    Args:
        rates: shares of false claims, of which each becomes a whole number of claims.
        topics: take the first so many; None for all.
        seed: of the order in which claims become false.
        data: a file of claim pairs.

    Raises:
        ConfigError: a rate outside of 0 to 1, too few different ones, or no such number of topics.
        InputError: the file cannot be used.
    """
    known = load_topics(data)
    chosen = taken(known, topics, "claim pairs")
    counts = _counts(rates, len(chosen))
    order = [topic.id for topic in chosen]
    random.Random(seed).shuffle(order)
    task = Task(id="beliefs", prompt=_request(chosen))
    conditions: list[Condition] = []
    trials: list[Trial] = []
    reports: list[RawReport] = []
    for n_false in counts:
        share = n_false / len(chosen)
        name = f"false-{n_false:02d}-of-{len(chosen):02d}"
        false = tuple(sorted(order[:n_false]))
        conditions.append(Condition(id=name, label=f"r={share:.2g}", x=share))
        trials.append(Trial(report=name, condition=name, unit="beliefs", planted=false))
        text = _report(chosen, false)
        reports.append(RawReport(name, text.encode(), task, f"reports/{name}.md", task_id=task.id))
    pages = tuple(page for topic in known for page in topic.pages)
    design = Design(
        experiment="corruption",
        texts_sha256=texts_digest(reports, pages),
        seed=seed,
        conditions=tuple(conditions),
        trials=tuple(trials),
        expectations=_expectations([condition.x for condition in conditions]),
    )
    return Experiment(design, tuple(reports), pages, PROTOCOLS, SETTINGS, TODAY)


def _counts(rates: Sequence[float], n: int) -> list[int]:
    """How many of `n` claims are false at each rate, each number once, ascending."""
    wrong = [rate for rate in rates if not 0 <= rate <= 1]
    if wrong:
        raise ConfigError(f"--rates: {wrong[0]} is no share; take numbers from 0 to 1")
    counts = sorted({int(rate * n + 0.5) for rate in rates})
    if len(counts) < 2:
        raise ConfigError(
            f"--rates: of {n} claims, {counts[0] if counts else 0} would be false in every report; take rates that "
            "lie further apart, such as 0,1"
        )
    return counts


def _request(topics: Sequence[Topic]) -> str:
    matters = "\n".join(f"- {topic.matter}" for topic in topics)
    return f"Say in one sentence each, with a source, what is known of these common beliefs:\n{matters}"


def _report(topics: Sequence[Topic], false: Sequence[str]) -> str:
    """One claim a paragraph, each with a citation of its own."""
    sides = [
        (topic.false_claim, topic.false_page) if topic.id in false else (topic.true_claim, topic.true_page)
        for topic in topics
    ]
    body = "\n\n".join(cited(claim, number) for number, (claim, _) in enumerate(sides, 1))
    return f"# Common beliefs\n\n## What is known\n\n{body}\n\n{listed([page for _, page in sides])}"


def _expectations(shares: Sequence[float]) -> tuple[Expectation, ...]:
    falls = tuple(1 - share for share in shares)
    full = tuple(1.0 for _ in shares)
    none = tuple(0.0 for _ in shares)
    flat = [
        ("dream", "citation/attribution", 100.0, full),
        ("deer", "information_integrity/claim_factuality", 10.0, full),
        ("deer", "information_integrity/citation_support", 10.0, full),
        ("deer", "information_integrity/reference_support", 10.0, full),
        ("liveresearchbench", "accuracy/e3_rate", 1.0, none),
    ]
    return (
        Expectation(
            protocol="dream",
            path="factuality",
            shape="falls",
            ideal=falls,
            scale=100.0,
            paper=falls,
            approximate=True,
            source=SOURCE,
        ),
        Expectation(protocol="deepresearcheval", path="facts", shape="falls", ideal=falls, scale=100.0),
        Expectation(
            protocol="dream",
            path="citation/faithfulness",
            shape="flat",
            ideal=full,
            scale=100.0,
        ),
        Expectation(
            protocol="fact",
            path="citation_accuracy",
            shape="flat",
            ideal=full,
            paper=full,
            source=SOURCE_FACT,
        ),
        *(
            Expectation(protocol=protocol, path=path, shape="flat", ideal=ideal, scale=scale)
            for protocol, path, scale, ideal in flat
        ),
    )
