"""Which tasks say the same as an earlier one.

Invariants: the method is the one that was chosen, or an error before anything is asked, never another instead; of two
that are the same the earlier stays; a task is compared only with those that stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from indexes.errors import IndexesError
from indexes.search.encoder import Encoder
from indexes.search.local import LocalEncoder
from local_judge.errors import ConfigError
from local_judge.lab.task_construction.model import Candidate, Likeness
from local_judge.lab.task_construction.settings import DuplicateSettings
from local_judge.tasks.alike import fingerprint, overlap

Similarity = Callable[[int, int], float]
"""Of two texts, by their positions."""


class Method(NamedTuple):
    """How tasks are compared."""

    name: str
    """With the digest of the model, where there is one."""
    compare: Callable[[Sequence[str]], Similarity]


def method_of(settings: DuplicateSettings, encoder: Encoder | None = None) -> Method | None:
    """The method that is set; None where duplicates are not looked for.

    Args:
        settings: of the build.
        encoder: in the place of the model that the settings name.

    Raises:
        ConfigError: there is no such embedding model, or it cannot be loaded; the message names the other method.
    """
    if settings.method == "off":
        return None
    if settings.method == "lexical":
        return Method("lexical", _lexical)
    try:
        used = encoder or LocalEncoder(Path(settings.model) if settings.model is not None else None)
        used.encode_documents(["a text"])  # what is missing is missed now, and not after hours of asking
    except IndexesError as error:
        raise ConfigError(
            f"duplicates: embeddings are not to be had: {error}; or choose the overlap of words "
            "(`--duplicates lexical`), or none (`--duplicates off`)"
        ) from None
    return Method(f"embedding {used.identity.revision}", partial(_cosine, used))


def likenesses(candidates: Sequence[Candidate], method: Method, at_least: float) -> list[Likeness]:
    """For each task, the earlier one that it is most like; the first of those that are equally like."""
    similarity = method.compare([candidate.prompt for candidate in candidates])
    standing: list[int] = []
    found: list[Likeness] = []
    for own, candidate in enumerate(candidates):
        # Rounded, so that noise in the last bits decides nothing.
        every = [(round(similarity(other, own), 6), other) for other in standing]
        nearest, other = max(every, key=lambda one: (one[0], -one[1]), default=(0.0, None))
        same = other is not None and nearest >= at_least
        of = None if other is None else candidates[other].id
        found.append(Likeness(id=candidate.id, of=of, similarity=nearest, same=same))
        if not same:
            standing.append(own)
    return found


def _lexical(texts: Sequence[str]) -> Similarity:
    marks = [fingerprint(text) for text in texts]
    return lambda one, other: overlap(marks[one], marks[other])


def _cosine(encoder: Encoder, texts: Sequence[str]) -> Similarity:
    if not texts:
        return lambda one, other: 0.0
    vectors = encoder.encode_documents(texts).astype(np.float64)
    cosines = vectors @ vectors.T
    return lambda one, other: float(cosines[one, other])
