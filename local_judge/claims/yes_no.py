"""Yes-or-no questions about a page, and the probabilities of their answers.

Invariant: every such question is asked in one way, so that a calibration belongs to the question by name and by the
digest of its words; an answer is calibrated only by a calibration of the same words.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from indexes.model import Page
from local_judge.base.failures import Failure
from local_judge.claims.config import ClaimsConfig, View
from local_judge.claims.evidence import PageEvidence
from local_judge.claims.model import Claim, Quote
from local_judge.documents.model import Span
from local_judge.judge.judge import ChoiceResult, Judge
from local_judge.ledger.calibrations import sigmoid
from local_judge.ledger.requests import canonical, prompt_digest, sha256
from local_judge.prompts import Prompt, fence, fenced, fill, load_prompt

template = partial(load_prompt, "local_judge.claims")

OPTIONS = ("Yes", "No")
NEUTRAL = 0.5
"""The threshold where neither the config nor a calibration nor the judge has one."""


class Questions(NamedTuple):
    """The names of the two questions about a claim."""

    supported: str
    contradicted: str


QUESTIONS: Mapping[View, Questions] = {
    "page": Questions("supported", "contradicted"),
    "near": Questions("supported_near", "contradicted_near"),
    "contrast": Questions("supports", "contradicted"),
}
NAMES = tuple(dict.fromkeys(name for questions in QUESTIONS.values() for name in questions))
SUPPORTED = QUESTIONS["page"].supported
SUPPORTS = QUESTIONS["contrast"].supported
SUPPORTS_PART = "supports_part"
PRIOR_WEIGHT = 0.5
"""Weight of the log-odds without a page in those of the view `contrast`."""


class Asked(NamedTuple):
    """A question as it is asked."""

    prompt: Prompt
    prior: Prompt | None = None
    """The same question without the page and the sentences before the claim, whose answer is subtracted."""


class Answer(NamedTuple):
    """The answer to a question, and the ledger keys of the replies that it rests on."""

    choice: ChoiceResult
    replies: tuple[str, ...]


async def answer(judge: Judge, asked: Asked) -> Answer | Failure:
    """Ask a question. Log-odds of an answer with a prior are those with the page minus half of those without it.

    A judge that calls a claim likely before it has read anything calls it supported too often: subtracting its answer
    without evidence is the contextual calibration of Zhao et al. (2021), section 4, for one example at a time.
    """
    if asked.prior is None:
        choice = await judge.choose(asked.prompt, OPTIONS)
        return choice if isinstance(choice, Failure) else Answer(choice, (choice.reply,))
    choice, prior = await asyncio.gather(
        judge.choose(asked.prompt, OPTIONS), judge.choose(asked.prior, OPTIONS)
    )
    for one in (choice, prior):
        if isinstance(one, Failure):
            return one
    assert isinstance(choice, ChoiceResult) and isinstance(prior, ChoiceResult)
    return Answer(less(choice, prior), (choice.reply, prior.reply))


def less(choice: ChoiceResult, prior: ChoiceResult) -> ChoiceResult:
    """Subtract the answer without a page: log-odds l - w l0, with w = `PRIOR_WEIGHT`."""
    logs = {name: value - PRIOR_WEIGHT * prior.logprobs[name] for name, value in choice.logprobs.items()}
    yes = sigmoid(logs["Yes"] - logs["No"])
    unreported = 0.0
    if choice.unreported or prior.unreported:
        (low, high), (prior_low, prior_high) = (map(_logit, _ends(one)) for one in (choice, prior))
        least, most = sigmoid(low - PRIOR_WEIGHT * prior_high), sigmoid(high - PRIOR_WEIGHT * prior_low)
        unreported = max(yes - least, most - yes)
    return choice.model_copy(
        update={"probabilities": {"Yes": yes, "No": 1.0 - yes}, "logprobs": logs, "unreported": unreported}
    )


def ask_about(
    page_evidence: PageEvidence, name: str, claim: Claim, nearest: Sequence[Quote] = (), context: str = ""
) -> Asked:
    """Return a question about a claim as runs ask it; see `question`."""
    prompt = question(page_evidence, name, claim, nearest, context)
    if name not in (SUPPORTS, SUPPORTS_PART):
        return Asked(prompt)
    shared = fence("", "Page:")
    own = fill(template(name), {"claim": fence(claim.text, "Claim:")})
    return Asked(prompt, Prompt(shared=shared, own=own, prefix_key="page:none"))


def question(
    page_evidence: PageEvidence,
    name: str,
    claim: Claim | None = None,
    nearest: Sequence[Quote] = (),
    context: str = "",
) -> Prompt:
    """Return a yes-or-no question about a page.

    Of the view `page` the page opens the prompt, which all claims about it share; of the view `near` the question
    does, which all claims of all pages share, and of the page only what is around the nearest sentences follows.

    Args:
        page_evidence: the part of the page that is shown.
        name: of the question.
        claim: which it is about, if the question has a place for one.
        nearest: the page's sentences nearest to the claim, shown once more beside it: small judges compare two
            sentences better than a sentence and a page. The view `contrast` leaves them out.
        context: sentences before the claim, which only the view `contrast` shows.
    """
    values: dict[str, str] = {}
    if claim is not None:
        lines = [quote.text for quote in sorted(nearest, key=lambda quote: quote.start)]
        shown = [fence("\n".join(lines), "The page says:")] if lines else []
        if name in (SUPPORTS, SUPPORTS_PART):
            shown = [fence(context, "The claim follows this text:")] if context else []
        values["claim"] = "\n\n".join([*shown, fence(claim.text, "Claim:")])
    if name in QUESTIONS["near"]:
        supported = QUESTIONS["near"].supported
        asked, _, rest = template(supported).partition("\n\n")
        values["page"] = page_evidence.near(nearest)[1]
        # The second question repeats the first up to the claim, which is then in the prefix cache.
        own = fill(rest if name == supported else template(name), values)
        return Prompt(shared=asked, own=own, prefix_key=f"question:{supported}")
    return Prompt(
        shared=page_evidence.shared, own=fill(template(name), values), prefix_key=page_evidence.prefix_key
    )


def question_digest(name: str) -> str:
    """SHA-256 of a question as it is sent, about a page and a claim that never change.

    Whatever changes the words around page and claim (system text, fences, order, options, the question itself)
    changes it, so that a calibration that was fitted on other words is not found.
    """
    return digest_as_laid_out(name, fenced())


@cache
def digest_as_laid_out(name: str, is_fenced: bool) -> str:
    """See `question_digest`. With fences and without are two questions, which the second argument keeps apart."""
    page = Page(
        url="https://page.example/",
        original_url="https://page.example/",
        status="ok",
        title="T",
        text="Text.",
    )
    quotes = [Quote(text="Text.", start=0, end=5)]
    if name in QUESTIONS["near"]:
        # Two sentences apart, and a neighbour that is too long: what is shown around sentences is part of the question.
        endless = "word " * 100
        text = f"Before. First. {endless}.\n\nFar. Near. Second. After. End."
        page = page.model_copy(update={"text": text, "title": endless})
        quotes = [
            Quote(text=one, start=text.index(one), end=text.index(one) + len(one))
            for one in ("First.", "Second.")
        ]
    claim = Claim(id="L1.S1.1", text="Claim.", sentence="L1.S1", span=Span(start=0, end=6), type="A")
    asked = ask_about(PageEvidence(page, (), whole=True), name, claim, quotes, "Before.")
    if asked.prior is not None:
        return sha256(
            canonical([prompt_digest(asked.prompt), prompt_digest(asked.prior), PRIOR_WEIGHT, OPTIONS])
        )
    return sha256(canonical([prompt_digest(asked.prompt), OPTIONS]))


def log_odds(choice: ChoiceResult) -> float:
    """Ln P(yes) - ln P(no), of the judge's own log-probabilities."""
    return choice.logprobs["Yes"] - choice.logprobs["No"]


class YesNoProbability(NamedTuple):
    """The probability of yes, and the threshold from which on it is a yes."""

    confidence: float
    threshold: float
    raw: float | None = None
    """P(yes) by the judge, if the confidence is calibrated."""
    calibration: str | None = None
    undecided: bool = False
    """Options that the server did not report could change the answer."""

    @property
    def yes(self) -> bool:
        """True from the threshold on."""
        return self.confidence >= self.threshold


def yes_no_probability(
    choice: ChoiceResult, name: str, page_evidence: PageEvidence, judge: Judge, config: ClaimsConfig
) -> YesNoProbability:
    """Return an answer to the question `name`, calibrated where the judge has a calibration of it.

    The config's threshold applies to the question whether a claim is supported, in either view, and overrides that of a
    calibration. The preset's threshold, one of P(yes) in the view `page`, applies only without a calibration.
    """
    raw = choice.probabilities["Yes"]
    given = config.threshold if name in {asked.supported for asked in QUESTIONS.values()} else None
    preset = judge.settings.threshold if name == SUPPORTED else None
    found = None
    if config.calibration == "auto":
        found = judge.calibration(name, question_digest(name), page_evidence.page.language)
    if found is None:
        threshold = given or preset or NEUTRAL
        least, most = _ends(choice)
        return YesNoProbability(raw, threshold, undecided=least < threshold <= most)
    threshold = given or found.threshold
    least, most = (found.probability(_logit(end)) for end in _ends(choice))
    return YesNoProbability(
        found.probability(log_odds(choice)), threshold, raw, found.id, undecided=least < threshold <= most
    )


def _ends(choice: ChoiceResult) -> tuple[float, float]:
    """Return the least and the most that P(yes) can be, given what the server reported."""
    raw = choice.probabilities["Yes"]
    return raw - choice.unreported, raw + choice.unreported


def _logit(p: float) -> float:
    clipped = min(max(p, _SURE), 1.0 - _SURE)
    return math.log(clipped) - math.log1p(-clipped)


_SURE = 1e-12
