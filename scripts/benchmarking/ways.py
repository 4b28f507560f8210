"""Other ways to ask whether a text supports a claim, compared by `scripts/bench_people --ways`.

Invariant: all ways ask about the same evidence, by the log-probabilities of a closed set of answers. The value of a way
is the log-odds that the claim is supported; a verdict is `supported` from 0 on.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from indexes.model import Page
from indexes.snapshot import Snapshot
from local_judge.base.failures import Failure
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import PageEvidence, evidence_groups
from local_judge.claims.model import Claim, Verdict
from local_judge.claims.yes_no import OPTIONS, SUPPORTED, SUPPORTS, question
from local_judge.judge.judge import Judge
from local_judge.ledger.calibrations import sigmoid
from local_judge.prompts import Prompt, fence

Logs = Mapping[str, float]
"""Log-probabilities of the answers."""


class Case(NamedTuple):
    """A claim with its evidence."""

    claim: Claim
    evidence: PageEvidence

    def prompt(self, asked: str) -> Prompt:
        """Return a prompt of the page, the claim and a question."""
        own = f"{fence(self.claim.text, 'Claim:')}\n\n{asked}"
        return Prompt(shared=self.evidence.shared, own=own, prefix_key=self.evidence.prefix_key)


def first_of(logs: Logs) -> float:
    """Log-odds of the first answer against all others."""
    first, *others = logs.values()
    most = max(others)
    return first - most - math.log(math.fsum(math.exp(one - most) for one in others))


@dataclass(frozen=True)
class Way:
    """A way to ask."""

    prompts: Callable[[Case], Sequence[Prompt]]
    combined: Callable[[Sequence[float]], float] = fmean
    """Makes one number of the log-odds of all prompts."""
    options: tuple[str, ...] = OPTIONS
    """Answers, the one for support first."""

    async def verify(
        self, config: ClaimsConfig, page: Page, claims: Sequence[Claim], snapshot: Snapshot, judge: Judge
    ) -> list[Verdict]:
        """Return one verdict per claim, in order; `config` has the limits of the evidence."""
        cases = [
            Case(claim, evidence)
            for evidence, group in evidence_groups(page, claims, snapshot, config)
            for claim in group
        ]
        return await asyncio.gather(*(self._verify(case, judge) for case in cases))

    async def _verify(self, case: Case, judge: Judge) -> Verdict:
        asked = await asyncio.gather(*(judge.choose(prompt, self.options) for prompt in self.prompts(case)))
        verdict = Verdict(claim=case.claim.id, url=case.evidence.page.url, label=None, method="scored")
        found = [one for one in asked if not isinstance(one, Failure)]
        replies = tuple(one.reply for one in found)
        for one in asked:
            if isinstance(one, Failure):
                return verdict.model_copy(update={"failure": one, "replies": replies})
        value = self.combined([first_of(one.logprobs) for one in found])
        return verdict.model_copy(
            update={
                "label": "supported" if value >= 0 else "not_found",
                "confidence": sigmoid(value),
                "replies": replies,
            }
        )


LABELS = (
    "Is this claim supported by the text above, unsupported by it, or unknown because the text does not say enough? "
    "Answer Supported, Unsupported or Unknown."
)
_JOINT = re.compile(r"(?:[,;]\s+|\s+)(?:and|but|which|who|where|while|because)\s+|[,;]\s+")
_LEAST_WORDS = 4


def parts_of(text: str) -> list[str]:
    """Split a claim at commas and conjunctions into parts of at least four words."""
    joints = [(0, 0), *(found.span() for found in _JOINT.finditer(text)), (len(text), len(text))]
    spans: list[tuple[int, int]] = []
    for (_, start), (end, _) in pairwise(joints):
        if spans and min(_words(text, *spans[-1]), _words(text, start, end)) < _LEAST_WORDS:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return [text[start:end] for start, end in spans]


def _words(text: str, start: int, end: int) -> int:
    return len(text[start:end].split())


def _unchanged(case: Case) -> Prompt:
    return question(case.evidence, SUPPORTED, case.claim)


def _supports(case: Case) -> Prompt:
    return question(case.evidence, SUPPORTS, case.claim)


def _parts(case: Case) -> list[Prompt]:
    claims = [case.claim.model_copy(update={"text": part}) for part in parts_of(case.claim.text)]
    return [_supports(case._replace(claim=claim)) for claim in claims]


WAYS: Mapping[str, Way] = {
    "as scored, without the nearest sentences": Way(lambda case: [_unchanged(case)]),
    "does the text support the claim": Way(lambda case: [_supports(case)]),
    "mean of these two": Way(lambda case: [_unchanged(case), _supports(case)]),
    "least supported part of the claim": Way(_parts, min),
    "supported, unsupported or unknown": Way(
        lambda case: [case.prompt(LABELS)], options=("Supported", "Unsupported", "Unknown")
    ),
}
"""Ways by name."""
