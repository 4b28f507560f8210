"""Citations of each claim of one sentence.

Invariants: code decides from the words of the sentence alone; every citation of the sentence stays with a claim of it;
in doubt a claim has all of them, and says so.

DEER's prompt has the judge name the citations of each claim (DEER, Figure 9): of "Founded in 1990 [1], it has 3,000
staff [2]." the first claim has [1] and the second [2]. Here a claim has the marks that end the part of the sentence in
which its words stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from indexes.text.tokens import tokenise
from local_judge.claims.model import Claim
from local_judge.documents.citation_styles import STYLES
from local_judge.documents.model import Document, Sentence

CLEAR = 3
"""A claim stands in a part if this part has as many times more of its words than all others."""


def cite_claims(document: Document, sentence: Sentence, claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims of a sentence, each with the citations of its part of the sentence.

    The parts are known if every mark follows one that a claim states; marks that are words of the sentence, and the
    cells of a table, do not show what they end. A claim after the last mark has no citation, unless the judge calls it
    cited (A).
    """
    parts = _parts(document, sentence)
    places = _places([words for words, _ in parts], [set(tokenise(claim.text)) for claim in claims])
    if len(claims) == 1 or not all(number in places for number, (_, marks) in enumerate(parts) if marks):
        places = [None] * len(claims)
    shared = len(claims) > 1 and (len(parts) > 1 or (not parts and len(sentence.citations) > 1))
    return [
        claim.model_copy(update={"shares_citations": shared})
        if place is None or (claim.type == "A" and not parts[place][1])
        else claim.model_copy(update={"citations": parts[place][1]})
        for claim, place in zip(claims, places, strict=True)
    ]


def most_uncited(document: Document, sentence: Sentence, most: int) -> int:
    """Return how many of the claims that a sentence may have, at most `most`, may be without a citation of it."""
    if not sentence.citations:
        return most
    return most - 1 if not all(marks for _, marks in _parts(document, sentence)) else 0


def _parts(document: Document, sentence: Sentence) -> list[tuple[set[str], tuple[str, ...]]]:
    """Return the words of each part of a sentence with the citations at its end; the last part may have none.

    Empty if marks do not show what they end.
    """
    citations = [document.citation(one) for one in sentence.citations]
    table = document.blocks[sentence.block].kind in ("table_row", "table_header")
    if table or any(STYLES[one.style].wording for one in citations):
        return []
    parts: list[tuple[set[str], tuple[str, ...]]] = []
    start = sentence.span.start
    for cited in sorted(citations, key=lambda one: one.span.start):
        words = set(tokenise(document.text[start : cited.span.start]))
        if words or not parts:
            parts.append((words, (cited.id,)))
        else:
            parts[-1] = (parts[-1][0], (*parts[-1][1], cited.id))
        start = cited.span.end
    rest = set(tokenise(document.text[start : sentence.span.end]))
    return [*parts, (rest, ())] if rest else parts


def _places(parts: Sequence[set[str]], claims: Sequence[set[str]]) -> list[int | None]:
    """Return the part in which each claim stands, by the words that no other claim and no other part has."""
    of_parts, of_claims = _single(parts), _single(claims)
    places: list[int | None] = []
    for claim in claims:
        shares = [len(part & claim & of_parts & of_claims) for part in parts]
        most = max(shares, default=0)
        clear = most > 0 and most >= CLEAR * (sum(shares) - most)
        places.append(shares.index(most) if clear else None)
    return places


def _single(texts: Iterable[set[str]]) -> set[str]:
    """Return the words that one text alone has."""
    return {word for word, n in Counter(chain.from_iterable(texts)).items() if n == 1}
