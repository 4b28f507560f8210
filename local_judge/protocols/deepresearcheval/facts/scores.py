"""Scores of active fact-checking: one report by one judge or several, and over reports.

    ratio = 100 * N_Right / N_Statements          (DeepResearchEval, section 4.2)

N_Statements are all statements with a label: Unknown, and labels that are none of the three, lower the ratio.
This agrees with DeepResearchEval, Table 4: in one row there are more statements (37.45) than Right, Wrong and Unknown
together (36.81), and its ratio is of the former.

    paper      labels that their evidence supports (`findings.borne_out`)
    upstream   labels as the judge gave them: the published code takes every label as it is written, and a label that is
               none of the three stays among the statements; no published code counts them

If the checked statements are a random sample of n from the N that were found, the 95 % interval for the ratio of the
whole report is given beside the bounds (`stats.rates.population_interval`):

    interval = 100 * least(x, n, N) / (N + u) to 100 * (most(x + f, n, N) + u) / (N + u)

with x statements Right, f failed statements, and at most u statements in the sentences that were not read.

    system     100 * sum(w * N_Right) / sum(w * N_Statements), where w = N / n for a random sample, else 1: the
               stratified estimator, with reports as strata. Without samples this is the pooled ratio: all nine rows of
               DeepResearchEval, Table 4 are mean Right / mean Statements, which is the same
    interval   `stats.rates.stratified_interval`, from x and from x + f of each report, with the sum of u as above
    by report  mean of the reports' ratios, and of their numbers of statements by label, as in its columns. Of a
               random sample, the number of a label is w times that of the sample

Several judges vote on shared statements: the label with most votes wins. A tie leaves the label open, as missing
answers do. Judges with statements of their own have none in common to vote on: their scores are averaged. Labels that
their evidence does not support are counted for each judge.

Invariants: a statement without a label is in neither number and opens the bounds, as Right and as not Right. So does a
sentence whose statements are unknown, by as many as it may have, and a missing report, over the whole scale. A tie is
never the label Unknown, and each number has its own bounds over all labels that are left open. The order of the judges
does not matter. The trees are the same in both profiles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, get_args

from local_judge.base.failures import Failure
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings, Label, Ruling, read_label
from local_judge.scoring.algebra import count, mean_of, share, unknown
from local_judge.scoring.ensemble import mean_over_judges, mean_trees
from local_judge.scoring.node import Profile, Score, ScoreNode, node, noted
from local_judge.stats.rates import Stratum, stratified_interval

SCALE = 100.0
ROOT, LABEL = "facts", "Active fact-checking ratio"
CHANGED = "changed"
BY_LABEL: dict[str, Label] = {"right": "Right", "wrong": "Wrong", "unknown": "Unknown"}
COUNTS = {
    "statements": "Statements",
    **BY_LABEL,
    "off_label": "Other labels",
    CHANGED: "Labels that the evidence does not bear out",
    "checked": "Statements to be checked",
}
BY_REPORT = ("by_report", "Mean of the reports' ratios")
NO_STATEMENTS = "0/0: no statements"
AS_WRITTEN = "labels as in the file: their evidence was not looked up"
DIVIDED = Failure(kind="incomplete", detail="the judges are divided, or gave no answer")


def label_of(ruling: Ruling, profile: Profile) -> str | None:
    """Return a statement's label by a profile; None without a label."""
    return ruling.given or ruling.label if profile == "upstream" else ruling.label


def score_facts(judges: Sequence[FactsFindings], profile: Profile) -> ScoreNode:
    """Score the ratio of one report, with its parts."""
    return _by_judges(lambda findings: _of_report(findings[0], profile), [judges], profile)


def aggregate_facts(
    reports: Sequence[Sequence[FactsFindings]], profile: Profile, n_missing: int
) -> ScoreNode:
    """Score the pooled ratio of a system, with the means over its reports."""
    return _by_judges(lambda findings: _of_system(findings, profile, n_missing), reports, profile)


def _by_judges(
    score: Callable[[Sequence[FactsFindings]], ScoreNode],
    reports: Sequence[Sequence[FactsFindings]],
    profile: Profile,
) -> ScoreNode:
    """Score some reports by one judge; by several judges' votes, or by the mean of their scores."""
    own = [score(findings) for findings in zip(*reports, strict=True)]
    if len(own) == 1:
        return own[0]
    if any(findings.source != "shared" for judges in reports for findings in judges):
        return mean_trees([(one,) for one in own])[0]
    value, *sides = (
        score([vote_on_statements(judges, profile, side) for judges in reports]) for side in (None, *_SIDES)
    )
    return _open_bounds(value, sides, own)


def _open_bounds(value: ScoreNode, sides: Sequence[ScoreNode], own: Sequence[ScoreNode]) -> ScoreNode:
    """Return `value` with the bounds of all sides and the counts of all judges; all trees have the same nodes."""
    judges, settled = [one.score for one in own], [side.score for side in sides]
    if value.id == CHANGED:
        score = mean_over_judges(judges)
    else:
        score = value.score.model_copy(
            update={
                "low": _end(min, [one.low for one in settled], value.score.value, settled),
                "high": _end(max, [one.high for one in settled], value.score.value, settled),
                "interval_low": _end(min, [one.interval_low for one in settled]),
                "interval_high": _end(max, [one.interval_high for one in settled]),
                "n_expected": sum(judge.n_expected for judge in judges),
                "n_failed": sum(one.n_failed for one in judges),
                "n_undefined": sum(one.n_undefined for one in judges),
            }
        )
    same = zip(value.children, *(one.children for one in (*sides, *own)), strict=True)
    children = tuple(_open_bounds(first, rest[: len(sides)], rest[len(sides) :]) for first, *rest in same)
    return value.model_copy(update={"score": score, "children": children})


def _end(
    outermost: Callable[[Sequence[float]], float],
    ends: Sequence[float | None],
    value: float | None = None,
    settled: Sequence[Score] = (),
) -> float | None:
    """Return the outermost of some ends and the value; None for an end that a failure leaves open."""
    if None in ends and any(one.n_failed for one in settled):
        return None
    known = [end for end in (*ends, value) if end is not None]
    return outermost(known) if known else None


class Side(NamedTuple):
    """Way to settle open labels: for one label wherever possible, or against it."""

    label: str
    favoured: bool


_SIDES = [Side(label, favoured) for label in get_args(Label) for favoured in (True, False)]


def vote_on_statements(
    judges: Sequence[FactsFindings], profile: Profile, side: Side | None = None
) -> FactsFindings:
    """Return findings with the label of each statement by the judges' votes.

    Args:
        judges: findings of each judge about the same statements.
        profile: profile of the labels.
        side: way to settle missing answers and ties; None leaves ties undecided.
    """
    rulings = [
        _vote([label_of(ruling, profile) for ruling in same], same[0].statement, side)
        for same in zip(*(findings.rulings for findings in judges), strict=True)
    ]
    return judges[0].model_copy(update={"rulings": tuple(rulings)})


def _vote(labels: Sequence[str | None], statement: str, side: Side | None) -> Ruling:
    counts = Counter(label for label in labels if label is not None)
    most = max(counts.values(), default=0)
    n_missing = 0 if side is None else labels.count(None)
    # The missing answers may lift a label to the top, and a tie may be settled either way.
    possible = [label for label in (*get_args(Label), *sorted(counts)) if counts[label] + n_missing >= most]
    possible = [label for label in dict.fromkeys(possible) if counts[label] + n_missing]
    if side is None and len(possible) != 1:
        return Ruling(statement=statement, failure=DIVIDED)
    label = next(
        (one for one in possible if side is not None and (one == side.label) is side.favoured), possible[0]
    )
    return Ruling(statement=statement, label=read_label(label), given=label)


class Tally(NamedTuple):
    """Counts of labels, of one report or of several."""

    right: int
    wrong: int
    unknown: int
    off_label: int
    """Labels that are none of the three."""
    failed: int
    """Statements without a label."""
    unread: int
    """Sentences whose statements are unknown."""
    missing: int
    """Maximum number of statements in these sentences."""
    more: int
    """Maximum number of statements that `n` lacks because of them."""
    displaced: int
    """Maximum number of checked statements that theirs would have replaced under the limit."""
    changed: int
    """Labels of the judge that its evidence does not support."""
    found: int
    """Statements located, checked or not."""
    random: bool
    """Flag: if there are too many statements, those to be checked are drawn at random."""

    @property
    def drawn(self) -> bool:
        """Flag: the statements to be checked are a random sample of those that were located."""
        return self.random and 0 < self.n < self.found

    @property
    def weight(self) -> Fraction:
        """Number of statements of the report that a checked one stands for."""
        return Fraction(self.found, self.n) if self.drawn else Fraction(1)

    @property
    def whole(self) -> int:
        """Largest number of statements that the checked ones stand for."""
        return self.found + self.missing if self.random else self.n + self.more

    @property
    def known(self) -> int:
        """Statements with a label."""
        return self.right + self.wrong + self.unknown + self.off_label

    @property
    def n(self) -> int:
        """Statements to be checked."""
        return self.known + self.failed

    @property
    def n_expected(self) -> int:
        """Statements to be checked, and sentences that were not read."""
        return self.n + self.unread

    @property
    def n_failed(self) -> int:
        """Statements without a label, and sentences that were not read."""
        return self.failed + self.unread

    def ends(self, number: int) -> tuple[Fraction, Fraction]:
        """Return the least and the greatest value that a number of labels may have, on the scale of `whole`.

        Each statement of an unread sentence that does not have the label lowers a sum over reports, and each that has
        it raises it: both ends are those of the largest number of statements.
        """
        least, n = max(0, number - self.displaced), self.n + self.more
        most = min(number + self.failed + self.more + self.displaced, n)
        return Fraction(least * self.whole, n or 1), Fraction(most * self.whole, n or 1)


def _tally(findings: FactsFindings, profile: Profile) -> Tally:
    labels = [label_of(ruling, profile) for ruling in findings.rulings if ruling.failure is None]
    by_label = {id: labels.count(label) for id, label in BY_LABEL.items()}
    n, missing = len(findings.rulings), findings.most_unread
    more = missing if findings.limit is None else min(missing, findings.limit - n)
    return Tally(
        **by_label,
        off_label=len(labels) - sum(by_label.values()),
        failed=n - len(labels),
        unread=findings.n_unread,
        missing=missing,
        more=more,
        displaced=0 if findings.limit is None else min(missing, findings.limit) - more,
        changed=sum(
            ruling.given not in (None, ruling.label)
            for ruling in findings.rulings
            if findings.source != "file"  # its evidence was not looked up
        ),
        found=len(findings.statements),
        random=findings.choose == "seed",
    )


def _of_report(findings: FactsFindings, profile: Profile) -> ScoreNode:
    tally = _tally(findings, profile)
    score = noted(
        _ratio([tally._replace(random=False)]),
        _chosen(findings),
        AS_WRITTEN if findings.source == "file" and profile == "paper" else "",
    )
    return node(
        ROOT,
        LABEL,
        score.model_copy(update=_interval([tally])),
        (node(id, COUNTS[id], one) for id, one in _numbers(tally).items()),
    )


def _chosen(findings: FactsFindings) -> str:
    """Return a note on the statements that were checked; empty if all were."""
    n, found = len(findings.rulings), len(findings.statements)
    if n >= found:
        return ""
    note = f"{n} of {found} statements were to be checked"
    if findings.choose == "seed":
        return f"{note}, drawn at random: the 95 % interval is for all {found}"
    return f"{note}, salient ones first: no interval for the others" if findings.choose else note


def _interval(tallies: Sequence[Tally]) -> dict[str, float]:
    """Return the interval for the ratio of all statements of some reports, if it is known of random samples."""
    if not any(one.drawn for one in tallies) or not all(one.drawn or one.n == one.found for one in tallies):
        return {}
    least, _ = stratified_interval([Stratum(one.right, one.n, one.found) for one in tallies if one.n])
    _, most = stratified_interval(
        [Stratum(one.right + one.failed, one.n, one.found) for one in tallies if one.n]
    )
    missing = sum(one.missing for one in tallies)
    whole = sum(one.found for one in tallies) + missing
    return {"interval_low": SCALE * least / whole, "interval_high": SCALE * (most + missing) / whole}


def _of_system(reports: Sequence[FactsFindings], profile: Profile, n_missing: int) -> ScoreNode:
    tallies = [_tally(report, profile) for report in reports]
    numbers = [_numbers(one) for one in tallies]
    score = noted(_ratio(tallies), _estimator(tallies), first=True)
    score = score.model_copy(update={} if n_missing else _interval(tallies))
    if n_missing:
        score = noted(score, f"{n_missing} of the run's reports missing")
        score = score.model_copy(update={"low": 0.0, "high": SCALE})
    missing = [unknown(0.0, None)] * n_missing
    ratios = [_ratio([one._replace(random=False)]) for one in tallies]
    by_report = mean_of([*ratios, *[unknown(0.0, SCALE)] * n_missing])
    counts = (
        node(id, f"{label} a report", mean_of([*(own[id] for own in numbers), *missing]), mean=True)
        for id, label in COUNTS.items()
    )
    return node(ROOT, LABEL, score, (node(BY_REPORT[0], BY_REPORT[1], by_report, mean=True), *counts))


def _estimator(tallies: Sequence[Tally]) -> str:
    """Return a note on how the statements of several reports make one ratio."""
    n, found = sum(one.n for one in tallies), sum(one.found for one in tallies)
    if any(one.drawn for one in tallies):
        return f"stratified estimate: {n} of {found} statements drawn, reports weighted by statements found"
    return (
        "pooled"
        if n == found
        else f"pooled: {n} of {found} statements were to be checked, with equal weights"
    )


def _ratio(tallies: Sequence[Tally]) -> Score:
    """Return the ratio of one report or several; a sentence whose statements are unknown counts as failed."""
    failed, n = sum(one.failed for one in tallies), sum(one.n for one in tallies)
    n_unread = sum(one.unread for one in tallies)
    score = share(
        float(sum(one.weight * one.right for one in tallies)),
        float(sum(one.weight * one.known for one in tallies)),
        failed + sum(one.more for one in tallies),
        top=SCALE,
        n_expected=n + n_unread,
        empty=NO_STATEMENTS,
    )
    whole = sum(one.whole for one in tallies)
    if not whole:
        return score
    ends = zip(*(one.ends(one.right) for one in tallies), strict=True)
    low, high = (SCALE * float(sum(end)) / whole for end in ends)
    return noted(
        score.model_copy(update={"n_failed": failed + n_unread, "low": low, "high": high}),
        f"{failed} of {n} statements failed" if failed else "",
        f"statements of {n_unread} sentences unknown" if n_unread else "",
    )


def _numbers(tally: Tally) -> dict[str, Score]:
    """Return the numbers of statements, in total and by label; of a random sample, estimates for the report."""

    def number(value: Fraction | int, low: Fraction | int, high: Fraction | int) -> Score:
        score = count(float(value), float(high - value), n_expected=tally.n_expected, n_failed=tally.n_failed)
        return score.model_copy(update={"low": float(low)})

    labels = {id: getattr(tally, id) for id in (*BY_LABEL, "off_label", CHANGED)}
    return {
        "statements": number(tally.found, tally.found, tally.found + tally.missing),
        **{id: number(tally.weight * value, *tally.ends(value)) for id, value in labels.items()},
        "checked": number(tally.n, tally.n, tally.n + tally.more),
    }
