"""Embedding texts: what an encoder is, and the models whose use is known here.

Invariant: vectors of two encoders may be compared exactly if their identities have the same `space`. What is only
asked of queries (the query prompt) and what only computes (engine, versions) is recorded and may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from pydantic import Field

from indexes.search.errors import EncoderError
from indexes.search.model import Vectors
from local_judge.base.model import Frozen

Pooling = Literal["mean", "cls", "last_token"]


class EncoderIdentity(Frozen):
    """Everything that determines the vectors."""

    model: str
    revision: str
    """Digest of a local model's files, or what is known of the weights behind a server."""
    document_prompt: str = ""
    query_prompt: str = ""
    engine: dict[str, str] = Field(default_factory=dict)
    """Computing libraries with versions."""

    @property
    def space(self) -> tuple[str, str]:
        """Equal for encoders whose vectors of documents are the same, up to rounding."""
        return self.revision, self.document_prompt


class Encoder(Protocol):
    """Turns texts into vectors of length 1, so that inner products are cosines."""

    @property
    def dimension(self) -> int:
        """Dimension of a vector."""
        ...

    @property
    def identity(self) -> EncoderIdentity:
        """Everything that determines the vectors."""
        ...

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """One row a text. Raises EncoderError."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """One row a query. Raises EncoderError."""
        ...


class EncoderPreset(Frozen):
    """Recommended use of a model."""

    name: str
    dimension: int
    pooling: Pooling
    document_prompt: str = ""
    query_prompt: str = ""
    """Put before each query."""
    max_tokens: int
    """Longer texts are cut, where the encoder runs in this process."""


EVIDENCE_TASK = (
    "Given a statement or a question, find passages of web pages that prove it, refute it or answer it"
)
"""Qwen3-Embedding takes its task as a sentence in the form `Instruct: ...`, line feed, `Query:`."""


def _qwen3(size: str, dimension: int) -> EncoderPreset:
    return EncoderPreset(
        name=f"qwen3-embedding-{size}",
        dimension=dimension,
        pooling="last_token",
        query_prompt=f"Instruct: {EVIDENCE_TASK}\nQuery:",
        max_tokens=8192,
    )


PRESETS: dict[str, EncoderPreset] = {
    preset.name: preset
    for preset in (
        EncoderPreset(name="all-minilm-l6-v2", dimension=384, pooling="mean", max_tokens=256),
        EncoderPreset(name="bge-m3", dimension=1024, pooling="cls", max_tokens=8192),
        _qwen3("0.6b", 1024),
        _qwen3("4b", 2560),
        _qwen3("8b", 4096),
    )
}
"""Presets by name. Any other model is used as its own files state."""


def unit_vectors(found: Any, n: int, source: str) -> Vectors:
    """Vectors scaled to length 1.

    Args:
        found: rows of numbers, anything that numpy takes for an array.
        n: how many rows there must be.
        source: names the encoder in an error.

    Raises:
        EncoderError: another number of rows, numbers that are not finite, or a vector without a direction.
    """
    try:
        vectors = np.asarray(found, np.float64)
    except (TypeError, ValueError):
        raise EncoderError(f"{source} gave vectors of different lengths, or no numbers") from None
    if vectors.ndim != 2 or len(vectors) != n or vectors.shape[1] == 0:
        raise EncoderError(f"{source} gave an array of shape {vectors.shape} for {n} texts")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EncoderError(f"{source} gave a vector of length 0 or with numbers that are not finite")
    return (vectors / lengths).astype(np.float32)
