"""Sentences of pages that can be claims: whole, checkable, and understandable without context.

Invariant: a sentence is a span of its page's text, in one line and without markup. It has 6 to 60 words (12 to 120
characters in Chinese), contains a number, a name or a date, and neither opens with a word that points back nor has a
pronoun whose noun is in another sentence. In doubt a sentence is left out: a page has many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from local_judge.documents.sentences import split_sentences
from local_judge.lab.planting.lexicon import Patterns, read_table
from local_judge.lab.planting.model import Language

_NO_PROSE = re.compile(r"\s*(?:[#|>]|```|$)")
_LIST_MARK = re.compile(r"(?:[-*+•] |\d{1,2}[.)] )?\s*")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_SHORT = 10
"""A sentence of fewer words has to contain a proper noun or a year."""
_LONGEST = 320


class Stretch(NamedTuple):
    """A sentence with its offsets in the page's text."""

    start: int
    end: int
    text: str


class _Rules(NamedTuple):
    """The section of a language in `sentences.yaml`."""

    least: int
    most: int
    patterns: Mapping[str, re.Pattern[str]]
    must: Sequence[re.Pattern[str]]
    must_not: Sequence[re.Pattern[str]]


@cache
def _rules(language: Language) -> _Rules:
    data = read_table("sentences.yaml")[language]
    patterns = Patterns()
    named = patterns.compile_all(data["patterns"])
    must, must_not = ([patterns.compile(text) for text in data[key]] for key in ("must", "must_not"))
    return _Rules(data["least"], data["most"], named, must, must_not)


def stands_alone(sentence: str, language: Language) -> bool:
    """Check whether a sentence can be a claim."""
    rules = _rules(language)
    length = sentence.count(" ") + 1 if language == "en" else len(sentence)
    return (
        bool(sentence)
        and rules.least <= length <= rules.most
        and (_is_english if language == "en" else _is_chinese)(sentence, rules)
        and all(pattern.search(sentence) for pattern in rules.must)
        and not any(pattern.search(sentence) for pattern in rules.must_not)
    )


def standalone_sentences(text: str, language: Language) -> Iterator[Stretch]:
    """Yield the sentences of `text` that can be claims, in order."""
    position = 0
    for line in text.split("\n"):
        if not _NO_PROSE.match(line):
            for start, end in split_sentences(line, (), language):
                start += len(_LIST_MARK.match(line[start:end])[0])  # type: ignore[index]  # matches always
                sentence = line[start:end]
                if stands_alone(sentence, language):
                    yield Stretch(position + start, position + end, sentence)
        position += len(line) + 1


def _is_english(sentence: str, rules: _Rules) -> bool:
    return (
        len(sentence) <= _LONGEST
        and (sentence[0].isupper() or sentence[0].isdigit())
        and sentence.count("(") == sentence.count(")")
        and (sentence.count(" ") + 1 >= _SHORT or rules.patterns["named"].search(sentence) is not None)
        and _is_definite(sentence, rules)
    )


def _is_definite(sentence: str, rules: _Rules) -> bool:
    """Check that an opening `The council …` identifies the council: a name, a number or an `of` follows soon."""
    found = rules.patterns["definite"].match(sentence)
    if found is None:
        return True
    phrase = re.split(rf"\b{rules.patterns['verb'].pattern}\b", found[1], maxsplit=1)[0].partition(",")[0]
    return rules.patterns["anchor"].search(phrase) is not None


def _is_chinese(sentence: str, rules: _Rules) -> bool:
    return 2 * len(_HAN.findall(sentence)) >= len(sentence) and sentence.count("（") == sentence.count("）")
