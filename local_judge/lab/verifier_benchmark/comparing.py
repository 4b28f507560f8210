"""Verifiers against each other, on the labelled claims that both answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from local_judge.base.model import Frozen
from local_judge.lab.verifier_benchmark.answers import OVERLAP, Answer, Answers
from local_judge.lab.verifier_benchmark.measure import Partial
from local_judge.stats.calibration.assess import Settings
from local_judge.stats.paired_calls import CallComparison, PairedCall, compare_calls


class ComparedVerifiers(Frozen):
    """Two verifiers on the claims of a set."""

    set: str
    verifiers: tuple[str, str]
    found: CallComparison


def compared_verifiers(
    found: Sequence[Answers], settings: Settings, partial: Partial = "unsupported"
) -> Iterator[ComparedVerifiers]:
    """Yield each two verifiers on each set, by their verdicts at their own thresholds. The baseline has none.

    Args:
        found: answers of each verifier to the same rows.
        settings: of the bootstrap, over documents.
        partial: how rows labelled `partial` count.
    """
    judged = [one for one in found if one.verifier != OVERLAP]
    for first, second in combinations(judged, 2):
        for name in dict.fromkeys(answer.set for answer in first.answers):
            calls = [
                PairedCall(
                    one.document,
                    one.gold == "supported",
                    one.label == "supported",
                    other.label == "supported",
                )
                for one, other in zip(first.answers, second.answers, strict=True)
                if one.set == name and _counts(one, partial) and _counts(other, partial)
            ]
            yield ComparedVerifiers(
                set=name,
                verifiers=(first.verifier, second.verifier),
                found=compare_calls(calls, seed=settings.seed, draws=settings.draws),
            )


def _counts(answer: Answer, partial: Partial) -> bool:
    return answer.label is not None and (partial != "left_out" or answer.gold != "partial")
