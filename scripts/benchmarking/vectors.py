"""Vectors to measure dense search on: real ones, and more of their kind.

Invariant: real vectors are made once by the packaged MiniLM and kept outside the checkout under the digest of model and
texts; those derived from them are a function of them and of a seed.

More vectors than there are texts are made by moving real ones: noise of 0.3 to 0.8 of their length in a random
direction, which leaves cosines of 0.96 to 0.78 to the original, as between chunks on one subject.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from indexes.search.encoder import Encoder, EncoderIdentity
from indexes.search.model import Vectors

_AT_ONCE = 20_000


def cache_folder() -> Path:
    """Folder of stored vectors."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(cache).expanduser() / "local_judge" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def embedded(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    """Vectors of texts as documents, computed the first time."""
    key = hashlib.sha256(repr(encoder.identity.space).encode())
    for text in texts:
        key.update(f"{len(text)}:{text}".encode())
    path = cache_folder() / f"vectors-{key.hexdigest()[:16]}.npy"
    if not path.exists():
        part = path.with_suffix(".part.npy")
        np.save(part, encoder.encode_documents(texts))
        part.rename(path)
    return np.load(path)


def moved(real: Vectors, n: int, seed: int) -> Vectors:
    """`n` vectors near real ones drawn at random."""
    rng = np.random.default_rng(seed)
    dimension = real.shape[1]
    found = np.empty((n, dimension), np.float32)
    for begin in range(0, n, _AT_ONCE):
        size = min(_AT_ONCE, n - begin)
        noise = rng.standard_normal((size, dimension), dtype=np.float32) / np.float32(np.sqrt(dimension))
        noise *= rng.uniform(0.3, 0.8, (size, 1)).astype(np.float32)
        part = real[rng.integers(len(real), size=size)] + noise
        found[begin : begin + size] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return found


class KnownVectors:
    """An encoder whose vectors were made before: documents in order, queries by their text."""

    def __init__(self, documents: Vectors, queries: Sequence[str], query_vectors: Vectors) -> None:
        self.dimension = documents.shape[1]
        self.identity = EncoderIdentity(model="known", revision="known")
        self._documents = documents
        self._given = 0
        self._queries = dict(zip(queries, query_vectors, strict=True))

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the next vectors."""
        self._given += len(texts)
        return self._documents[self._given - len(texts) : self._given]

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of known queries."""
        return np.array([self._queries[text] for text in texts])


class HashedWords:
    """A cheap encoder, for measuring everything but an encoder: each text's vector is drawn by its hash."""

    dimension = 384
    identity = EncoderIdentity(model="hashed", revision="1")

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text."""
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts]
        found = np.array([np.random.default_rng(seed).standard_normal(384) for seed in seeds])
        return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)

    encode_queries = encode_documents
