"""Words for lexical ranking, in any language.

Invariant: a pure function of the text: no dictionary, no locale, no model.

Compatibility forms are unified (NFKC) and case is folded. A number is one word, without thousands separators
(`39,218`, `39 218` with a no-break space and `39218` are equal) and with its decimals (`3.14`). Scripts
written without spaces (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) give overlapping pairs of
characters. No stop words, no stemming: IDF does the one, and the other would need a language.
"""

from __future__ import annotations

import re
import unicodedata

_SPACED_THOUSANDS = re.compile("(?<![\\d.,])\\d{1,3}(?:[\u00a0\u2009\u202f]\\d{3})+(?!\\d)")
_COMMA_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d)")
_NOT_DIGIT = re.compile(r"\D")
_POSSESSIVE = re.compile(r"['’]s\b")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"(?<![^\W_])\d+(?:\.\d+)+(?![^\W_])|[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]+")


def tokenise(text: str) -> list[str]:
    """The words of a text, in order."""
    text = _SPACED_THOUSANDS.sub(_digits, text)  # before NFKC makes these spaces ordinary ones
    text = unicodedata.normalize("NFKC", text).casefold()
    text = _POSSESSIVE.sub("", _COMMA_THOUSANDS.sub(_digits, text))
    words: list[str] = []
    for match in _WORD.finditer(text):
        word = match.group()
        if not word.isascii() and len(word) > 1 and _UNSPACED_RUN.fullmatch(word):
            words.extend(word[i : i + 2] for i in range(len(word) - 1))
        else:
            words.append(word)
    return words


def _digits(match: re.Match[str]) -> str:
    return _NOT_DIGIT.sub("", match.group())
