"""Decision on a boundary that the segmenter finds: does the sentence go on?

Invariant: only text near the boundary decides: abbreviations, ordinal numbers, and a small letter after it.
"""

from __future__ import annotations

import re

from local_judge.base.files import word_list

CLOSERS = "\"'”’)）]」』】*_"
_ABBREVIATIONS = word_list("local_judge.documents", "abbreviations")
_NUMBERED = word_list("local_judge.documents", "abbreviations_before_numbers")
_STATES = word_list("local_judge.documents", "abbreviations_of_states")
_AFTER_STATE = re.compile(
    r"(?:[a-z0-9$€£%]|(?:Government|Congress|Senate|House|President|Supreme|Department|Treasury|Federal|Fed|Census|"
    r"Bureau|Army|Navy|Air|Food|FDA|EPA|SEC|GDP|GAAP|Bank|Securities|Dollar|Court|District|Security|Secretary|"
    r"General|Environmental|Geological|Patent|Postal|Customs|Energy|National|Centers|Pharmacopeia)\b)"
)
_DAY_OF_MONTH = re.compile(
    r"(?:Jan(?:uar|\.)|Jänner|Feb(?:ruar|\.)|März|April|Mai|Juni|Juli|Aug(?:ust|\.)|Sept(?:ember|\.)|Okt(?:ober|\.)"
    r"|Nov(?:ember|\.)|Dez(?:ember|\.))\b"
)
_ORDINAL = re.compile(r"(?:([^\W\d_]+)\s+)?(?:\d{1,3}|[IVXLC]{1,6})\.\s*$")
_SECOND_ORDINAL = re.compile(r"\d\.,? (?:und|oder|bis) \d{1,3}\.\s*$")
_BEFORE_ORDINALS = {
    "de": frozenset([
        "im", "am", "der", "die", "das", "dem", "den", "des", "zum", "zur", "vom", "beim",
        "ein", "eine", "einen", "einem", "einer", "eines", "jede", "jeden", "jedem", "jeder", "jedes",
    ]),
    "da": frozenset(["den", "det", "de", "i"]),
    "cs": frozenset(["v", "ve", "na", "do", "od", "dne", "dňa", "po", "ke", "k", "z", "ze"]),
    "pl": frozenset(["w", "na", "do", "od", "dnia", "z"]),
    "hu": frozenset(["a", "az"]),
    "hr": frozenset(["u", "na", "do", "od", "v"]),
}  # fmt: skip
"""Words before ordinal numbers, `im 2. Quartal`, in languages that write them so; nouns in lower case need none."""
_ORDINAL_LANGUAGES = {
    "und": "de", "no": "da", "nb": "da", "nn": "da", "sk": "cs", "sr": "hr", "bs": "hr", "sl": "hr",
}  # fmt: skip
_CARRY_ON_HAN = "等的，、；：。"
_LAST_WORD = re.compile(r"(?:^|[\s(（\[“\"'‘/—–-])([^\W\d_][\w.]{0,11})\.\s*$")


def continues(before: str, following: str, language: str) -> bool:
    """Check whether a boundary of the segmenter lies within a sentence."""
    end = before.rstrip()[-1:]
    # No sentence begins with a small letter, except for names such as `iPhone`.
    if (end in (".", "]", ")") or end.isalnum()) and following[0].islower() and not following[1:2].isupper():
        return True
    if end in CLOSERS and following[0] in _CARRY_ON_HAN:
        return True
    if _is_ordinal(before, following, language):
        return True
    match = _LAST_WORD.search(before[-24:])
    word = match.group(1).lower() if match is not None else ""
    if word in _NUMBERED:
        return following[:1].isdigit() or (following[:1] in "(S" and following[1:2].isdigit())
    if word in _STATES:
        return _AFTER_STATE.match(following) is not None
    return word in _ABBREVIATIONS


def _is_ordinal(before: str, following: str, language: str) -> bool:
    """Check whether a number with a full stop is an ordinal: `im 2. Quartal`, `bis 31. Dezember`."""
    match = _ORDINAL.search(before) if language != "en" else None
    if match is None:
        return False
    words = _BEFORE_ORDINALS.get(_ORDINAL_LANGUAGES.get(language, language), frozenset[str]())
    return (
        (match[1] or "").lower() in words
        or _SECOND_ORDINAL.search(before) is not None
        or _DAY_OF_MONTH.match(following) is not None
    )
