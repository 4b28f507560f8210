"""FACT: whether what a report cites supports what it says.

Invariant: in `shared` it asks no judge by itself: the claim set has every verdict; in `own` it reads no claim set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from local_judge.protocols.base import BaseProtocol, Case, Decision, EvalContext, View
from local_judge.protocols.fact.aggregate import aggregate
from local_judge.protocols.fact.findings import FactFindings
from local_judge.protocols.fact.own.flow import examine
from local_judge.protocols.fact.pairs import pairs_of, unresolved
from local_judge.protocols.fact.scores import ASKED, by_key, score
from local_judge.protocols.fact.settings import FactSettings
from local_judge.protocols.fact.tables import fact_line, pair_table
from local_judge.protocols.file_formats import FileFormat
from local_judge.protocols.probes import SensitivityProbe, citation_expectations
from local_judge.scoring.node import COUNT, DIAGNOSTIC, UNIT, Place, Profile, Scale, ScoreNode


class Fact(BaseProtocol[FactSettings, FactFindings]):
    """Citation accuracy and effective citations (DeepResearch Bench, section 3.2)."""

    name = "fact"
    version = "2"
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

    async def examine(self, case: Case, context: EvalContext) -> FactFindings:
        """The report's pairs of statement and URL, each with what the page says of it.

        Raises:
            ConfigError: its own flow is to be run, and there is no snapshot.
        """
        if self.needs_claims:
            found = pairs_of(await context.claims(), case.report, self.settings.recovered)
            undecided = ()
        else:
            found, undecided = await examine(
                case.report, context.pages(self.name), context.judge, self.settings
            )
        return FactFindings(
            case=case.id,
            document=case.report.id,
            source=self.settings.claims,
            prompt=case.task.prompt if case.task else "",
            article=case.report.text,
            pairs=found.pairs,
            repeats=found.repeats,
            n_citations=len(found.pairs) + len(found.repeats),
            n_unresolved=unresolved(case.report),
            undecided=undecided,
        )

    def score(self, judges: Sequence[FactFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """Accuracy and unknown share from 0 to 1; counts of citations.

        Of several judges: by their votes on each pair of the claim set; in FACT's own flow the means of their scores.
        """
        return score(judges, profile)

    def aggregate(
        self, reports: Sequence[Sequence[FactFindings]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """The same over all reports of a system, in every way that is in use."""
        return aggregate(reports, profile, n_missing)

    def decisions(self, findings: FactFindings) -> tuple[Decision, ...]:
        """The outcome of each pair whose page was judged."""
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

    def view(self, findings: FactFindings, paper: Sequence[ScoreNode], items: bool) -> View:
        """Show how many pairs have each outcome; with `items`, each pair."""
        tables = [pair_table(findings)] if items else []
        return super().view(findings, paper, items)._replace(parts=(fact_line(findings), *tables))

    def file_format(self) -> FileFormat[FactFindings]:
        """See `export`."""
        from local_judge.protocols.fact.export import FactFiles

        return FactFiles()
