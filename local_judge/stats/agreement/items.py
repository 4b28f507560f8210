"""Agreement of judges with people on single items: checklist verdicts, issues, statements, winners of comparisons.

People's label of an item is the one that more annotators gave than any other; for numbers, two labels agree if they are
equal. The papers report the share of items on which a judge agrees (LiveResearchBench, appendix C; DeepResearchEval,
section 5.3), or on which one of several judges does (LiveResearchBench), and DeepResearch Bench, appendix D the share
by people's label.

    agreement              items on which the judge agrees with people's label / items with both
    agreement_annotators   pairs of an item's answer and one annotator's label that agree / pairs
    kappa_WEIGHTS          Cohen's kappa of the judge and people's label; with quadratic weights for numbers
    difference             mean absolute difference from the labels of all annotators; numbers only
    people:LABEL           items that people call LABEL and the judge too / answered items that people call LABEL
    judge:LABEL            items that the judge calls LABEL and people too / labelled items that it calls LABEL

Invariants: an item is compared with the judges that have it, such as an issue with the one that listed it; without a
label that prevails, or without the judge's answer, it is compared with nothing and counted;
the bootstrap draws reports, whose items are no independent observations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import NamedTuple

from local_judge.stats.agreement import chance
from local_judge.stats.agreement.inter_judge import Answer, agreement_of_judges, coded
from local_judge.stats.agreement.ratings import Measure
from local_judge.stats.estimate import DRAWS, Estimate, Resamples, SumStatistic, undefined


class LabelledItem(NamedTuple):
    """One item with labels by people and answers by judges."""

    report: str
    """Report that it is about."""
    labels: dict[str, Answer]
    """Labels by annotator; at least one."""
    answers: dict[str, Answer]
    """Answers by judge, without judges that gave none."""
    judges: frozenset[str]
    """Judges that were asked, or whose own item it is."""

    @property
    def label(self) -> Answer | None:
        """Label that more annotators gave than any other; None if two share the first place."""
        (first, n), *others = Counter(self.labels.values()).most_common(2)
        return None if others and others[0][1] == n else first

    def agrees(self, judges: Sequence[str], label: Answer) -> bool | None:
        """Return whether one of those `judges` that have the item gave this label; None if an answer is missing."""
        own = [judge for judge in judges if judge in self.judges]
        known = [self.answers[judge] for judge in own if judge in self.answers]
        return True if label in known else False if len(known) == len(own) else None


def are_numbers(items: Sequence[LabelledItem]) -> bool:
    """Return whether all labels and answers are numbers."""
    return not any(isinstance(one, str) for one in _answers(items))


def _answers(items: Sequence[LabelledItem]) -> chain[Answer]:
    return chain.from_iterable((*one.labels.values(), *one.answers.values()) for one in items)


def agreement_with_labels(
    items: Sequence[LabelledItem], judges: Sequence[str], *, seed: int = 0, draws: int = DRAWS
) -> tuple[Measure, ...]:
    """Return the measures of one judge; of several judges, of which one has to agree, the first one or two.

    Without an item with two labels, there is no agreement with each annotator.

    Args:
        items: labelled items of one metric; those that none of the judges has are passed over.
        judges: names of the judges.
        seed: of the bootstrap over reports.
        draws: of each interval.
    """
    codes, factor = coded(list(_answers(items)))
    reports: dict[str, list[LabelledItem]] = {}
    for one in items:
        reports.setdefault(one.report, []).append(one)
    parts = [_sums(own, judges, codes) for own in reports.values()]
    drawn = Resamples(len(parts), draws, seed) if len(parts) > 1 else ()

    def share(id: str, label: str, unit: str, name: str) -> Measure:
        return Measure(id, label, unit, SumStatistic(parts, partial(_share, name=name)).estimate(drawn))

    rates = (share("agreement", "agreement", "items", "items"),)
    if any(len(one.labels) > 1 for one in items):
        rates = (*rates, share("agreement_annotators", "agreement, each annotator", "labels", "labels"))
    if len(judges) > 1:
        return rates
    numbers = are_numbers(items)
    weights: chance.Weights = "quadratic" if numbers else "unweighted"
    both = [
        [
            (codes[one.label], codes[one.answers[judge]])
            for one in own
            for judge in judges
            if one.label is not None and judge in one.answers
        ]
        for own in reports.values()
    ]
    kappa = chance.pooled_kappa([chance.cross(pairs, weights) for pairs in both], weights).estimate(drawn)
    rates = (*rates, Measure(f"kappa_{weights}", f"kappa, {weights}", "items", kappa))
    if numbers:
        apart = SumStatistic(parts, partial(_difference, factor=factor)).estimate(drawn)
        return (*rates, Measure("difference", "mean difference, each annotator", "labels", apart))
    return (
        *rates,
        *(
            share(f"{who}:{value}", f"{who}: {value}", "items", f"{who} {code}")
            for who in ("people", "judge")
            for value, code in sorted(codes.items(), key=lambda entry: entry[1])
        ),
    )


def agreement_of_annotators(
    items: Sequence[LabelledItem], *, seed: int = 0, draws: int = DRAWS
) -> tuple[Measure, ...]:
    """Return the agreement of people with each other; none if no item has two labels."""
    if all(len(one.labels) < 2 for one in items):
        return ()
    people = sorted({name for one in items for name in one.labels})
    reports: dict[str, dict[str, Mapping[str, Answer]]] = {}
    for number, one in enumerate(items):
        reports.setdefault(one.report, {})[str(number)] = one.labels
    scale: chance.Scale = "interval" if are_numbers(items) else "nominal"
    found = agreement_of_judges(list(reports.values()), people, scale, seed=seed, draws=draws)
    return (
        Measure("people_agreement", "agreement, two annotators", "label pairs", found.alike_pairs),
        Measure(f"alpha_{scale}", f"alpha, {scale}", "labels", found.alpha),
    )


def _sums(
    items: Sequence[LabelledItem], judges: Sequence[str], codes: Mapping[Answer, int]
) -> Mapping[str, int]:
    """Return what the shares of one report need: `NAME n`, `NAME hits`, and `NAME left` for what is left out."""
    sums: Counter[str] = Counter()

    def add(name: str, agrees: bool | None) -> None:
        sums[f"{name} left" if agrees is None else f"{name} n"] += 1
        sums[f"{name} hits"] += agrees is True

    for one in items:
        if one.judges.isdisjoint(judges):
            continue
        agrees = None if one.label is None else one.agrees(judges, one.label)
        add("items", agrees)
        for label in one.labels.values():
            add("labels", one.agrees(judges, label))
        answer = one.answers.get(judges[0])
        if answer is not None:
            sums["apart"] += sum(abs(codes[answer] - codes[label]) for label in one.labels.values())
            if one.label is not None:
                add(f"people {codes[one.label]}", answer == one.label)
                add(f"judge {codes[answer]}", answer == one.label)
    return sums


def _share(sums: Mapping[str, int], name: str) -> Estimate:
    n, left = sums.get(f"{name} n", 0), sums.get(f"{name} left", 0)
    if not n:
        return undefined("no such item with a label and an answer", 0, left)
    return Estimate(sums[f"{name} hits"] / n, n, left, sums[f"{name} hits"])


def _difference(sums: Mapping[str, int], factor: int) -> Estimate:
    n, left = sums.get("labels n", 0), sums.get("labels left", 0)
    if not n:
        return undefined("no such item with a label and an answer", 0, left)
    return Estimate(float(Fraction(sums["apart"], n * factor)), n, left)
