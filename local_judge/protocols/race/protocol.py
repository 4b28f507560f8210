"""RACE: a report and a reference report scored side by side, by criteria made for the task.

Invariant: criteria and references are those of the task; the judge scores criteria, and code computes everything else.
Tables show scores under the article that they belong to, whichever was shown first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from local_judge.base.errors import ConfigError
from local_judge.base.output import count
from local_judge.documents.clean import clean
from local_judge.documents.model import Document
from local_judge.protocols.base import BaseProtocol, Case, Decision, EvalContext, View
from local_judge.protocols.file_formats import FileFormat
from local_judge.protocols.originals import Original, PromptSource, original
from local_judge.protocols.probes import InjectionProbe, SensitivityProbe, expectations
from local_judge.protocols.race.export import RaceFiles
from local_judge.protocols.race.findings import WHOLE as VANILLA
from local_judge.protocols.race.findings import Comparison, CriterionScore, RaceFindings
from local_judge.protocols.race.judging import judge_race
from local_judge.protocols.race.original_prompts import RACE
from local_judge.protocols.race.scores import arrangement, score
from local_judge.protocols.race.settings import RaceSettings
from local_judge.protocols.race.static import static_criteria
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.node import DIAGNOSTIC, WHOLE, Place, Profile, ScoreNode
from local_judge.tasks.model import Task


def race_line(findings: RaceFindings) -> str:
    """Summarise in one line what was asked."""
    if findings.report is None:
        return "race: scores of a published file, without comparisons"
    criteria = findings.criteria
    asked = [f"race: {findings.mode}"]
    if criteria is not None:
        n = sum(len(dimension.criteria) for dimension in criteria.dimensions)
        origin = (
            f"{criteria.status}, joined by {criteria.joined}" if findings.source == "adaptive" else "static"
        )
        asked.append(f"{count(n, 'criterion', 'criteria')} ({origin})")
    if not findings.criterion_weights:
        asked.append("no criterion weights")
    if not findings.dimension_weights:
        asked.append("no dimension weights")
    if findings.references:
        joined = ", ".join(f"joined by {reference.joined}" for reference in findings.references)
        asked.append(f"{count(len(findings.references), 'reference')} ({joined})")
    asked.append(arrangement(findings))
    asked.append(count(len(findings.comparisons), "comparison"))
    asked.append(
        f"{count(findings.report.n_removed, 'citation')} cleaned from the report"
        if findings.cleaning != "none"
        else "citations left in"
    )
    return "; ".join(asked)


def _order(comparison: Comparison) -> str:
    return f"report {'first' if comparison.target_first else 'second'}, draw {comparison.draw + 1}"


CLEANED = "citations are taken out before the judge reads"


def _clean_text(document: Document) -> str:
    """Return the words that the judge is shown."""
    return clean(document).text


class Race(BaseProtocol[RaceSettings, RaceFindings]):
    """RACE: reference-based, adaptive criteria, dynamic weights (DeepResearch Bench, section 3.1)."""

    name = "race"
    version = "3"
    profiles = ("paper", "upstream")
    settings_type = RaceSettings
    findings_type = RaceFindings
    places: ClassVar[Mapping[str, Place]] = {
        "comprehensiveness": Place(vertical="compliance"),
        "insight": Place(vertical="depth"),
        "instruction_following": Place(vertical="compliance"),
        "readability": Place(vertical="presentation"),
        "overall": Place(aside=WHOLE),
        "noise": Place(scale=None, aside=DIAGNOSTIC),
        "position_bias": Place(scale=None, aside=DIAGNOSTIC),
    }
    sensitivity_probes = (
        SensitivityProbe(
            "overall",  # one token a report
            {"mode": "vanilla", "scoring": "expected"},
            expectations(
                "overall",
                ("dropped", "contradiction", "reasoning"),
                {"moved_citations": CLEANED, "shuffled_references": CLEANED},
            ),
        ),
    )
    injection_probes = (
        InjectionProbe(
            "overall",
            "score",
            {"mode": "vanilla", "scoring": "expected"},
            "overall",
            _clean_text,
        ),
    )

    def missing_inputs(self, task: Task | None) -> str | None:
        """Name the criteria or references that a report's task lacks, and where they may come from."""
        given = self.settings
        if task is None:
            return "no task; give --tasks"
        if given.mode != "vanilla" and given.criteria == "adaptive" and task.criteria is None:
            return (
                f"its task {task.id!r} has no criteria; give --criteria (`local-judge tasks draft criteria` makes "
                "them), or do without: --set race.criteria=static"
            )
        if given.mode == "reference" and not task.references:
            return (
                f"its task {task.id!r} has no reference report; give --references, or do without: "
                "--set race.mode=pointwise"
            )
        return None

    def data_digest(self) -> str | None:
        """Digest of the static criteria, where they are used. Raises ConfigError: their file cannot be used."""
        if self.settings.criteria == "adaptive" or self.settings.mode == "vanilla":
            return None
        return hashlib.sha256(
            static_criteria(self.settings.criteria_file).model_dump_json().encode()
        ).hexdigest()

    def original_prompts(self, source: PromptSource) -> Original:
        """Return the prompts of DeepResearch Bench."""
        given = self.settings
        for name, value, wanted in (
            ("mode", given.mode, ("reference",)),
            ("calls", given.calls, ("task",)),
            ("cleaning", given.cleaning, ("judge", "none")),
        ):
            if value not in wanted:
                choices = " or ".join(f"--set race.{name}={one}" for one in wanted)
                raise ConfigError(
                    f"race.{name}={value}: not in the published code; with its prompts, give {choices}"
                )
        return original(self.name, source, RACE)

    async def examine(self, case: Case, context: EvalContext) -> RaceFindings:
        """Return all comparisons of one report.

        Raises:
            ConfigError: its task lacks what the settings need, or the judge does not sample and should.
        """
        lacking = self.missing_inputs(case.task)
        if lacking is not None or case.task is None:
            raise ConfigError(f"race: report {case.id!r}: {lacking}")
        prompts = None if context.prompts is None else self.original_prompts(context.prompts)
        settings = self.settings
        if prompts is not None:  # the published prompt shows the report first
            settings = settings.model_copy(update={"order": "paper"})
        return await judge_race(case.id, case.report, case.task, context.judge, settings, prompts)

    def score(self, judges: Sequence[RaceFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """Four dimensions and the overall score, 0 to 100 (50: as good as the reference); noise and position bias.

        Of several judges: by the means of their scores of each criterion.
        """
        return score(judges, profile)

    def decisions(self, findings: RaceFindings) -> tuple[Decision, ...]:
        """Return the report's and the reference's scores, and which of the two is better by each criterion."""
        return tuple(
            decision
            for comparison in findings.comparisons
            for item in comparison.scores
            for decision in _decisions(item, comparison)
        )

    def items(self, findings: RaceFindings) -> Iterator[ItemRow]:
        """Yield the scores of the report and of the reference by each criterion, 0 to 10."""
        criteria = findings.criteria.dimensions if findings.criteria else ()
        texts = {
            criterion.id: criterion.criterion for dimension in criteria for criterion in dimension.criteria
        }
        for comparison in findings.comparisons:
            for one in comparison.scores:
                whose = {"report": one.target}
                if comparison.reference is not None:
                    whose[f"reference {comparison.reference + 1}"] = one.reference
                for name, points in whose.items():
                    item = f"{one.id}, {name}, {_order(comparison)}"
                    yield one.row(_dimension(one), item, points, texts.get(one.id, findings.request))

    def view(self, findings: RaceFindings, paper: Sequence[ScoreNode], items: bool) -> View:
        """Return a line on what was compared."""
        return super().view(findings, paper, items)._replace(lines=(race_line(findings),))

    def file_format(self) -> FileFormat[RaceFindings]:
        """See `export`."""
        return RaceFiles()


def _decisions(scored: CriterionScore, comparison: Comparison) -> Iterator[Decision]:
    item = f"{comparison.reference}.{comparison.target_first}.{comparison.draw}.{scored.id}"
    yield Decision(metric=_dimension(scored), item=item, value=scored.target, scale="interval")
    if comparison.reference is not None:
        yield Decision(metric="reference", item=item, value=scored.reference, scale="interval")
        yield Decision(metric="preference", item=item, value=_preferred_report(scored), scale="nominal")


def _dimension(scored: CriterionScore) -> str:
    return VANILLA if scored.id == VANILLA else scored.id.rpartition(".")[0]


def _preferred_report(scored: CriterionScore) -> str | None:
    if scored.target is None or scored.reference is None:
        return None
    if scored.target == scored.reference:
        return "neither"
    return "report" if scored.target > scored.reference else "reference"
