"""Citation integrity, 0 to 100 (DREAM, section 3.2 and appendix C.3).

    CA = 100 * cited claims / verifiable claims                        different claims; null without a verifiable one
    CF = 100 * (N_s + .5 N_p) / (N_s + N_p + N_neutral + N_contra + N_dead)     null if none was decided
    CI = 2 CA CF / (CA + CF)                                           0 if both are 0, and if nothing is cited

    over reports    ci_dataset     2 A F / (A + F), A the mean of CA and F that of CF (C.3): the headline
                    ci_task_mean   the mean of CI, as DREAM, section 3.2 may be read

A dead source (404, 410, no such host) supports nothing: CI is to fall if a report invents its sources or cites
incorrectly (C.3), whose formula leaves out the label Unverifiable of a text that was read. `unverifiable` claims, whose
citations have no URL, are not in CF; with `dead: unverifiable` neither are those of dead sources, and with `unsettled:
unverifiable` neither are claims that no source settles. A claim with several sources has their best outcome. A claim's
value (1, .5 or 0) is the mean over the judges that have one.

Failures: a claim without a verdict, or whose page was not read, may have any value from that of its other sources to
1. A sentence whose claims are unknown may have as many verifiable claims as the extraction admits; each is a further
claim, or it repeats a known one, and then adds a source or decides a verdict. The known share of CI is the lower of
those of CA and CF.

Invariant: CI lies between its bounds, since it rises with CA and with CF.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, get_args

from local_judge.base.output import count
from local_judge.protocols.base import Case, Decision, EvalContext
from local_judge.protocols.dream.claims import (
    CheckedSource,
    CitationFindings,
    CitationSettings,
    Outcome,
    cited_claims,
)
from local_judge.protocols.metric import Metric
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.aggregate import mean_over_reports
from local_judge.scoring.algebra import (
    Answer,
    Unseen,
    answers_between,
    rising,
    share,
    undefined,
    unknown,
    weighted,
)
from local_judge.scoring.algebra import count as counted
from local_judge.scoring.coverage import failed, read_in_part
from local_judge.scoring.node import COUNT, Profile, Score, ScoreNode, node, noted

SCALE = 100.0
VALUES: dict[Outcome, float] = {
    "supported": 1.0,
    "partial": 0.5,
    "contradicted": 0.0,
    "neutral": 0.0,
    "dead": 0.0,
}
"""Values of the outcomes in the denominator of CF, the best of a claim's sources first."""
NOTHING_VERIFIABLE = "no claim can be verified"
NOTHING_CITED = "nothing is cited"
NOTHING_DECIDED = "every cited source is unverifiable"


class Verified(NamedTuple):
    """Outcome of a claim, or of a claim and a source, by one judge."""

    outcome: Outcome
    known: float = 0.0
    """Lower bound of the value of a `failed` one."""


class Citation(Metric[CitationSettings, CitationFindings]):
    """Attribution and faithfulness of citations, 0 to 100."""

    id = "citation"
    label = "Citation integrity"
    vertical = "sources"
    needs_task = False

    @property
    def needs_claims(self) -> bool:
        """Flag: always true, since it reads claims and verdicts."""
        return True

    async def examine(self, case: Case, context: EvalContext) -> CitationFindings:
        """Return the claims of one report with their sources."""
        return cited_claims(case.report, await context.claims(), self.settings)

    def score(self, judges: Sequence[CitationFindings], profile: Profile) -> ScoreNode:
        """Score CI of one report with CA and CF."""
        first = judges[0]  # all judges have the same claims
        attribution, faithfulness = _attribution(first), _faithfulness(judges)
        notes = "; ".join(filter(None, (_left_out(first), _note_unquoted(judges))))
        return self.node(
            _integrity(attribution, faithfulness, first.cites, notes),
            (
                node("attribution", "Claim attribution", attribution),
                node("faithfulness", "Citation faithfulness", faithfulness, _outcomes(judges)),
            ),
        )

    def aggregate(
        self, reports: Sequence[Sequence[CitationFindings]], profile: Profile, n_missing: int
    ) -> ScoreNode:
        """Score CI of the means of attribution and faithfulness, and the mean of the reports' CI."""
        nodes = [self.score(judges, profile) for judges in reports]

        def mean(*path: str) -> Score:
            return mean_over_reports([node.find(*path).score for node in nodes], n_missing, 0.0, SCALE)

        attribution, faithfulness = mean("attribution"), mean("faithfulness")
        cited = any(judges[0].cites for judges in reports)
        dataset = _integrity(attribution, faithfulness, cited, "").model_copy(
            update={
                "n_expected": len(reports) + n_missing,
                "n_failed": max(attribution.n_failed, faithfulness.n_failed),
            }
        )
        children = (
            node("ci_dataset", "of the means of both", dataset),
            node("ci_task_mean", "mean over reports", mean(), mean=True),
            node("attribution", "Claim attribution", attribution, mean=True),
            node("faithfulness", "Citation faithfulness", faithfulness, mean=True),
        )
        return self.node(dataset, children)

    def decisions(self, findings: CitationFindings) -> Iterator[Decision]:
        """Yield the outcome for each claim and source; the judge decides on those with a text, and code on the others.

        A dead source and a citation without a URL are `unverifiable`, the paper's label of a source that cannot
        corroborate a claim (DREAM, Figure 8).
        """
        for claim in findings.claims:
            for source in claim.sources:
                outcome = "unverifiable" if source.outcome == "dead" else source.outcome
                yield Decision(
                    metric="faithfulness",
                    item=f"{claim.id} {source.url or 'no address'}",
                    value=None if outcome == "failed" else outcome,
                    scale="nominal",
                    by="judge" if source.status == "ok" else "code",
                )

    def items(self, findings: CitationFindings) -> Iterator[ItemRow]:
        """Yield each claim with the outcome of each of its sources."""
        for claim in findings.claims:
            for one in claim.sources:
                yield ItemRow(
                    "faithfulness",
                    claim.id,
                    claim.text,
                    None if one.failure is not None else one.outcome,
                    one.rationale,
                    one.quote,
                    one.quote_rejected,
                    one.url,
                    one.failure,
                    one.replies,
                )
            if not claim.sources:
                yield ItemRow("attribution", claim.id, claim.text, "uncited")

    def lines(self, findings: CitationFindings) -> Iterator[str]:
        """Yield the number of cited claims, and the outcomes of their sources."""
        cited = [claim for claim in findings.claims if claim.sources]
        outcomes = Counter(source.outcome for claim in cited for source in claim.sources)
        listed = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.most_common()) or "none"
        verifiable = count(len(findings.claims), "verifiable claim")
        yield f"citation: {len(cited)} of {verifiable} cited; their sources: {listed}"


def harmonic(one: float, other: float) -> float:
    """Return the harmonic mean of two numbers from 0; 0 if one of them is 0."""
    return 2 * one * other / (one + other) if one + other else 0.0


def _integrity(attribution: Score, faithfulness: Score, cited: bool, note: str) -> Score:
    """Return CI, with bounds from the formula at both ends."""
    n_expected = attribution.n_expected + faithfulness.n_expected
    if attribution.value is None and not failed(attribution):
        return undefined(NOTHING_VERIFIABLE, n_expected)
    if cited and faithfulness.value is None and not failed(faithfulness):
        # Undefined whatever the missing claims of CA are: not a failure, and in no mean.
        return undefined(NOTHING_DECIDED, n_expected)
    if not cited and faithfulness.value is None:
        faithfulness = faithfulness.model_copy(update={"value": 0.0})
    parts = (attribution, faithfulness)
    return rising(harmonic, parts, 0.0, SCALE, note if cited else NOTHING_CITED)


def _attribution(found: CitationFindings) -> Score:
    """Return CA.

    Bounds: none of them repeats a known claim, and only those without citation exist; only those with one exist, and
    each repeats a known claim without, as long as there are any.
    """
    n, n_cited = len(found.claims), sum(bool(claim.sources) for claim in found.claims)
    unread = found.unread
    if not unread:
        return share(n_cited, n, 0, top=SCALE, empty=NOTHING_VERIFIABLE)
    low, high = (
        share(n_cited, n, 0, top=SCALE, empty=NOTHING_VERIFIABLE, unseen=unseen)
        for unseen in (Unseen(found.most_uncited), Unseen(found.most_cited, gains=found.most_cited))
    )
    if not (found.most_uncited or found.most_cited):
        score = low
    elif n:
        score = low.model_copy(update={"high": high.high})
    else:
        score = unknown(0.0 if found.most_uncited else SCALE, SCALE if found.most_cited else 0.0)
    return noted(
        read_in_part(score, unread.known if unread.citations.n else unread.known_sentences),
        f"the claims of {n} sentences are not known" if (n := len(unread.sentences)) else "",
        f"{count(n, 'citation')} not read" if (n := unread.citations.n) else "",
    )


def _faithfulness(judges: Sequence[CitationFindings]) -> Score:
    """Return CF: each unit's value is the mean over the judges that have one."""
    units: list[Score] = []
    n_unverifiable = n_dead = 0
    for same in zip(*map(_verified_units, judges), strict=True):
        settled = [_answer(one) for one in same if one.outcome != "unverifiable"]
        if settled:
            units.append(answers_between(settled))
            n_dead += same[0].outcome == "dead"
        else:
            n_unverifiable += 1
    reason = NOTHING_DECIDED if n_unverifiable else NOTHING_CITED
    score = weighted([(1.0, unit) for unit in units], unit=SCALE, empty=f"0/0: {reason}")
    score = _with_unread(score, units, judges[0])
    left_out = f"{n_unverifiable} unverifiable, left out" if n_unverifiable else ""
    failed = f"{score.n_failed} of {score.n_expected} without a verdict" if score.n_failed else ""
    dead = f"{n_dead} with dead sources only" if n_dead else ""
    return noted(score, dead, left_out, failed)


def _with_unread(score: Score, units: Sequence[Score], found: CitationFindings) -> Score:
    """Return CF with the bounds and the coverage that unread sentences leave.

    Each of their claims is a further unit of any value, or repeats a known one, whose value it may change.
    """
    unread = found.unread
    most = found.most_cited
    if found.unit == "pair":
        most = sum(unread.pairs(url, traced=found.recovered) for url in unread.urls)
        most += unread.citations.pairs(traced=found.recovered)
    if not most:
        return score
    if score.value is None and not failed(score):
        return unknown(0.0, SCALE)
    ranked = sorted(units, key=lambda unit: unit.value or 0.0)
    low, high = (
        weighted([(1.0, unit) for unit in (*changed, *[unknown(0.0, SCALE)] * most)])
        for changed in (
            [*ranked[:-most], *(unit.model_copy(update={"low": 0.0}) for unit in ranked[-most:])],
            [*(unit.model_copy(update={"high": SCALE}) for unit in ranked[:most]), *ranked[most:]],
        )
    )
    opened = score.model_copy(update={"low": low.low, "high": high.high})
    return read_in_part(opened, unread.known if found.recovered else unread.known_places)


def _answer(one: Verified) -> Answer:
    if one.outcome == "failed":
        return Answer(None, SCALE * one.known, SCALE)
    value = SCALE * VALUES[one.outcome]
    return Answer(value, value, value)


def _verified_units(found: CitationFindings) -> list[Verified]:
    """Return the units that CF counts, in the same order for every judge."""
    if found.unit == "pair":
        units = [Verified(source.outcome) for claim in found.claims for source in claim.sources]
    else:
        units = [best_of(claim.sources) for claim in found.claims if claim.sources]
    settled: dict[Outcome, Outcome] = {"neutral": found.unsettled, "dead": found.dead}
    return [unit._replace(outcome=settled.get(unit.outcome, unit.outcome)) for unit in units]


def best_of(sources: Sequence[CheckedSource]) -> Verified:
    """Return the joint outcome of one claim's sources, by one judge.

    A failed verdict leaves it open, unless another source supports the claim already.
    """
    outcomes = {source.outcome for source in sources}
    best: Outcome | None = next((outcome for outcome in VALUES if outcome in outcomes), None)
    if "failed" in outcomes and best != "supported":
        return Verified("failed", 0.0 if best is None else VALUES[best])
    return Verified(best or "unverifiable")


def _outcomes(judges: Sequence[CitationFindings]) -> Iterator[ScoreNode]:
    """Yield the number of units with each outcome, as the mean over judges."""
    every = [unit.outcome for found in judges for unit in _verified_units(found)]
    n_failed = every.count("failed")
    n_unread = judges[0].most_cited
    for outcome in get_args(Outcome):
        left_open = outcome in ("supported", "partial", "contradicted", judges[0].unsettled)
        more = n_failed if left_open else 0
        score = counted(
            every.count(outcome) / len(judges),
            more / len(judges) + n_unread,
            fewer=n_unread,
            n_expected=len(every),
            n_failed=more,
        )
        score = read_in_part(score, judges[0].unread.known_places if n_unread else 1.0)
        yield node(outcome, outcome.capitalize(), score, aside=COUNT)


def _left_out(found: CitationFindings) -> str:
    counts = (
        (found.n_recaps, "recaps"),
        (found.n_own, "own or common"),
        (found.n_uncheckable, "uncheckable"),
    )
    listed = ", ".join(f"{n} {what}" for n, what in counts if n)
    return f"claims left out: {listed}" if listed else ""


def _note_unquoted(judges: Sequence[CitationFindings]) -> str:
    """Return a note on labels without the quotation that they should rest on."""
    sources = [source for found in judges for claim in found.claims for source in claim.sources]
    telling = [one for one in sources if one.outcome in ("supported", "partial", "contradicted")]
    n = sum(one.quote is None for one in telling)
    return f"{n} of {len(telling)} verdicts without a quotation that occurs in the page" if n else ""
