"""Filters of tasks: the need for research, the answer without search, and duplicates.

Invariants: a task is dropped only by a named rule, on values that are stored with the decision; a missing value of a
judge is never replaced by another. Duplicates are found by the chosen method, or there is an error before the first
model call; of two duplicates the earlier one stays, and a task is compared only with tasks that stay.

`upstream_needs_*` are DeepResearchEval's two filters on raw replies, without repairs (`task_generation`): the text
"false" is true, a missing confidence is 0, and a missing quality score is 1.

    needs deep research    needs_deep_research and confidence_score >= t
    needs a search         quality in {low, medium} and requires_search and quality_score <= t
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from indexes.errors import IndexesError
from indexes.search.encoder import Encoder
from indexes.search.local import LocalEncoder
from local_judge.base.errors import ConfigError
from local_judge.lab.task_construction.model import Assessment, Candidate, Likeness, Qualification
from local_judge.lab.task_construction.settings import BuildConfig, DuplicateSettings
from local_judge.tasks.alike import fingerprint, overlap

Similarity = Callable[[int, int], float]
"""Similarity of two texts, by their positions."""

QUALITIES = ("low", "medium")


class Verdict(NamedTuple):
    """Reasons for dropping a task; empty for a task that is kept."""

    reasons: tuple[str, ...]
    says: str
    values: dict[str, object]

    @property
    def kept(self) -> bool:
        """True if no rule drops the task."""
        return not self.reasons


def qualified(found: Qualification, config: BuildConfig) -> Verdict:
    """Apply filter 1 (DeepResearchEval): the task needs deep research, and the judge is confident enough of it.

    Confidence c and threshold t: `paper` keeps c > t, `upstream` c >= t.
    """
    sure = (
        found.confidence > config.confidence
        if config.profile == "paper"
        else found.confidence >= config.confidence
    )
    rule = "above" if config.profile == "paper" else "at least"
    reasons = {
        "needs_no_deep_research": (not found.needs_deep_research, "needs no deep research"),
        "not_confident": (not sure, f"confidence {found.confidence:g} is not {rule} {config.confidence:g}"),
    }
    values: dict[str, object] = {
        "needs_deep_research": found.needs_deep_research,
        "confidence": found.confidence,
        "threshold": config.confidence,
        "profile": config.profile,
    }
    return _verdict(reasons, values)


def necessary(found: Assessment, config: BuildConfig) -> Verdict:
    """Apply filter 2: the judge's answer from memory is poor, and search would improve it.

    Kept if the quality is one of `necessity.qualities`, search is required, and the score is at most `necessity.score`.
    """
    limits = config.necessity
    wanted = " or ".join(limits.qualities)
    reasons = {
        "answered_without_search": (
            found.quality not in limits.qualities,
            f"the answer without search is of {found.quality} quality, not {wanted}",
        ),
        "needs_no_search": (not found.requires_search, "a better answer needs no search"),
        "score_too_high": (
            found.score > limits.score,
            f"the answer without search scores {found.score:g}, above {limits.score:g}",
        ),
    }
    values: dict[str, object] = {
        "quality": found.quality,
        "score": found.score,
        "requires_search": found.requires_search,
        "qualities": list(limits.qualities),
        "threshold": limits.score,
    }
    return _verdict(reasons, values)


def _verdict(rules: dict[str, tuple[bool, str]], values: dict[str, object]) -> Verdict:
    broken = {name: says for name, (breaks, says) in rules.items() if breaks}
    return Verdict(tuple(broken), "; ".join(broken.values()), values)


def upstream_needs_deep_research(reply: Mapping[str, Any], threshold: float) -> bool:
    """Check whether the first filter keeps a task. Raises TypeError if the confidence is not a number."""
    return bool(reply.get("needs_deep_research", False)) and reply.get("confidence_score", 0.0) >= threshold


def upstream_needs_search(reply: Mapping[str, Any], threshold: float) -> bool:
    """Check whether the second filter keeps a task. Raises TypeError if the score is not a number."""
    poor = str(reply.get("overall_quality", "")).lower() in QUALITIES
    required = bool(reply.get("requires_search", False))
    return poor and required and reply.get("quality_score", 1.0) <= threshold


class Method(NamedTuple):
    """Method for comparing tasks."""

    name: str
    """Name, with the digest of the model if there is one."""
    compare: Callable[[Sequence[str]], Similarity]


def method_of(settings: DuplicateSettings, encoder: Encoder | None = None) -> Method | None:
    """Return the configured method; None if duplicates are kept.

    Args:
        settings: Settings of the build.
        encoder: Encoder to use instead of the configured model.

    Raises:
        ConfigError: The embedding model does not exist or cannot be loaded; the message names the other methods.
    """
    if settings.method == "off":
        return None
    if settings.method == "lexical":
        return Method("lexical", _lexical)
    try:
        used = encoder or LocalEncoder(Path(settings.model) if settings.model is not None else None)
        used.encode_documents(["a text"])  # a missing model fails here, not after hours of model calls
    except IndexesError as error:
        raise ConfigError(
            f"duplicates: embeddings are not available: {error}; or compare words with "
            "`--duplicates lexical`, or keep duplicates with `--duplicates off`"
        ) from None
    return Method(f"embedding {used.identity.revision}", partial(_cosine, used))


def likenesses(candidates: Sequence[Candidate], method: Method, at_least: float) -> list[Likeness]:
    """Return the most similar earlier task of each task; the first of equally similar ones."""
    similarity = method.compare([candidate.prompt for candidate in candidates])
    standing: list[int] = []
    found: list[Likeness] = []
    for own, candidate in enumerate(candidates):
        # Rounded, so that noise in the last bits does not decide.
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
