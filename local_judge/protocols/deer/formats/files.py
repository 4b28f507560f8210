"""DEER's result files as typed data.

Invariant: strict on shape (an unknown key, a missing one or another type is an error of one line that names the place),
tolerant of what the code itself writes: "N/A" for what has no value, and any number that a judge may have given. The
file of a rubric that is read to findings and written again is the same JSON.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeVar

from pydantic import StrictBool, StrictFloat, StrictInt, ValidationError

from local_judge.errors import InputError
from local_judge.protocols.deer.rubric.findings import Grade, RubricFindings
from serving.types import Frozen

NA = "N/A"
"""What the code writes for a score that does not exist."""

Number = StrictInt | StrictFloat
"""Written as the code's arithmetic left it: 5 and 5.0 are two things."""
Graded = Number | Literal["N/A"]
Parts = dict[str, dict[str, Graded]]
"""Dimension -> sub-dimension."""


class ItemScore(Frozen):
    """One answer of the judge."""

    description: str
    score: Graded


Items = dict[str, dict[str, dict[str, dict[str, ItemScore]]]]
"""Dimension -> sub-dimension -> criterion -> item."""


class ElementAverages(Frozen):
    """A criterion: its coverage mean, its quality mean, and the mean of the two."""

    c_avg: Graded
    q_avg: Graded
    element_avg: Graded


Elements = dict[str, dict[str, dict[str, ElementAverages]]]


class OthersFile(Frozen):
    """`others/<sample>.json`: the rubric of one report."""

    sample_id: int
    scores: Items
    element_avgs: Elements
    criteria_avgs: Parts
    score_avgs: dict[str, Graded]
    score: Graded


class AveragesFile(Frozen):
    """`{fact,others}/summary.json`, `final/<sample>.json` and `final.json`: dimensions and their parts."""

    score_avgs: dict[str, Graded]
    criteria_avgs: Parts


class FactClaim(Frozen):
    """One claim as the code keeps it: its class and verdict, without text or place."""

    claim_type: str
    result: str
    supported: StrictBool
    error: StrictBool
    is_numeric: StrictBool
    is_common: StrictBool
    is_internal: StrictBool
    is_external: StrictBool


class ClaimMetrics(Frozen):
    """All claims."""

    total_claims: StrictInt
    claim_type_counts: dict[str, StrictInt]
    claims: tuple[FactClaim, ...]


class CitationMetrics(Frozen):
    """Pairs of claim and URL, of classes A to C."""

    num_supported: StrictInt
    num_error_citations: StrictInt
    num_citations: StrictInt


class ReferenceMetrics(Frozen):
    """References and the URLs that claims lean on."""

    num_references: StrictInt
    num_unique_references: StrictInt
    num_supported: StrictInt
    num_used: StrictInt
    num_error: StrictInt
    num_reliable: StrictInt
    supported_references: tuple[str, ...]
    used_references: tuple[str, ...]
    error_references: tuple[str, ...]
    cited_counts: dict[str, StrictInt]
    citations_mean: Number
    citations_std: Number
    supported_cited_counts: dict[str, StrictInt]
    balance_supported_0_10: Number


class Counts(Frozen):
    """What the metrics are made of."""

    claim_metrics: ClaimMetrics
    citation_metrics: CitationMetrics
    reference_metrics: ReferenceMetrics


class Sufficiency(Frozen):
    """Coverage figures, and three amounts."""

    source_support: dict[str, Number]
    information: Number
    citations: Number
    references: Number


class RawFigures(Frozen):
    """Counts and figures before they are put on the scale."""

    raw: Counts
    integrity: dict[str, dict[str, Number]]
    sufficiency: Sufficiency


class FactFile(Frozen):
    """`fact/<sample>.json`: the verification of one report."""

    sample_id: int
    score_avgs: dict[str, Number]
    criteria_avgs: dict[str, dict[str, Number]]
    scores: dict[str, dict[str, dict[str, Number]]]
    raw: RawFigures


F = TypeVar("F", bound=Frozen)


def read_file(path: Path, model: type[F]) -> F:
    """A result file as `model`, one of the above.

    Raises:
        InputError: it cannot be read, is no JSON, or has another shape.
    """
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError(f"{path}: {where}: {first['msg']}") from None


def findings_of(file: OthersFile) -> RubricFindings:
    """The answers in a file of the published code. Raises ValueError for a score that is not a whole one from 1 to 10.

    The file does not say whether guidance was shown, nor what was quoted.
    """
    return RubricFindings(
        grades=tuple(
            _grade((dimension, part, criterion, id), item)
            for dimension, parts in file.scores.items()
            for part, criteria in parts.items()
            for criterion, items in criteria.items()
            for id, item in items.items()
        )
    )


def _grade(path: tuple[str, ...], item: ItemScore) -> Grade:
    if item.score == NA:
        return Grade(path=path, status="not_applicable", rationale=item.description)
    if not isinstance(item.score, int) or not 1 <= item.score <= 10:
        raise ValueError(f"{'.'.join(path)}: {item.score} is no whole number from 1 to 10")
    return Grade(path=path, status="scored", score=item.score, judged=item.score, rationale=item.description)
