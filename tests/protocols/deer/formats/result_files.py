"""The other result files of DEER as typed data, so that tests check the shape of what is written."""

from __future__ import annotations

from pydantic import StrictBool, StrictInt

from local_judge.base.model import Frozen
from local_judge.protocols.deer.export import Graded, Number, Parts


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
