"""Terms of chunks and of queries.

Invariant: a chunk's terms are a function of its text, its language and the version of the stemmer. A word of a query
finds every form that it has in the index: its language is not known, so its terms are the different stems that the
word has under each analysis the index holds (and the word itself, where the index holds chunks without a stemmer).
A word given twice counts twice; a form common to two analyses counts once for a word.

An analysis is the name of a Snowball stemmer, or `plain`. Words are those of `indexes.text.tokens`: a number is one
word, scripts without spaces give pairs of characters, and neither is changed by a stemmer of another script.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import Stemmer

from indexes.text.tokens import tokenise

PLAIN = "plain"

SNOWBALL = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""Stemmers by ISO 639-1 code. An older PyStemmer has not all of them: a language without one is `plain`."""


def stemmer_version() -> str:
    """Return the version of the installed PyStemmer, whose releases contain the Snowball algorithms."""
    return version("PyStemmer")


def analysis_of(language: str) -> str:
    """The analysis of a language given as ISO 639-1 code or as a tag that begins with one."""
    name = SNOWBALL.get(language.replace("_", "-").split("-", 1)[0].lower(), PLAIN)
    return name if name in Stemmer.algorithms() else PLAIN


class Analyser:
    """Turns words into terms under one analysis."""

    def __init__(self, analysis: str) -> None:
        self.analysis = analysis
        # Words are remembered by whoever builds an index; the stemmer's own cache would only repeat them.
        self._stemmer = None if analysis == PLAIN else Stemmer.Stemmer(analysis, 0)

    def term(self, word: str) -> str:
        """The stem of a word, or the word where nothing would be left of it."""
        return word if self._stemmer is None else self._stemmer.stemWord(word) or word


class QueryAnalyser:
    """Turns queries into terms under all analyses of an index."""

    def __init__(self, analyses: Sequence[str]) -> None:
        self._analysers = [Analyser(analysis) for analysis in analyses]

    def terms(self, query: str) -> list[str]:
        """Terms in the order of the query's words; of one word, in the order of the analyses."""
        # What a command line could not decode matches nothing, and the stemmer takes no lone surrogates.
        words = tokenise(query.encode("utf-8", "replace").decode())
        terms: list[str] = []
        for word in words:
            terms.extend(dict.fromkeys(analyser.term(word) for analyser in self._analysers))
        return terms
