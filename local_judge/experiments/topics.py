"""Claim pairs: of each matter a true sentence and its false twin, and the pages of both sides.

Invariants: each sentence stands word for word in the page that a report cites for it, and on no other page; two of the
three pages of a matter say what is true, so that a search finds more truth than error.
"""

from __future__ import annotations

from pathlib import Path

from local_judge.errors import InputError
from local_judge.experiments.data_files import EntryId, Line, load_entries, occurs, once, packaged
from local_judge.experiments.model import PlainPage
from serving.types import Frozen

FILE = packaged("topics.yaml")
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


def load_topics(path: Path = FILE) -> tuple[Topic, ...]:
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
