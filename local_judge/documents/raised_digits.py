"""Readers of bare digits that are citations: raised (`¹`, `<sup>1</sup>`), after a full stop, or after a word.

Invariant: exponents, powers of units, isotopes and decimals are none. Digits that ordinary text has in the same place
are marked as uncertain.
"""

from __future__ import annotations

import re

from local_judge.documents.citation_keys import RAISED_DIGITS, known, numbers
from local_judge.documents.mark_text import Found, Reader, Text

_RAISED_RUN = r"[⁰¹²³⁴-⁹]{1,4}"
RAISED = rf"{_RAISED_RUN}(?:[\s,，⁻˒–‐-]{{0,2}}{_RAISED_RUN}){{0,20}}"
_RAISED_LIST = re.compile(RAISED)
_SUP = re.compile(r"<sup>\s{0,3}(\[?\^?\d[\d\s,，、;–-]{0,60}\]?)\s{0,3}</sup>", re.IGNORECASE)
_CARETS = re.compile(r"\^(\[?\d{1,3}(?:\s?[,–-]\s?\d{1,3}){0,20}\]?)\^")
_TEX_RAISED = re.compile(r"\$\s?\^\s?(?:\{\s?)?(\[?\d[\d\s,–-]{0,60}\]?)\s?\}?\s?\$")
_GLUED = re.compile(r"(\d{1,3}(?:\s?[,–]\s?\d{1,3}){0,10})(?=\s|$|[*_|]{1,3}(?:\s|$))")
_SPACED = re.compile(
    r"(\d{1,3}(?:, ?\d{1,3}){0,10})(?=[*_\"”’»)]{0,3}(?: ?[.。]|[,;:!?)，；：！？])(?:\D|$)|\s*(?:$|\n\n|\|))"
)
_WITHIN = re.compile(
    r"\d{1,3}(?= (?:and|but|so|yet|while|which|who|where|when|as|although|because|und|aber|sondern|wobei|während|et"
    r"|mais|qui|y|pero|e|ma|che) [^\W\d])"
)
"""Number before a word that joins clauses, unlike the 2 of "3 wheels, 2 of them new"."""
_AFTER_AMOUNT = re.compile(r"\d{1,3}(?=\s*$|\s+[A-ZÀ-Þ][^\WA-Z\d_])")
LOOSE = ","
"""Text shown of a number within a sentence, `came back, 3 and left`, or after an amount."""
_CELL_NUMBER = re.compile(r"\|\s?(\S{0,3}\d[\d.,]{0,12}) $")
_CELL_END = re.compile(r"\s*(?:\||$)")
_CLOSED = re.compile(r"(?:[^\W\d_]{3}|\d%|\d{3}(?=[”»]))[^\S\n]?[”\"’»)）」』%][*_]{0,3}$|\d%$")
"""End of a quotation, bracket or percentage, which a digit follows directly."""
_LOWER = re.compile(r"(?<!\w)[a-zß-öø-ÿ]{4,40}$")
_BEFORE_GLUED = re.compile(
    r"(?:[^\W\d_]|[%)\]”\"’'»*_）】」』]|(?<!\d)(?:1[6-9]|20)\d\d)([.,;:!?…。，；：！？؟।])[\"”’'»)*_）」』]{0,4}$"
)
_SMALL = re.compile(r"[*_\s]{0,4}[a-zß-öø-ÿ]")
UNIT = re.compile(
    r"(?:\d\s?[^\W\d_]+|(?<![^\W\d_])(?:[kcdmnµμ]m|ft|yd|mi|in|ha|sec|min|kg|mg|k?wh|hz|log|ln|sin|cos|tan|exp|chi"
    r"|(?-i:PM|[CNSX]O|[CNS]H|PO|Mn|Fe|Cu|Zn|Na|Ca|Mg|Al|Si|Cl|Br|He|Li|Be)))$",
    re.IGNORECASE,
)
"""Quantity, unit, function or symbol of a substance, of which a raised number is the power or charge."""
LAST_WORD = re.compile(r"([^\W\d_]+|%)[?!\"”’'»)*_）」』]{0,4}$")
"""Word before a mark, with the closing punctuation after it."""


def superscript(text: Text, start: int) -> Found | None:
    """Read raised digits that are a note's number: `¹,²`; `¹²` is 12, or 1 and 2 if the list has only these."""
    match = _RAISED_LIST.match(text.flat, start)
    if match is None:
        return None
    digits = match.group().translate(RAISED_DIGITS)
    apart = digits.isdigit() and digits not in text.labels and text.labels.issuperset(digits)
    return _raised(text, start, match.end(), ",".join(digits) if apart else digits, sure=False)


def raised_number(pattern: re.Pattern[str]) -> Reader:
    """Return a reader of raised numbers in markup: `<sup>1, 2</sup>`, `<sup>[1]</sup>`."""

    def read(text: Text, start: int) -> Found | None:
        match = pattern.match(text.flat, start)
        if match is None:
            return None
        written = match.group(1)
        return _raised(text, start, match.end(), written.strip("[]"), sure=written.startswith("["))

    return read


def _raised(text: Text, start: int, end: int, written: str, *, sure: bool) -> Found | None:
    keys = numbers(written, text.labels)
    certain = True if sure else _is_note(text, start, end, keys)
    word = LAST_WORD.search(text.flat, max(0, start - 40), start) if certain is False else None
    shown = word.group(1) if word is not None else ""
    return Found(end, keys, shown=shown, certain=certain) if keys and certain is not None else None


sup_element = raised_number(_SUP)
carets = raised_number(_CARETS)
tex_raised = raised_number(_TEX_RAISED)


def opens_word(flat: str, start: int, end: int) -> bool:
    """Check whether raised digits are the first characters of a word, as in `¹H`."""
    after, before = flat[end : end + 1], flat[max(0, start - 1) : start]
    return after.isalpha() and after < "\u2e80" and (not before or before.isspace() or before in "([{/–—-*_$")


def _is_note(text: Text, start: int, end: int, keys: tuple[str, ...]) -> bool | None:
    """Check whether raised digits are a note's number and not an exponent or a unit's power; None if they are none.

    They are at the end of a sentence and do not open a word. After a word they are if entries have all the numbers and
    the word has four letters or more, not all of them capitals, or is Chinese or Japanese. A shorter word that is no
    unit or symbol leaves it in doubt.
    """
    if opens_word(text.flat, start, end):
        return None
    listed = all(key in text.labels for key in keys)
    before = text.flat[max(0, start - 40) : start].rstrip(" *_")
    if before[-1:] in (")", "）"):
        inner = before[max(before.rfind("("), before.rfind("（")) + 1 : -1]
        return True if listed and re.search(r"[^\W\d_]{4}", inner) is not None else None
    if before[-1:] and before[-1] in ".,;:!?。，；：！？、”\"'’]":
        return True
    if len(keys) > 1 and listed and re.search("[,，、;–]", text.flat[start:end]):
        return True  # no power is a list
    word = re.search(r"[^\W\d_\u2070-\u209f\u2e80-\uffff]*$", before)
    letters = word.group() if word is not None else ""
    if not listed:
        return None
    if (len(letters) >= 4 and not letters.isupper()) or before[-1:] > "\u2e7f" or before.endswith("%"):
        return True
    return None if len(letters) < 2 or UNIT.search(before) else False


def glued(text: Text, start: int) -> Found | None:
    """Read, with doubt, a digit directly after a full stop: `word.1 Next`."""
    match = _GLUED.match(text.flat, start)
    stop = _BEFORE_GLUED.search(text.flat, max(0, start - 12), start) if match is not None else None
    if stop is None:
        return _after_amount(text, start) or _before_stop(text, start)
    if match is None or (stop.group(1) in ".!?" and _SMALL.match(text.flat, match.end())):
        return None
    keys = numbers(match.group(1), text.labels)
    return Found(match.end(1), keys, certain=False) if keys else None


def _after_amount(text: Text, start: int) -> Found | None:
    """Read, with doubt, a digit after an amount that ends a sentence: `a number of 140.1 Next`."""
    match = _AFTER_AMOUNT.match(text.flat, start) if text.flat[start - 2 : start - 1].isdigit() else None
    keys = known(match.group(), text.labels) if match is not None and text.flat[start - 1] == "." else ()
    return Found(match.end(), keys, shown=LOOSE, certain=False) if match is not None and keys else None


def _before_stop(text: Text, start: int) -> Found | None:
    """Read, with doubt, a digit directly after a quotation, a bracket or a long word: `“word”1 and words2.`."""
    closed = _CLOSED.search(text.flat, max(0, start - 12), start) if text.labels else None
    match = _SPACED.match(text.flat, start) or (_GLUED.match(text.flat, start) if closed else None)
    word = closed or _LOWER.search(text.flat, max(0, start - 40), start)
    keys = known(match.group(1), text.labels) if match is not None and word is not None else ()
    if match is None or word is None or not keys:
        return None
    quoted = closed is not None and not word.group().endswith("%")
    return Found(match.end(1), keys, shown="" if quoted else word.group(), certain=False)


def spaced(text: Text, start: int) -> Found | None:
    """Read, with doubt, a number between a word and a full stop: `word 1.`; the text keeps its blank."""
    match = _SPACED.match(text.flat, start) if text.labels else None
    keys = known(match.group(1), text.labels) if match is not None else ()
    if match is None or not keys:
        return None
    word = LAST_WORD.search(text.flat, max(0, start - 40), start - 1)
    if word is None:
        amount = _CELL_NUMBER.search(text.flat, max(0, start - 20), start)
        closes = amount is not None and _CELL_END.match(text.flat, match.end()) is not None
        return Found(match.end(1), keys, shown=amount.group(1), certain=False) if amount and closes else None
    name = word.group(1)
    short = len(name) < 3 and name != "%" and not name.isupper() and name[-1] < "\u2e80"
    return None if short else Found(match.end(1), keys, shown=word.group().rstrip("*_"), certain=False)


def within(text: Text, start: int) -> Found | None:
    """Read, with doubt, a number between two clauses: `came back, 3 and left`."""
    match = _WITHIN.match(text.flat, start) if text.flat[start - 3 : start - 2].isalpha() else None
    keys = known(match.group(), text.labels) if match is not None else ()
    return Found(match.end(), keys, shown=LOOSE, certain=False) if match is not None and keys else None
