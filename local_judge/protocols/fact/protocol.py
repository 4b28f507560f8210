"""FACT: whether the pages that a report cites support it.

Invariant: `shared` asks only which statements repeat another, since the claim set has every verdict; `own` reads no
claim set. The table shows an unknown pair with its reason, and a known one with the page's words that it rests on, or
with its claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from indexes.text.language import detect_language
from local_judge.base.errors import ConfigError
from local_judge.base.output import count
from local_judge.protocols.base import (
    BaseProtocol,
    Case,
    Decision,
    EvalContext,
    OriginalVerifier,
    PageVerdict,
    View,
)
from local_judge.protocols.fact import original_prompts
from local_judge.protocols.fact.export import FactFiles
from local_judge.protocols.fact.findings import FactFindings
from local_judge.protocols.fact.original_prompts import FACT
from local_judge.protocols.fact.own import examine
from local_judge.protocols.fact.pairs import count_unresolved, examine_claims
from local_judge.protocols.fact.scores import ASKED, aggregate, by_key, score
from local_judge.protocols.fact.settings import FactSettings
from local_judge.protocols.file_formats import FileFormat
from local_judge.protocols.originals import Original, PromptSource, original
from local_judge.protocols.probes import SensitivityProbe, citation_expectations
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.node import COUNT, DIAGNOSTIC, UNIT, Place, Profile, Scale, ScoreNode

_SOURCES = {"shared": "the claim set", "own": "FACT's own flow", "file": "a file of rows"}


def fact_line(findings: FactFindings) -> str:
    """Summarise the findings in one line."""
    outcomes = Counter(pair.outcome for pair in findings.pairs)
    summary = ", ".join(f"{n} {name}" for name, n in sorted(outcomes.items()))
    listed = f" ({summary})" if summary else ""
    parts = [f"fact: {count(len(findings.pairs), 'pair')} from {_SOURCES[findings.source]}{listed}"]
    if findings.repeats:
        parts.append(f"{count(len(findings.repeats), 'repeat')} taken out")
    if findings.n_unresolved:
        parts.append(f"{count(findings.n_unresolved, 'citation')} without an address")
    return "; ".join(parts)


def _language(case: Case) -> str:
    """Return the language of the request as its task says it, or as it reads; of the report without a task."""
    if case.task is None:
        return case.report.language
    return dict(case.task.attributes).get("language") or detect_language(case.task.prompt)


class Fact(BaseProtocol[FactSettings, FactFindings]):
    """Citation accuracy and effective citations (DeepResearch Bench, section 3.2)."""

    name = "fact"
    version = "4"
    profiles = ("paper", "upstream")
    settings_type = FactSettings
    findings_type = FactFindings
    places: ClassVar[Mapping[str, Place]] = {
        "citation_accuracy": Place(vertical="sources", scale=UNIT),
        "effective_citations": Place(vertical="sources", scale=Scale(high=None)),
        "citations": Place(scale=None, aside=COUNT),
        "unknown": Place(scale=None, aside=DIAGNOSTIC),
    }
    sensitivity_probes = (
        SensitivityProbe("citation_accuracy", {}, citation_expectations("citation_accuracy")),
    )

    @property
    def needs_claims(self) -> bool:
        """FACT's own flow extracts for itself."""
        return self.settings.claims == "shared"

    @property
    def needs_snapshot(self) -> bool:
        """Both ways judge pages."""
        return True

    def original_prompts(self, source: PromptSource) -> Original:
        """Return the prompts of DeepResearch Bench."""
        if self.settings.claims != "own":
            raise ConfigError(
                f"fact.claims={self.settings.claims}: not in the published code; with its prompts, give "
                "--set fact.claims=own"
            )
        return original(self.name, source, FACT)

    def original_verifier(self, source: PromptSource) -> OriginalVerifier:
        """Return the prompt that asks whether a page supports statements."""
        prompts = original(self.name, source, FACT)
        return OriginalVerifier(prompts, original_prompts.page_verifier(prompts))

    async def examine(self, case: Case, context: EvalContext) -> FactFindings:
        """Return the report's pairs of statement and URL, each with its outcome.

        Raises:
            ConfigError: the own flow has no snapshot.
        """
        if self.needs_claims:
            claims = await context.claims()
            extractor = context.extractor or context.judge
            found = await examine_claims(claims, case.report, extractor, self.settings.recovered)
            if extractor is not context.judge:  # whose failures they are
                found = found._replace(undecided=())
        elif context.prompts is not None:
            found = await original_prompts.examine(
                case.report,
                context.pages(self.name),
                context.judge,
                self.original_prompts(context.prompts),
                _language(case),
            )
        else:
            found = await examine(case.report, context.pages(self.name), context.judge, self.settings)
        pairs, repeats = found.pairs
        return FactFindings(
            case=case.id,
            document=case.report.id,
            source=self.settings.claims,
            prompt=case.task.prompt if case.task else "",
            article=case.report.text,
            pairs=pairs,
            repeats=repeats,
            n_citations=len(pairs) + len(repeats),
            n_unresolved=count_unresolved(case.report),
            unread=found.unread,
            recovered=self.settings.recovered,
            undecided=found.undecided,
        )

    def score(self, judges: Sequence[FactFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """Accuracy and unknown share from 0 to 1; counts of citations.

        Of several judges: by their votes on each pair of the claim set; in FACT's own flow the means of their scores.
        """
        return score(judges, profile)

    def aggregate(
        self, reports: Sequence[Sequence[FactFindings]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """Return the same over all reports of a system, in every way that is in use."""
        return aggregate(reports, profile, n_missing)

    def decisions(self, findings: FactFindings) -> tuple[Decision, ...]:
        """Return the outcome of each pair whose page was judged."""
        return tuple(
            Decision(
                metric="support",
                item="\n".join(key),
                value=None if pair.reason == "judge_failed" else pair.outcome,
                scale="nominal",
            )
            for key, pair in by_key(findings).items()
            if pair.reason in ASKED
        )

    def items(self, findings: FactFindings) -> Iterator[ItemRow]:
        """Yield each pair of statement and page with its outcome and, in FACT's own flow, the judge's reasons."""
        for pair in findings.pairs:
            judged = pair.judged
            yield ItemRow(
                "support",
                pair.claim or pair.sentence,
                pair.statement,
                pair.outcome if pair.reason is None else f"{pair.outcome}: {pair.reason}",
                judged.rationale if judged else "",
                judged.quote if judged else None,
                judged.quote_rejected if judged else None,
                pair.url,
                pair.failure,
                judged.replies if judged else (),
            )

    def page_verdicts(self, findings: FactFindings) -> Iterator[PageVerdict]:
        """Yield the outcome of each pair."""
        for pair in findings.pairs:
            answered = pair.reason is None
            yield PageVerdict(pair.statement, pair.url, pair.outcome == "supported" if answered else None)

    def view(self, findings: FactFindings, paper: Sequence[ScoreNode], items: bool) -> View:
        """Return a line on how many pairs have each outcome."""
        return super().view(findings, paper, items)._replace(lines=(fact_line(findings),))

    def file_format(self) -> FileFormat[FactFindings]:
        """See `export`."""
        return FactFiles()
