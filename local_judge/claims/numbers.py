"""Numbers in statements.

Invariant: decided by code alone, so that two judges never disagree about it.
"""

from __future__ import annotations

import re

_WORDS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion dozen "
    "half halved third quarter twice double doubled triple tripled"
)
NUMBER_WORDS: tuple[str, ...] = tuple(_WORDS.split())
"""English words that say how many; with an "s" too."""
_NUMBER = re.compile(
    r"\d|[〇零二两三四五六七八九十百千万亿]+(?=[年月日个倍成%％元人次家项种级])|\b(?:"
    + "|".join(f"{word}s?" for word in NUMBER_WORDS)
    + r")\b",
    re.IGNORECASE,
)


def is_numeric(statement: str) -> bool:
    """True if `statement` holds digits, an English number word, or Chinese numerals before a measure word."""
    return _NUMBER.search(statement) is not None
