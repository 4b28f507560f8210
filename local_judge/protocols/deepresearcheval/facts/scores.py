"""Active fact-checking as numbers.

    ratio = 100 * N_Right / N_Statements                               (section 4.2)

N_Statements are all statements with a label: Unknown, and labels that are none of the three, lower the ratio. The
paper's Table 4 agrees with this: in one row there are more statements (37.45) than Right, Wrong and Unknown together
(36.81), and its ratio is of the former.

Where the checked statements are a random sample of n from the N that were found, the interval of 95 % for the ratio of
the whole report stands beside the bounds (`stats.rates.population_interval`):

    interval = 100 * least(x, n, N) / (N + u) to 100 * (most(x + f, n, N) + u) / (N + u)

with x statements Right, f statements that failed, and at most u statements in the sentences that were not read.

Invariant: a statement without label is in neither number and opens the bounds, as Right and as not; the trees are the
same in both profiles.
"""

from __future__ import annotations

from local_judge.protocols.base import Rated
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings
from local_judge.protocols.deepresearcheval.facts.tally import Tally, label_of, tally
from local_judge.protocols.scores import Profile, Score, ScoreNode
from local_judge.stats.rates import population_interval

SCALE = 100.0

ROOT = ("facts", "Active fact-checking ratio")
COUNTS = {
    "statements": "Statements",
    "right": "Right",
    "wrong": "Wrong",
    "unknown": "Unknown",
    "off_label": "Other labels",
    "changed": "Labels that the evidence does not bear out",
    "found": "Statements found",
}
NO_STATEMENTS = "0/0: no statements"
AS_WRITTEN = "labels as in the file: their evidence was not looked up"


def score_facts(findings: FactsFindings, profile: Profile) -> ScoreNode:
    """The ratio of one report, with what it is made of."""
    counts = tally(findings, profile)
    score = ratio(counts)
    notes = [score.note] if score.note else []
    if len(findings.rulings) < len(findings.statements):
        notes.append(_chosen(findings))
    if findings.source == "file" and profile == "paper":
        notes.append(AS_WRITTEN)
    return ScoreNode(
        id=ROOT[0],
        label=ROOT[1],
        score=score.model_copy(update={"note": "; ".join(notes)} | _whole_report(findings, counts)),
        children=tuple(
            ScoreNode(id=id, label=COUNTS[id], score=one) for id, one in count_scores(counts).items()
        ),
    )


def _chosen(findings: FactsFindings) -> str:
    """Which statements the ratio is of."""
    said = f"{len(findings.rulings)} of {len(findings.statements)} statements were to be checked"
    if findings.choose == "seed":
        return f"{said}, drawn at random: the 95 % interval is for all {len(findings.statements)}"
    return f"{said}, salient ones first: no interval for the others" if findings.choose else said


def _whole_report(findings: FactsFindings, counts: Tally) -> dict[str, float]:
    """The interval for the ratio of all statements, where those checked are a random sample of them."""
    found = len(findings.statements)
    if findings.choose != "seed" or not 0 < counts.n < found:
        return {}
    least, _ = population_interval(counts.right, counts.n, found)
    _, most = population_interval(counts.right + counts.failed, counts.n, found)
    all_told = found + counts.missing
    return {
        "interval_low": SCALE * least / all_told,
        "interval_high": SCALE * (most + counts.missing) / all_told,
    }


def ratio(counts: Tally) -> Score:
    """The ratio; a sentence whose statements are not known counts as one that failed."""
    known, all_told = counts.known, counts.n + counts.more
    notes = [f"{counts.failed} of {counts.n} statements failed"] if counts.failed else []
    notes += [f"statements of {counts.unread} sentences unknown"] if counts.unread else []
    low = high = None
    if all_told:
        low = SCALE * counts.least(counts.right) / all_told
        high = SCALE * min(1.0, counts.most(counts.right) / all_told)
    return Score(
        value=SCALE * counts.right / known if known else None,
        numerator=float(counts.right) if known else None,
        denominator=float(known) if known else None,
        n_expected=counts.n + counts.unread,
        n_failed=counts.failed + counts.unread,
        n_undefined=int(not all_told),
        low=low,
        high=high,
        note="; ".join(notes) or ("" if all_told else NO_STATEMENTS),
    )


def count_scores(counts: Tally) -> dict[str, Score]:
    """The numbers of statements, by label."""
    by_label = {
        "right": counts.right,
        "wrong": counts.wrong,
        "unknown": counts.unknown,
        "off_label": counts.off,
        "changed": counts.changed,
    }
    found = {"statements": _count(counts, counts.n, counts.n, counts.n + counts.more)}
    found |= {
        name: _count(counts, number, counts.least(number), counts.most(number))
        for name, number in by_label.items()
    }
    found["found"] = _count(counts, counts.found, counts.found, counts.found + counts.missing)
    return found


def _count(counts: Tally, value: int, low: int, high: int) -> Score:
    return Score(
        value=float(value),
        numerator=float(value),
        n_expected=counts.n + counts.unread,
        n_failed=counts.failed + counts.unread,
        low=float(low),
        high=float(high),
    )


def rated_facts(findings: FactsFindings) -> tuple[Rated, ...]:
    """The label of each statement, as its evidence bears out."""
    texts = {one.id: f"{one.sentence} {one.text}" for one in findings.statements}
    return tuple(
        Rated(
            metric="facts",
            item=texts[ruling.statement],
            value=label_of(ruling, "paper"),
            scale="nominal",
        )
        for ruling in findings.rulings
    )
