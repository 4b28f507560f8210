"""How much two claims say the same.

Invariant: a similarity is symmetric, in [0, 1] for `lexical` and in [-1, 1] for `dense`, and depends on the two texts
alone.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from indexes.search.encoder import Encoder
from indexes.search.local import LocalEncoder

Name = Literal["lexical", "dense"]
Similarity = Callable[[Sequence[str], Sequence[str]], list[list[float]]]
"""Texts, texts -> one row for each of the first, with one figure for each of the second."""

THRESHOLDS: dict[Name, float] = {"lexical": 0.35, "dense": 0.5}
"""From which figure on two claims count as the same, where the user does not say. A pair has to stand on one sentence
as well, so the figure need only tell the claims of a sentence from each other."""
SIZES = (2, 3)
"""Lengths of the n-grams in characters: one word of Chinese has about two, and single letters are shared by all words
of a language that has an alphabet."""


def similarity_named(name: Name) -> Similarity:
    """The similarity of that name. Raises MissingExtra where `dense` has no model."""
    return lexical if name == "lexical" else dense(LocalEncoder())


def lexical(left: Sequence[str], right: Sequence[str]) -> list[list[float]]:
    """Mean over n = 2, 3 of the F-score of character n-grams: 2 |A ∩ B| / (|A| + |B|), A and B multisets.

    Case, full-width forms, spaces and punctuation do not count. A size of which neither text has an n-gram is left
    out; two texts without any are as similar as they are equal.
    """
    first, second = [_letters(text) for text in left], [_letters(text) for text in right]
    return [[_f_score(one, other) for other in second] for one in first]


def dense(encoder: Encoder) -> Similarity:
    """Cosine of the embeddings, to six places: equal texts then have equal figures."""

    def cosines(left: Sequence[str], right: Sequence[str]) -> list[list[float]]:
        if not left or not right:
            return [[] for _ in left]
        products = encoder.encode_documents(left) @ encoder.encode_documents(right).T
        return [[round(float(cosine), 6) for cosine in row] for row in products]

    return cosines


def _letters(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in folded if character.isalnum())


def _grams(letters: str, n: int) -> Counter[str]:
    return Counter(letters[i : i + n] for i in range(len(letters) - n + 1))


def _f_score(one: str, other: str) -> float:
    pairs = [(_grams(one, n), _grams(other, n)) for n in SIZES]
    scores = [2 * (a & b).total() / (a.total() + b.total()) for a, b in pairs if a or b]
    return sum(scores) / len(scores) if scores else float(one == other)
