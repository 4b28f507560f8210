r"""Match between an extracted text and the one that a person marked.

Invariant: the definition of the article extraction benchmark of ScrapingHub (its `evaluate.py`), so that figures can be
set beside the published ones.

Tokens are runs of `\w`. A text is the multiset of its runs of four tokens (a shorter one is one run). With `tp` the
size of the intersection of two texts, `fp` of what the extracted one has beyond it and `fn` of what the marked one has
beyond it, a page's precision is `tp / (tp + fp)` and its recall `tp / (tp + fn)`. Both are averaged over pages,
leaving out those where they are not defined, and F1 is the harmonic mean of the averages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from statistics import fmean

_TOKEN = re.compile(r"\w+")
_RUN = 4
_NUMBERED = re.compile(r"^\d+\. ", re.MULTILINE)


def without_marks(markdown: str) -> str:
    """`markdown` without the numbers of its lists; all other marks are no tokens."""
    return _NUMBERED.sub("", markdown)


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Return the runs of four tokens of a text with their counts."""
    tokens = _TOKEN.findall(text)
    if not tokens:
        return Counter()
    return Counter(tuple(tokens[i : i + _RUN]) for i in range(max(1, len(tokens) - _RUN + 1)))


def scores(pairs: Iterable[tuple[str, str]]) -> tuple[float, float, float]:
    """Precision, recall and F1 over `(marked, extracted)` texts. ValueError if no page defines one of them."""
    precisions: list[float] = []
    recalls: list[float] = []
    for marked, extracted in pairs:
        wanted, found = shingles(marked), shingles(extracted)
        shared = (wanted & found).total()
        if found:
            precisions.append(shared / found.total())
        if wanted:
            recalls.append(shared / wanted.total())
    if not precisions or not recalls:
        raise ValueError("no page has a text")
    precision, recall = fmean(precisions), fmean(recalls)
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0
