"""FACT: whether what a report cites supports what it says.

Invariant: in `shared` it asks no judge by itself: the claim set has every verdict; in `own` it reads no claim set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from local_judge.errors import ConfigError
from local_judge.protocols.base import Bench, Case, Rated
from local_judge.protocols.fact.findings import FactFindings
from local_judge.protocols.fact.over import over
from local_judge.protocols.fact.own.flow import examine
from local_judge.protocols.fact.scores import score
from local_judge.protocols.fact.settings import FactSettings
from local_judge.protocols.fact.together import over_together, rated, together
from local_judge.protocols.fact.view import unresolved, view
from local_judge.protocols.scores import Profile, ScoreNode

_DEFAULTS = FactSettings()


class Fact:
    """Citation accuracy and effective citations (DeepResearch Bench, section 3.2)."""

    name: ClassVar[str] = "fact"
    version: ClassVar[str] = "2"
    profiles: ClassVar[tuple[Profile, ...]] = ("paper", "upstream")
    findings = FactFindings
    settings = FactSettings

    def __init__(self, given: FactSettings = _DEFAULTS) -> None:
        self.given = given

    @property
    def needs_claims(self) -> bool:
        """FACT's own flow extracts for itself."""
        return self.given.claims == "shared"

    @property
    def needs_snapshot(self) -> bool:
        """Both ways judge pages."""
        return True

    @property
    def without_task(self) -> None:
        """A report needs none: the pages are what it is judged by."""
        return

    def data_digest(self) -> None:
        """Its prompts cannot be replaced."""
        return

    async def examine(self, case: Case, bench: Bench) -> FactFindings:
        """The report's pairs of statement and URL, each with what the page says of it.

        Raises:
            ConfigError: its own flow is to be run, and there is no snapshot.
        """
        if self.needs_claims:
            found = view(await bench.claims(), case.report, self.given.recovered)
            undecided = ()
        else:
            if bench.snapshot is None:
                raise ConfigError("fact: judging pages needs a snapshot; give --snapshot")
            found, undecided = await examine(case.report, bench.snapshot, bench.judge, self.given)
        return FactFindings(
            case=case.id,
            document=case.report.id,
            source=self.given.claims,
            prompt=case.task.prompt if case.task else "",
            article=case.report.text,
            pairs=found.pairs,
            repeats=found.repeats,
            n_citations=len(found.pairs) + len(found.repeats),
            n_unresolved=unresolved(case.report),
            undecided=undecided,
        )

    def score(self, findings: FactFindings, profile: Profile) -> tuple[ScoreNode, ...]:
        """Accuracy and unknown share from 0 to 1; counts of citations."""
        return score(findings, profile)

    def over(
        self, findings: Sequence[FactFindings], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """The same over all reports of a system, in every way that is in use."""
        return over(findings, profile, n_missing)

    def together(self, findings: Sequence[FactFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """By the votes of all judges on each pair of the claim set; in FACT's own flow the means of their scores."""
        return together(findings, profile)

    def over_together(
        self, findings: Sequence[Sequence[FactFindings]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """As `over`, by the same votes."""
        return over_together(findings, profile, n_missing)

    def rated(self, findings: FactFindings) -> tuple[Rated, ...]:
        """The outcome of each pair whose page was judged."""
        return rated(findings)
