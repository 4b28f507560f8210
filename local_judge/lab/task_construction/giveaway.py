"""Whether a request gives away the answer that a report on it is to find.

Invariant: only code decides; what cannot be looked for is said to be so, and never passed for absent.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

RUN = 5
"""Words of a longer answer that say enough of it when they stand in a row."""

Checked = Literal["absent", "in_the_question", "not_checkable", "given_away"]

_WORD = re.compile(r"\d+(?:\.\d+)?|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]+")
"""A number, a character of a script that does not divide words, or a word."""


class Look(NamedTuple):
    """What became of looking for an answer."""

    found: Checked
    words: str = ""
    """Of the answer, as they stand in the request."""


def look(request: str, question: str, answer: str) -> Look:
    """Whether `request` has the answer, or `RUN` words of it in a row, that the question itself does not have.

    The letter of an option stands for the option's text, which may stand in the question and not in the request. Words
    are compared without case, numbers without separators of thousands. An answer without a word, or a letter without an
    option, cannot be looked for.
    """
    option = _option(question, answer)
    wanted = words(option if option is not None else answer)
    if not wanted or (option is None and len(answer.strip().strip(".()")) == 1 and wanted[0].isalpha()):
        return Look("not_checkable")
    there, known = words(request), words(question)
    width = min(RUN, len(wanted))
    runs = [wanted[start : start + width] for start in range(len(wanted) - width + 1)]
    unknown = [run for run in runs if option is not None or not _holds(known, run)]
    for run in unknown:
        if _holds(there, run):
            return Look("given_away", " ".join(run))
    return Look("absent" if unknown else "in_the_question")


def words(text: str) -> tuple[str, ...]:
    """The words and numbers of a text, folded."""
    # Spaces that hold a number together go before NFKC makes ordinary ones of them.
    whole = re.sub(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))", "", text)
    folded = unicodedata.normalize("NFKC", whole).casefold()
    joined = re.sub(r"(?<=\d)[,'\u2019](?=\d{3}(?!\d))", "", folded)
    return tuple(_WORD.findall(joined))


def _option(question: str, answer: str) -> str | None:
    letter = re.fullmatch(r"\(?([A-Z])[.)]?", answer.strip())
    if letter is None:
        return None
    found = re.search(rf"^\s*\(?{letter[1]}[.):]\s*(\S.*)$", question, re.MULTILINE)
    return found[1].strip() if found is not None else None


def _holds(text: tuple[str, ...], run: tuple[str, ...]) -> bool:
    return any(text[start : start + len(run)] == run for start in range(len(text) - len(run) + 1))
