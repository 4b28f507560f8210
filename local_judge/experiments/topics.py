"""Claim pairs: of each matter a true sentence and its false twin, and the pages of both sides.

Invariants: each sentence stands word for word in the page that a report cites for it, and on no other page; of the
three pages of a matter, each on a host of its own, two say what is true, so that a search finds more truth than error.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import Field

from local_judge.experiments.data_files import DataError, load_entries, occurs, once
from local_judge.experiments.model import PlainPage
from serving.types import Frozen

FILE = "topics.yaml"
N_TOPICS = 15
"""As many pairs as the paper has."""


class Topic(Frozen):
    """One matter."""

    id: str = Field(min_length=1)
    matter: str = Field(min_length=1)
    """What it is about, in a few words that favour neither side."""
    true_claim: str = Field(min_length=1)
    false_claim: str = Field(min_length=1)
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


def load_topics() -> tuple[Topic, ...]:
    """The topics that come with the package, in the order of the file.

    Raises:
        DataError: they do not fit each other.
    """
    topics = load_entries(FILE, Topic)
    if len(topics) != N_TOPICS:
        raise DataError(f"{FILE}: {len(topics)} topics, not {N_TOPICS}")
    pages = [page for topic in topics for page in topic.pages]
    once(FILE, "id", [topic.id for topic in topics])
    once(FILE, "host", [urlsplit(page.url).netloc for page in pages])
    for topic in topics:
        for claim, home in ((topic.true_claim, topic.true_page), (topic.false_claim, topic.false_page)):
            occurs(FILE, topic.id, claim, home.text)
            for page in pages:
                if page is not home and claim in page.text:
                    raise DataError(f"{FILE}: {topic.id}: {claim!r} stands in {page.url} too")
    return topics
