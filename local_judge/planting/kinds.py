"""What can be made false in a statement.

Invariant: the words are the same wherever a statement is altered, by code or by a person.
"""

from __future__ import annotations

from typing import Literal, get_args

AlterationKind = Literal["number", "date", "name", "unit", "direction", "negation", "scope", "causal"]
"""What was changed: `direction` turns a comparison or a trend round, `scope` widens or narrows what is spoken of,
`causal` takes the effect for the cause, or puts another cause in the place of the one that the page gives."""
ALTERATIONS: tuple[AlterationKind, ...] = get_args(AlterationKind)

FalseKind = Literal[AlterationKind, "attribution", "foreign"]
"""Beside alterations: `attribution` gives a page's statement to another page on a kindred matter, `foreign` to one that
has nothing to do with it. Both are left word for word."""
FALSE_KINDS: tuple[FalseKind, ...] = (*ALTERATIONS, "attribution", "foreign")

Language = Literal["en", "zh"]
"""In which something can be planted."""
LANGUAGES: tuple[Language, ...] = get_args(Language)
