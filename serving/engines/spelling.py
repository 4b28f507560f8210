"""How options are spelt by a server's tokens.

Invariant: the pieces of an option read, one after the other, as the option; one that no tokens spell is refused.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from serving.engines.sending import Servers
from serving.errors import UnsupportedRequest


class Piece(NamedTuple):
    """A part of an option."""

    text: str
    ids: tuple[int, ...]
    """Tokens that read so."""


class Spelling:
    """Options as the tokens of a model; each is asked for once."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._known: dict[str, tuple[Piece, ...]] = {}

    async def of(self, option: str) -> tuple[Piece, ...]:
        """The option as single tokens, with and without a space before it, or as the pieces that it takes.

        Raises:
            UnsupportedRequest: its tokens do not end where its characters do.
        """
        if option not in self._known:
            variants = [await self._tokens(text) for text in (option, f" {option}")]
            single = tuple(tokens[0] for tokens in variants if len(tokens) == 1)
            if single:
                self._known[option] = (Piece(option, single),)
            else:
                self._known[option] = await self._in_pieces(option, variants[0])
        return self._known[option]

    async def _in_pieces(self, option: str, tokens: list[int]) -> tuple[Piece, ...]:
        """The tokens of an option with their texts: one ends where the option so far is tokenized as it begins."""
        ends = [0]
        for end in range(1, len(option)):
            if await self._tokens(option[:end]) == tokens[: len(ends)]:
                ends.append(end)
        if len(ends) != len(tokens):
            model = (await self._servers.facts()).model
            raise UnsupportedRequest(
                f"option {option!r} is more than one token of {model}, and these do not spell it; use options "
                "such as A, B, C"
            )
        ends.append(len(option))
        texts = [option[start:end] for start, end in pairwise(ends)]
        return tuple(Piece(text, (token,)) for text, token in zip(texts, tokens, strict=True))

    async def _tokens(self, text: str) -> list[int]:
        model = (await self._servers.facts()).model
        body = {"model": model, "add_special_tokens": False, "prompt": text}
        return (await self._servers.tokenize(text, body)).tokens
