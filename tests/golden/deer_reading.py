"""How DEER's published code reads a report: its labelled sentences and its list of references.

The evaluator parses reports by `local_judge.documents`; this is for comparing with the code's own findings.

Invariant: the mapping from index to URL is the code's, mistakes included. So is the block rule, exactly. The
sentence rule follows the decisions of Punkt (Kiss and Strunk 2006), which the code uses with parameters trained on
English news, as far as they can be had without these:

- followed: which marks can end a sentence and what must come after them; that a line break ends none; abbreviations,
  single letters and numbers before a full stop; ellipses; lower case after any of these; closing quotes and brackets,
  which stay with the sentence before them;
- in place of the trained list of abbreviations: `ABBREVIATIONS`, common ones that reports use. "al", "i.e" and "fig"
  are not among them, as they are not in Punkt's, so that "et al. (2020)" is cut;
- in place of what training saw of the case of words: `STARTERS`, function words that may begin a sentence. After an
  abbreviation, a single letter or an ellipsis, another capitalised word goes on with the sentence, where Punkt would
  sometimes cut;
- left out: the pairs of words that Punkt never separates.
"""

from __future__ import annotations

import re
from typing import NamedTuple

STOP_BLOCKS = frozenset({"## References", "Citations:"})
"""A block that is one of these, to the letter, ends the report."""

# Single words and pairs of initials: titles, forms of companies, months, states, and the like.
_ABBREVIATIONS = """
    capt col dr gen gov jr lt mr mrs ms prof rep rev sen sgt sr st
    bros co corp inc ltd
    jan feb aug sept oct nov dec
    ala ariz ark calif colo conn fla ga ill mass mich minn nev okla pa tenn tex va wash wis
    vs v a.m p.m d.c n.c n.h n.j n.y s.c u.n u.s
"""
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())

_STARTERS = """
    a after all although an and as at because before both but by despite during each for from he her his how however
    if in it its many most no nor of on one only or our she since so some such that the their then there these they
    this those though to under until we what when where whether which while who with you your
"""
STARTERS = frozenset(_STARTERS.split())

PATTERNS: tuple[re.Pattern[str], ...] = (
    # 1. Title <https://...>
    re.compile(r"(\d+)\..*?<(https?://[^>]+)>"),
    # 1. Title (https://...): greedy up to the last ")" before a "]", so that it can swallow the entries below
    # it
    re.compile(r"^(\d+)\..*?\((https?://[^\]]+)\)", re.MULTILINE),
    # [1] Title https://...: up to the next blank, closing punctuation included
    re.compile(r"\[([-\d]+)\][^\n]*?(https?://\S+)"),
)

LONGEST_WORD = 80
"""Characters looked at on either side of a mark."""

_CANDIDATE = re.compile(r"[.?!](?=[)\";}\]*:@'({\[!?]|\s+\S)")
"""A mark that may end a sentence: punctuation that is no part of a word, or another word, comes after it."""
_CLOSING = re.compile(r"[\"')\]}]+?(?:\s+|(?=--)|$)")
"""What closes a sentence after its mark."""
_ELLIPSIS = re.compile(r"\.\.+$")
_INITIAL = re.compile(r"[^\W\d]\.$")
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*\.$")
_INNER = re.compile(r".*[)\";}\]*:@'({\[!?]", re.DOTALL)
"""Up to the last character that cuts a word for Punkt."""


class Labelled(NamedTuple):
    """A report as the code shows it to the judge."""

    text: str
    """Headings, and sentences with their labels."""
    sentences: dict[str, list[str]]
    """Number of the block, from 1, -> its sentences."""


def label(report: str) -> Labelled:
    """The report with labels `Lx.Sy`, x the number of its block among all blocks, y that of the sentence in it.

    Blocks are what two line breaks in a row separate, empty ones included. The first line of a block that begins with
    "#" is a heading and bears no label; sentences of its further lines do.
    """
    lines: list[str] = []
    sentences: dict[str, list[str]] = {}
    for number, block in enumerate(report.split("\n\n"), 1):
        if block in STOP_BLOCKS:
            break
        stripped = block.strip()
        if not stripped:
            continue
        body = stripped
        if stripped.startswith("#"):
            heading, _, body = stripped.partition("\n")
            lines.append(heading)
        found = split_sentences(body)
        if found:
            sentences[str(number)] = found
            lines += [f"L{number}.S{index}: {sentence}" for index, sentence in enumerate(found, 1)]
            lines.append("")
    return Labelled("\n".join(lines), sentences)


def split_sentences(text: str) -> list[str]:
    """Sentences without white space around them."""
    cuts: list[int] = []
    for mark in _CANDIDATE.finditer(text):
        if _ends_sentence(text, mark.end()):
            closing = _CLOSING.match(text, mark.end())
            cuts.append(closing.end() if closing else mark.end())
    parts = [text[start:end].strip() for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return [part for part in parts if part]


def _ends_sentence(text: str, end: int) -> bool:
    """Whether the mark before `end` ends a sentence."""
    if text[end - 1] != ".":
        return True
    word = _INNER.sub("", text[max(end - LONGEST_WORD, 0) : end].split()[-1])
    (following,) = text[end : end + LONGEST_WORD].split(maxsplit=1)[:1] or [""]
    starts = following[:1].isupper() and _starts(following)
    if _is_abbreviation(word) or _ELLIPSIS.search(word):
        return starts
    if _INITIAL.fullmatch(word):
        return starts or not following[:1].isalpha()
    return not (_NUMBER.fullmatch(word) and following[:1].islower())


def _is_abbreviation(word: str) -> bool:
    bare = word.removesuffix(".").lower()
    return bare in ABBREVIATIONS or bare.rpartition("-")[2] in ABBREVIATIONS


def _starts(word: str) -> bool:
    return re.split(r"\W", word.lower(), maxsplit=1)[0] in STARTERS


def extract_references(text: str) -> dict[str, str]:
    """Index -> URL, one URL for each index.

    The patterns are tried in order; what one has matched is cut out before the next; a later match replaces
    an earlier one of the same index.
    """
    found: dict[str, str] = {}
    for pattern in PATTERNS:
        found.update((match[1], match[2]) for match in pattern.finditer(text))
        text = pattern.sub("", text)
    return found
