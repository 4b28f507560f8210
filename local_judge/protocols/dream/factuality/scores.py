"""Factuality, 0 to 100 (DREAM, section 3 and appendix C).

    F             = 100 * (N_s + .5 N_p) / (N_s + N_p + N_c)        null where none was decided
    decided share = 100 * (N_s + N_p + N_c) / all labels

Unverifiable claims are in no denominator of F: one that was verified and 29 that could not be make 100. So F is to be
read beside the decided share.

Of several judges, the labels of all of them are counted together. A claim without a label is left out and may be
contradicted or supported; a sentence whose claims are not known may have one of the claims that are wanted and missing.

Invariant: an undefined F is null and counted, and is no zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from local_judge.protocols.base import Rated
from local_judge.protocols.dream.factuality.findings import FactLabel, FactualityFindings
from local_judge.protocols.scores import Score, ScoreNode

SCALE = 100.0
DECIDED: tuple[FactLabel, ...] = ("supported", "partially", "contradicted")
VALUES: dict[FactLabel, float] = {"supported": 1.0, "partially": 0.5, "contradicted": 0.0}
LABELS: tuple[FactLabel, ...] = (*DECIDED, "unverifiable")
Labels = Counter[FactLabel | None]
"""How many claims have each label; None counts those without."""

NO_CLAIM = "the report has no claim that can be verified"
NOTHING_DECIDED = "0/0: no claim was decided"


def score_factuality(judges: Sequence[FactualityFindings]) -> ScoreNode:
    """F of one report, with the decided share and the labels; one judge at least."""
    counts: Labels = Counter(fact.label for found in judges for fact in found.facts)
    n_lost = sum(min(found.n_lost, max(found.n_wanted - len(found.facts), 0)) for found in judges)
    n_failed = counts[None] + n_lost
    n_labels = sum(counts[label] for label in LABELS)
    children = [ScoreNode(id="decided", label="Decided share", score=_share(counts, n_labels, n_failed))]
    children += [
        ScoreNode(id=label, label=label.capitalize(), score=_count(counts[label], n_labels, n_failed, judges))
        for label in LABELS
    ]
    return ScoreNode(
        id="factuality",
        label="Factuality",
        score=_factuality(counts, n_labels, n_failed, _notes(judges)),
        children=tuple(children),
    )


def _factuality(counts: Labels, n_labels: int, n_failed: int, notes: list[str]) -> Score:
    n_decided = sum(counts[label] for label in DECIDED)
    total = sum(counts[label] * value for label, value in VALUES.items())
    if not n_decided and not n_failed:
        return Score(
            value=None,
            n_expected=n_labels,
            n_undefined=1,
            note="; ".join([NOTHING_DECIDED if n_labels else NO_CLAIM, *notes]),
        )
    decidable = n_decided + n_failed
    return Score(
        value=SCALE * total / n_decided if n_decided else None,
        numerator=total if n_decided else None,
        denominator=float(n_decided) if n_decided else None,
        n_expected=n_labels + n_failed,
        n_failed=n_failed,
        low=SCALE * total / decidable,
        high=SCALE * (total + n_failed) / decidable,
        note="; ".join(notes),
    )


def _share(counts: Labels, n_labels: int, n_failed: int) -> Score:
    n_decided, n = sum(counts[label] for label in DECIDED), n_labels + n_failed
    if not n:
        return Score(value=None, n_undefined=1, note=NO_CLAIM)
    return Score(
        value=SCALE * n_decided / n_labels if n_labels else None,
        numerator=float(n_decided) if n_labels else None,
        denominator=float(n_labels) if n_labels else None,
        n_expected=n,
        n_failed=n_failed,
        low=SCALE * n_decided / n,
        high=SCALE * (n_decided + n_failed) / n,
    )


def _count(n: int, n_labels: int, n_failed: int, judges: Sequence[FactualityFindings]) -> Score:
    """How many claims have a label: of several judges the mean."""
    value = n / len(judges)
    return Score(
        value=value,
        numerator=value,
        n_expected=n_labels + n_failed,
        n_failed=n_failed,
        low=value,
        high=value + n_failed / len(judges),
    )


def _notes(judges: Sequence[FactualityFindings]) -> list[str]:
    facts = [fact for found in judges for fact in found.facts]
    n_decided = sum(fact.label in DECIDED for fact in facts)
    counts = {
        "claims without a label": sum(fact.label is None for fact in facts),
        "sentences whose claims are not known, so that others might have been chosen": max(
            found.n_lost for found in judges
        ),
        "queries made by code": sum(query.by == "code" for fact in facts for query in fact.queries),
        "quotations that occur in no passage": sum(len(fact.rejected) for fact in facts),
    }
    decided = [f"{n_decided} of {len(facts)} decided"] if facts else []
    return decided + [f"{what}: {n}" for what, n in counts.items() if n]


def rated_factuality(found: FactualityFindings) -> tuple[Rated, ...]:
    """The label of each claim."""
    return tuple(
        Rated(metric="factuality", item=fact.id, value=fact.label, scale="nominal") for fact in found.facts
    )
