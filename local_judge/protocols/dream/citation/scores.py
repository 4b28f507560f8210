"""Citation integrity, 0 to 100 (DREAM, section 3.2 and appendix C.3).

    CA = 100 * cited claims / verifiable claims                        different claims; null where none is verifiable
    CF = 100 * (N_s + .5 N_p) / (N_s + N_p + N_neutral + N_contra)     null where none was decided
    CI = 2 CA CF / (CA + CF)                                           0 where both are 0, and where nothing is cited

    over reports    ci_dataset     2 A F / (A + F), A the mean of CA and F that of CF (C.3): the headline
                    ci_task_mean   the mean of CI, as section 3.2 may be read

`unverifiable` claims, whose sources are all dead, blocked, empty or without an address, are in CA as cited, not in CF,
and are counted. With `unsettled: unverifiable`, so are claims of which no source settles anything: N_neutral is 0. A
claim with several sources has the best of what they say. Of several judges, a claim's value (1, .5 or 0) is the mean of
those that have one.

Failures: a claim without a verdict, or whose page nobody fetched, may have any value between what its other sources
give and 1. A sentence whose claims are not known is taken for one verifiable claim. CI is known as far as the less
known of CA and CF.

Invariant: CI lies between its bounds, since it rises with CA and with CF.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, get_args

from local_judge.protocols.base import Rated
from local_judge.protocols.dream.citation.findings import (
    CheckedSource,
    CitationFindings,
    Outcome,
)
from local_judge.protocols.dream.means import mean_over
from local_judge.protocols.scores import Score, ScoreNode, known_share

SCALE = 100.0
VALUES: dict[Outcome, float] = {"supported": 1.0, "partial": 0.5, "neutral": 0.0, "contradicted": 0.0}
"""Of those that are in the denominator of CF."""
_BEST_FIRST: tuple[Outcome, ...] = ("supported", "partial", "contradicted", "neutral")
NOTHING_VERIFIABLE = "no claim can be verified"
NOTHING_CITED = "nothing is cited"
NOTHING_DECIDED = "every cited source is unverifiable"
_LABELS = {
    "citation": "Citation integrity",
    "attribution": "Claim attribution",
    "faithfulness": "Citation faithfulness",
    "ci_dataset": "of the means of both",
    "ci_task_mean": "mean over reports",
}


class Unit(NamedTuple):
    """A claim, or a claim and a source, by one judge."""

    outcome: Outcome
    known: float = 0.0
    """Of a `failed` one: the least that it has."""


def score_citation(judges: Sequence[CitationFindings]) -> ScoreNode:
    """CI of one report with CA and CF; one judge at least."""
    attribution, faithfulness = _attribution(judges[0]), _faithfulness(judges)
    notes = _left_out(judges[0]) + _unquoted(judges)
    return ScoreNode(
        id="citation",
        label=_LABELS["citation"],
        score=_integrity(attribution, faithfulness, _cites(judges[0]), "; ".join(notes)),
        children=(
            ScoreNode(id="attribution", label=_LABELS["attribution"], score=attribution),
            ScoreNode(
                id="faithfulness",
                label=_LABELS["faithfulness"],
                score=faithfulness,
                children=_counts(judges),
            ),
        ),
    )


def over_citation(reports: Sequence[Sequence[CitationFindings]], n_missing: int) -> ScoreNode:
    """CI over all reports of a system, by one judge or several.

    Args:
        reports: of each, the findings of each judge.
        n_missing: reports without findings.
    """
    nodes = [score_citation(judges) for judges in reports]

    def mean(*path: str) -> Score:
        return mean_over([node.find(*path).score for node in nodes], n_missing, 0.0, SCALE)

    attribution, faithfulness = mean("attribution"), mean("faithfulness")
    cited = any(_cites(judges[0]) for judges in reports)
    dataset = _integrity(attribution, faithfulness, cited, "")
    counts = {
        "n_expected": len(reports) + n_missing,
        "n_failed": max(attribution.n_failed, faithfulness.n_failed),
    }
    children = {
        "ci_dataset": dataset.model_copy(update=counts),
        "ci_task_mean": mean(),
        "attribution": attribution,
        "faithfulness": faithfulness,
    }
    return ScoreNode(
        id="citation",
        label=_LABELS["citation"],
        score=children["ci_dataset"],
        children=tuple(
            ScoreNode(id=name, label=_LABELS[name], score=score) for name, score in children.items()
        ),
    )


def _cites(found: CitationFindings) -> bool:
    return any(claim.sources for claim in found.claims) or found.lost_cited > 0


def harmonic(one: float, other: float) -> float:
    """The harmonic mean of two numbers from 0 on; 0 where one of them is."""
    return 2 * one * other / (one + other) if one + other else 0.0


def _integrity(attribution: Score, faithfulness: Score, cited: bool, note: str) -> Score:
    counts = {
        "n_expected": attribution.n_expected + faithfulness.n_expected,
        "n_failed": attribution.n_failed + faithfulness.n_failed,
    }
    if attribution.value is None and not attribution.n_failed:
        return Score(value=None, n_undefined=1, note=NOTHING_VERIFIABLE, **counts)
    if cited and faithfulness.value is None and not faithfulness.n_failed:
        # Whatever the claims are that CA lacks: CI is no failure of ours, and in no mean.
        return Score(value=None, n_expected=counts["n_expected"], n_undefined=1, note=NOTHING_DECIDED)
    value = None
    if attribution.value is not None and faithfulness.value is not None:
        value = harmonic(attribution.value, faithfulness.value)
    elif attribution.value is not None and not cited:
        value = 0.0
    shares = [share for part in (attribution, faithfulness) if (share := known_share(part)) is not None]
    return Score(
        value=value,
        known=min(shares, default=None),
        low=harmonic(attribution.low or 0.0, faithfulness.low or 0.0),
        high=harmonic(_high(attribution), _high(faithfulness)),
        note=note if cited else NOTHING_CITED,
        **counts,
    )


def _high(score: Score) -> float:
    return SCALE if score.high is None else score.high


def _attribution(found: CitationFindings) -> Score:
    """CA: the claims are the same for all judges."""
    n, n_cited = len(found.claims), sum(bool(claim.sources) for claim in found.claims)
    n_lost = found.lost_cited + found.lost_uncited
    if not n and not n_lost:
        return Score(value=None, n_undefined=1, note=NOTHING_VERIFIABLE)
    low = n_cited / (n + found.lost_uncited) if n + found.lost_uncited else 0.0
    high = (n_cited + found.lost_cited) / (n + found.lost_cited) if n + found.lost_cited else 0.0
    value = SCALE * n_cited / n if n else None
    return Score(
        value=value,
        numerator=float(n_cited) if n else None,
        denominator=float(n) if n else None,
        n_expected=n + n_lost,
        n_failed=n_lost,
        low=SCALE * low,
        high=SCALE * high,
        note=f"the claims of {n_lost} sentences are not known" if n_lost else "",
    )


def _faithfulness(judges: Sequence[CitationFindings]) -> Score:
    """CF: each unit's value is the mean of the judges that have one."""
    lost = judges[0].lost_cited
    total = low = high = 0.0
    n_decided = n_open = n_answers = n_failed = n_unverifiable = 0
    for units in zip(*(_units(found) for found in judges), strict=True):
        same = [unit for unit in units if unit.outcome != "unverifiable"]
        if not same:
            n_unverifiable += 1
            continue
        values = [VALUES[unit.outcome] for unit in same if unit.outcome != "failed"]
        failed = [unit for unit in same if unit.outcome == "failed"]
        n_answers += len(same)
        n_failed += len(failed)
        low += (sum(values) + sum(unit.known for unit in failed)) / len(same)
        high += (sum(values) + len(failed)) / len(same)
        n_open += 1
        if values:
            total += sum(values) / len(values)
            n_decided += 1
    n_all = n_open + lost
    notes = [f"{n_unverifiable} unverifiable, left out"] if n_unverifiable else []
    notes += [f"{n_failed + lost} of {n_answers + lost} without a verdict"] if n_failed + lost else []
    if not n_all:
        reason = NOTHING_DECIDED if n_unverifiable else NOTHING_CITED
        return Score(value=None, n_undefined=1, note="; ".join([f"0/0: {reason}", *notes]))
    value = SCALE * total / n_decided if n_decided else None
    known = [value] if value is not None else []
    return Score(
        value=value,
        numerator=total if n_decided else None,
        denominator=float(n_decided) if n_decided else None,
        n_expected=n_answers + lost,
        n_failed=n_failed + lost,
        low=min([SCALE * low / n_all, *known]),
        high=max([SCALE * (high + lost) / n_all, *known]),
        note="; ".join(notes),
    )


def _units(found: CitationFindings) -> list[Unit]:
    """What CF counts: the same units in the same order by every judge."""
    if found.unit == "pair":
        units = [Unit(source.outcome) for claim in found.claims for source in claim.sources]
    else:
        units = [best_of(claim.sources) for claim in found.claims if claim.sources]
    return [Unit(found.unsettled) if unit.outcome == "neutral" else unit for unit in units]


def best_of(sources: Sequence[CheckedSource]) -> Unit:
    """What the sources of one claim say of it together, by one judge.

    A verdict that failed leaves it open, unless another source supports the claim already.
    """
    outcomes = {source.outcome for source in sources}
    best: Outcome | None = next((outcome for outcome in _BEST_FIRST if outcome in outcomes), None)
    if "failed" in outcomes and best != "supported":
        return Unit("failed", 0.0 if best is None else VALUES[best])
    return Unit(best or "unverifiable")


def _counts(judges: Sequence[CitationFindings]) -> tuple[ScoreNode, ...]:
    """How many units have each outcome: of several judges the mean."""
    by_judge = [[unit.outcome for unit in _units(found)] for found in judges]
    failed = sum(outcomes.count("failed") for outcomes in by_judge)
    nodes: list[ScoreNode] = []
    for outcome in get_args(Outcome):
        n = sum(outcomes.count(outcome) for outcomes in by_judge) / len(judges)
        left_open = outcome in ("supported", "partial", "contradicted", judges[0].unsettled)
        nodes.append(
            ScoreNode(
                id=outcome,
                label=outcome.capitalize(),
                score=Score(
                    value=n,
                    numerator=n,
                    n_expected=sum(map(len, by_judge)),
                    n_failed=failed if left_open else 0,
                    low=n,
                    high=n + failed / len(judges) if left_open else n,
                ),
            )
        )
    return tuple(nodes)


def _left_out(found: CitationFindings) -> list[str]:
    counts = (
        (found.n_recaps, "recaps"),
        (found.n_own, "own or common"),
        (found.n_uncheckable, "uncheckable"),
    )
    listed = ", ".join(f"{n} {what}" for n, what in counts if n)
    return [f"claims left out: {listed}"] if listed else []


def _unquoted(judges: Sequence[CitationFindings]) -> list[str]:
    """Labels that should rest on a quotation and have none."""
    sources = [source for found in judges for claim in found.claims for source in claim.sources]
    telling = [one for one in sources if one.outcome in ("supported", "partial", "contradicted")]
    n = sum(one.quote is None for one in telling)
    return [f"{n} of {len(telling)} verdicts without a quotation that occurs in the page"] if n else []


def rated_citation(found: CitationFindings) -> tuple[Rated, ...]:
    """What the judge says of each claim and source that has a text; what nobody could show it is no opinion."""
    return tuple(
        Rated(
            metric="faithfulness",
            item=f"{claim.id} {source.url}",
            value=None if source.outcome == "failed" else source.outcome,
            scale="nominal",
        )
        for claim in found.claims
        for source in claim.sources
        if source.status == "ok"
    )
