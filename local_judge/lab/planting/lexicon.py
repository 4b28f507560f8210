"""Word lists and regular expressions of the planting languages, read from YAML files of this package.

Invariant: every name that the code looks up is in the file of each language; `~` is a pattern that matches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, cast

from pydantic import Field, JsonValue

from local_judge.base.model import Frozen
from local_judge.base.strict_yaml import load_yaml
from local_judge.lab.planting.model import AlterationKind, Language

_NEVER = re.compile("(?!)")
Table = Mapping[str, Any]


class Context(NamedTuple):
    """Patterns of the text on either side of a match."""

    before: re.Pattern[str]
    behind: re.Pattern[str]


class Place(NamedTuple):
    """A match in a sentence; of a pattern with the group `it`, the match of that group."""

    match: re.Match[str]
    start: int
    end: int
    before: str
    """Text of the sentence before the whole match."""
    behind: str

    @property
    def text(self) -> str:
        """The matched text."""
        return self.match.string[self.start : self.end]

    def within(self, context: Context) -> bool:
        """Check whether either side of the match fits a context."""
        return context.before.search(self.before) is not None or context.behind.match(self.behind) is not None


def places(pattern: re.Pattern[str], sentence: str) -> Iterator[Place]:
    """Yield the places of a sentence that a pattern matches."""
    for match in pattern.finditer(sentence):
        start, end = match.span("it" if "it" in pattern.groupindex else 0)
        yield Place(match, start, end, sentence[: match.start()], sentence[match.end() :])


class Rewording(NamedTuple):
    """A wording and what replaces it."""

    find: re.Pattern[str]
    put: str
    """Template for `re.Match.expand`."""
    words: Mapping[str, str]
    """Replacements of particular texts, used instead of `put`."""
    places: Literal["all", "first", "only"]
    """`only`: the wording is replaced only if it occurs once."""
    unless: re.Pattern[str]
    """Sentences that stay as they are."""
    context: Context
    """Places that stay as they are."""
    before: re.Pattern[str]
    """Required text before the match."""


class Lexicon(NamedTuple):
    """Patterns, tables and rewordings of one language."""

    patterns: Mapping[str, re.Pattern[str]]
    contexts: Mapping[str, Context]
    tables: Mapping[str, Table]
    rewordings: Mapping[AlterationKind, tuple[Rewording, ...]]

    def places(self, name: str, sentence: str) -> Iterator[Place]:
        """Yield the places that the pattern `name` matches."""
        return places(self.patterns[name], sentence)


class _Rows(Frozen):
    """Rewordings that share their conditions."""

    rows: tuple[tuple[str, str], ...]
    places: Literal["all", "first", "only"] = "all"
    unless: str | None = None
    before: str = ""
    not_before: str | None = None
    not_behind: str | None = None
    words: str | dict[str, str] = Field(default_factory=dict[str, str])


class _Direction(Frozen):
    """An entry of `directions.yaml`."""

    word: str
    opposite: str
    ahead: str = ""
    behind: str = ""


class Patterns:
    """Regular expressions in which `{{name}}` stands for an earlier one, or for the keys of a table."""

    def __init__(self, tables: Mapping[str, Table] | None = None) -> None:
        self._texts: dict[str, str] = {}
        for name, table in (tables or {}).items():
            keys = sorted(map(re.escape, table), key=len, reverse=True)
            self._texts[name] = "|".join(keys)

    def compile(self, text: JsonValue) -> re.Pattern[str]:
        """Compile a text or a list of alternatives; None matches nothing."""
        return _NEVER if text is None else re.compile(self._filled(text))

    def compile_all(self, rows: Mapping[str, JsonValue]) -> dict[str, re.Pattern[str]]:
        """Compile patterns by name; each can refer to those before it."""
        found: dict[str, re.Pattern[str]] = {}
        for name, text in rows.items():
            found[name] = self.compile(text)
            self._texts[name] = self._filled(text) if text is not None else _NEVER.pattern
        return found

    def _filled(self, text: JsonValue) -> str:
        whole = f"(?:{'|'.join(cast('list[str]', text))})" if isinstance(text, list) else cast("str", text)
        return re.sub(r"\{\{(\w+)\}\}", lambda name: self._texts[name[1]], whole)


def read_table(name: str) -> Any:
    """Read a YAML file of this package."""
    return load_yaml(files("local_judge.lab.planting").joinpath(name).read_text(encoding="utf-8"))


def pairs(text: str) -> dict[str, str]:
    """Read `a:b c:d` as a mapping."""
    return dict(pair.split(":") for pair in text.split())


@cache
def lexicon(language: Language) -> Lexicon:
    """Return the lexicon of a language."""
    data = read_table(f"alterations/{'english' if language == 'en' else 'chinese'}.yaml")
    tables = {
        name: pairs(table) if isinstance(table, str) else table for name, table in data["tables"].items()
    }
    patterns = Patterns(tables)
    compiled = patterns.compile_all(data["patterns"])

    def reworded(group: _Rows) -> Iterator[Rewording]:
        words = tables[group.words] if isinstance(group.words, str) else group.words
        context = Context(patterns.compile(group.not_before), patterns.compile(group.not_behind))
        unless, before = patterns.compile(group.unless), patterns.compile(group.before)
        for find, put in group.rows:
            yield Rewording(patterns.compile(find), put, words, group.places, unless, context, before)

    rows: Any = {**data["rewordings"], **({"direction": _english_directions()} if language == "en" else {})}
    rewordings: dict[AlterationKind, tuple[Rewording, ...]] = {
        kind: tuple(row for group in groups for row in reworded(_Rows.model_validate(group)))
        for kind, groups in rows.items()
    }
    contexts = {
        name: Context(patterns.compile(sides.get("before")), patterns.compile(sides.get("behind")))
        for name, sides in data["contexts"].items()
    }
    return Lexicon(compiled, contexts, tables, rewordings)


_ADJECTIVE = r"[a-z]+(?:ed|ive|al|ous|ent|ant|ful|ic|able|ible|ing|ular|ated|ized|ised|ive|dense|diverse|remote|common)"


def _english_directions() -> list[_Rows]:
    """Return a row for each word of `directions.yaml`; a sentence with the word twice or its opposite stays."""
    rows = [_Direction.model_validate(row) for row in read_table("alterations/directions.yaml")]
    found: list[_Rows] = []
    for row in rows:
        ahead, behind = (text.replace("{{adjective}}", _ADJECTIVE) for text in (row.ahead, row.behind))
        for word, opposite in ((row.word, row.opposite), (row.opposite, row.word)):
            against = "|".join(
                other.opposite if word == other.word else other.word
                for other in rows
                if word in (other.word, other.opposite)
            )
            find = rf"{ahead}\b{word}\b{behind}"
            unless = rf"(?i:\b(?:{against})\b)|\b{word}\b.*\b{word}\b"
            found.append(_Rows(rows=((find, opposite),), places="first", unless=unless))
    return found
