"""The tables of `scripts/bench_people`: verdicts against labels of people, next to targets and published verifiers.

Invariant: every figure is one of `local_judge.lab.verifier_benchmark`; this module chooses and prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, get_args

from local_judge.base.output import NONE
from local_judge.lab.labelled.load import AGGREFACT
from local_judge.lab.verifier_benchmark.answers import OVERLAP, Answers
from local_judge.lab.verifier_benchmark.evidence import EvidenceFigures
from local_judge.lab.verifier_benchmark.measure import Partial, SetFigures, ece_over_folds, figures_of
from local_judge.lab.verifier_benchmark.tables import benchmark_notes, counted, published
from local_judge.stats.calibration.assess import Assessment, Settings
from local_judge.stats.estimate import Estimate

OTHER_WORDS = "claims in other words"


class Target(NamedTuple):
    """Target of the figures of one set."""

    title: str
    partial: Partial
    floor: float
    """AUC of a baseline by words that was measured elsewhere, on part of the set."""
    auc: float
    balanced_accuracy: float
    called_wrong: float
    ece: float = 0.07


TARGETS = {
    "wice": Target("WiCE", "unsupported", 0.69, 0.88, 0.80, 0.20),
    "expertqa": Target("ExpertQA", "left_out", 0.51, 0.62, 0.59, 0.35),
    "factcheck": Target("Factcheck-Bench", "left_out", 0.72, 0.88, 0.80, 0.20),
}
TREATMENTS: tuple[Partial, ...] = get_args(Partial)
RECALL = 0.9
"""Target of the recall of supporting sentences at 1,000 tokens."""


class Measured(NamedTuple):
    """Figures of one verifier."""

    by_target: Mapping[str, SetFigures]
    """Figures by set, with partial support treated as the set's target says."""
    unsupported: Mapping[str, SetFigures]
    """Figures by set, with partial support as unsupported."""
    alone: Mapping[str, SetFigures]
    """The same figures, without the claims in other words in any fit."""
    other_words: SetFigures
    ece: Mapping[str, Estimate]
    """ECE by set of calibrations fitted to it, over divisions into folds, as `by_target`; none for the baseline."""


def measured(answers: Answers, other_words: Answers, settings: Settings) -> Measured:
    """Return the figures of a verifier.

    Args:
        answers: to the claims of the sets.
        other_words: to the packaged claims in other words.
        settings: of the fits and of the bootstrap.
    """
    fitted = answers._replace(fitting=other_words.answers)
    [packaged] = figures_of(other_words, settings)
    return Measured(
        figures_by_target(fitted, settings),
        {one.set: one for one in figures_of(fitted, settings)},
        figures_by_target(answers, settings),
        packaged,
        {} if answers.verifier == OVERLAP else _ece(answers, settings),
    )


def _ece(answers: Answers, settings: Settings) -> dict[str, Estimate]:
    by_treatment = {partial: ece_over_folds(answers, settings, partial) for partial in TREATMENTS}
    return {
        name: by_treatment[target.partial][name]
        for name, target in TARGETS.items()
        if name in by_treatment[target.partial]
    }


def print_all(
    floor: Measured, verifiers: Mapping[str, Measured], evidence: Sequence[EvidenceFigures]
) -> None:
    """Print all tables. A verifier is named without its settings where that is unique.

    Args:
        floor: word overlap on all claims.
        verifiers: figures by verifier, on the claims that the judge was asked about.
        evidence: of WiCE.
    """
    bases = [verifier.partition(":")[0] for verifier in verifiers]
    if len(set(bases)) == len(bases):
        for base, verifier in zip(bases, verifiers, strict=True):
            if base != verifier:
                print(f"{base}: {verifier}")
        verifiers = dict(zip(bases, verifiers.values(), strict=True))
    _published(floor, verifiers)
    _floor(floor)
    _verdicts(verifiers)
    _alone(verifiers)
    _other_words(verifiers)
    _evidence(evidence)


def _published(floor: Measured, verifiers: Mapping[str, Measured]) -> None:
    scores: dict[str, dict[str, float]] = {}
    sources: dict[str, dict[str, None]] = {}
    for one in published():
        if one.items.startswith(AGGREFACT):
            scores.setdefault(one.verifier, {})[one.set] = one.balanced_accuracy
            sources.setdefault(one.verifier, {})[one.source] = None
    lines = [
        [
            verifier,
            *(f"{own[name]:.3f}" if name in own else NONE for name in TARGETS),
            "; ".join(sources[verifier]),
        ]
        for verifier, own in sorted(scores.items(), key=lambda entry: -entry[1]["wice"])
    ]
    for verifier, found in verifiers.items():
        if verifier != OVERLAP:
            cells = [_balanced(found.unsupported[name].transferred) for name in TARGETS]
            fit = f"threshold fitted on the other sets and the {OTHER_WORDS}"
            lines.append([f"ours: {verifier}", *cells, f"{fit}; {_counts(found.unsupported)}"])
    cells = [_balanced(floor.unsupported[name].figures) for name in TARGETS]
    lines.append([f"ours: {OVERLAP}", *cells, f"threshold fitted out of fold; {_counts(floor.unsupported)}"])
    _table(
        "Verifiers with published figures: balanced accuracy, partial support counts as unsupported",
        ["verifier", *(target.title for target in TARGETS.values()), "source"],
        lines,
    )
    _table(
        "Published verifiers on other claims",
        ["verifier", "set", "AUC", "balanced accuracy", "claims", "source"],
        [
            [
                one.verifier,
                TARGETS[one.set].title,
                NONE if one.auc is None else f"{one.auc:.2f}",
                f"{one.balanced_accuracy:.2f}",
                one.items,
                one.source,
            ]
            for one in published()
            if not one.items.startswith(AGGREFACT)
        ],
    )


def _floor(floor: Measured) -> None:
    lines = [
        [
            target.title,
            counted(floor.by_target[name]),
            _auc(floor.by_target[name]),
            _auc(floor.unsupported[name]),
            f"{target.floor}",
        ]
        for name, target in TARGETS.items()
    ]
    packaged = floor.other_words
    lines.append([OTHER_WORDS, counted(packaged), NONE, _auc(packaged), NONE])
    heads = ["set", "claims", "as the target", "partial as unsupported", "elsewhere"]
    _table("Floor: AUC of word overlap on all claims", heads, lines)


def _verdicts(verifiers: Mapping[str, Measured]) -> None:
    lines: list[list[str]] = []
    for name, target in TARGETS.items():
        for verifier, found in verifiers.items():
            one = found.by_target[name]
            moved, balance = one.transferred, target.balanced_accuracy
            balanced, wrong = moved and moved.balanced_accuracy, moved and moved.called_wrong
            area, ece = one.figures and one.figures.auc, found.ece.get(name)
            lines.append(
                [
                    f"{target.title}, {counted(one)}",
                    verifier,
                    text(area, _least(area, target.auc)),
                    text(balanced, _least(balanced, balance)),
                    text(wrong, _most(wrong, target.called_wrong) and _least(balanced, balance)),
                    text(ece, _most(ece, target.ece)),
                    f"{one.cost.prompt_tokens:,.0f}" if one.cost else NONE,
                ]
            )
        wanted = [
            f"{target.auc}",
            f"{target.balanced_accuracy}",
            f"≤ {target.called_wrong}",
            f"≤ {target.ece}",
        ]
        lines.append([lines[-1][0], "target", *wanted, ""])
    heads = ["set", "verifier", "AUC", "balanced accuracy", "supported called unsupported", "ECE"]
    _table(
        "Verdicts: partial support counts as unsupported in WiCE and is left out of the other sets",
        [*heads, "prompt tokens per claim"],
        lines,
    )


def _alone(verifiers: Mapping[str, Measured]) -> None:
    lines = [
        [target.title, verifier, _balanced(moved), text(moved and moved.called_wrong)]
        for name, target in TARGETS.items()
        for verifier, found in verifiers.items()
        for moved in [found.alone[name].transferred]
    ]
    _table(
        f"Verdicts fitted without the {OTHER_WORDS}",
        ["set", "verifier", "balanced accuracy", "supported called unsupported"],
        lines,
    )


def _other_words(verifiers: Mapping[str, Measured]) -> None:
    lines: list[list[str]] = []
    for verifier, found in verifiers.items():
        own = found.other_words
        threshold = "0.5"
        if verifier == OVERLAP:
            threshold = "0.5, since none can be fitted" if own.why_not_fitted else "fitted"
        lines.append(_assessed(f"{verifier}, threshold {threshold}", own.figures))
        if verifier == OVERLAP:
            lines[-1][-1] = NONE  # a share of words is no probability
        else:
            lines.append(_assessed(f"{verifier}, fitted out of fold", own.fitted))
    _table(
        f"{OTHER_WORDS.capitalize()}: partial support counts as unsupported",
        ["verifier", "AUC", "balanced accuracy", "supported called unsupported", "ECE"],
        lines,
    )
    _table(
        f"{OTHER_WORDS.capitalize()}, by label and by share of words in the evidence",
        ["verifier", "group", "claims", "median P(yes)", "called supported", "supported called unsupported"],
        [
            [
                verifier,
                f"{facet}: {name}",
                f"{group.n}",
                NONE if group.median is None else f"{group.median:.2f}",
                text(group.called_supported),
                f"{text(own.called_wrong)} of {own.n_true}" if (own := group.figures) else NONE,
            ]
            for verifier, found in verifiers.items()
            for facet in ("label", "words in the evidence")
            for name, group in found.other_words.groups.get(facet, {}).items()
        ],
    )


def _assessed(name: str, one: Assessment | None) -> list[str]:
    figures = (
        [NONE] * 4 if one is None else map(text, (one.auc, one.balanced_accuracy, one.called_wrong, one.ece))
    )
    return [name, *figures]


def _evidence(evidence: Sequence[EvidenceFigures]) -> None:
    _table(
        f"Evidence and quotations of WiCE (target: recall {RECALL} at 1,000 tokens)",
        [
            "view, ranker, budget",
            "sentence recall",
            "whole sets",
            "tokens",
            "nearest sentence",
            "nearest two",
        ],
        [
            [
                one.verifier,
                f"{one.sentence_recall:.3f}",
                f"{one.whole_sets.value:.3f}",
                f"{one.tokens:,.0f}",
                f"{one.first.value:.3f}",
                f"{one.nearest.value:.3f}",
            ]
            for one in evidence
        ],
    )


def print_ways(ways: Sequence[Answers], settings: Settings) -> None:
    """Print how well each way to ask ranks the claims of each set, with partial support treated as its target says."""
    lines: list[list[str]] = []
    for way in ways:
        by_set = figures_by_target(way, settings)
        cells = [_auc(one) + (f", {one.failed} failed" if one.failed else "") for one in by_set.values()]
        tokens = fmean(
            [one.cost.prompt_tokens if one.cost else 0 for one in by_set.values()],
            weights=[one.n for one in by_set.values()],
        )
        lines.append([way.verifier, *cells, f"{tokens:,.0f}"])
    heads = ["way", *(target.title for target in TARGETS.values()), "prompt tokens per claim"]
    _table("Other ways to ask: AUC", heads, lines)


def print_notes(verifiers: Mapping[str, Measured]) -> None:
    """Print why figures of the sets are missing."""
    notes = [
        note for found in verifiers.values() for note in benchmark_notes([*found.by_target.values()], [])
    ]
    if notes:
        print("", *notes, sep="\n")


def figures_by_target(answers: Answers, settings: Settings) -> dict[str, SetFigures]:
    """Return the figures of each set, with partial support treated as its target says."""
    found = {
        partial: {one.set: one for one in figures_of(answers, settings, partial)} for partial in TREATMENTS
    }
    return {name: found[target.partial][name] for name, target in TARGETS.items()}


def _table(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table; nothing without lines. A first cell that is that of the line above is left empty."""
    if not lines:
        return
    print(f"\n{title}\n\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    above = ""
    for first, *rest in lines:
        print(f"| {' | '.join(['' if first == above else first, *rest])} |")
        above = first


def text(found: Estimate | None, reached: bool = False) -> str:
    """Return a figure with its interval, and a tick if it reaches its target."""
    if found is None or found.value is None:
        return NONE
    between = "" if found.low is None or found.high is None else f" ({found.low:.2f}–{found.high:.2f})"
    return f"{found.value:.3f}{between}{' ✓' if reached else ''}"


def _auc(one: SetFigures) -> str:
    return text(one.figures and one.figures.auc)


def _balanced(one: Assessment | None) -> str:
    return text(one and one.balanced_accuracy)


def _least(found: Estimate | None, target: float) -> bool:
    """Check whether a figure is there and at least its target."""
    return found is not None and found.value is not None and found.value >= target


def _most(found: Estimate | None, target: float) -> bool:
    """Check whether a figure is there and at most its target."""
    return found is not None and found.value is not None and found.value <= target


def _counts(sets: Mapping[str, SetFigures]) -> str:
    """Return the numbers of claims of all sets, or the one number of each."""
    assessed = [sets[name].figures for name in TARGETS]
    numbers = [f"{one.n if one else 0:,}" for one in assessed]
    return f"{numbers[0]} claims of each" if len(set(numbers)) == 1 else f"{', '.join(numbers)} claims"
