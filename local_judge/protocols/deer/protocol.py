"""DEER: expert rubric, and verification of every claim.

Invariant: verification asks no judge by itself: the claim set has every verdict that its ten metrics need. The rubric's
questions are asked while the claim set is being made, since both share the report as prefix.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import ValidationError

from local_judge.base.errors import ConfigError, first_problem
from local_judge.claims.build import ClaimMethod
from local_judge.claims.config import ClaimsConfig
from local_judge.protocols.base import (
    BaseProtocol,
    Case,
    Decision,
    EvalContext,
    OriginalVerifier,
    View,
)
from local_judge.protocols.deer.export import DeerFiles
from local_judge.protocols.deer.findings import DeerFindings
from local_judge.protocols.deer.original_prompts import prompts_from
from local_judge.protocols.deer.overall import Report, over_reports, score
from local_judge.protocols.deer.rubric import original_prompts
from local_judge.protocols.deer.rubric.judging import judge_rubric
from local_judge.protocols.deer.rubric.load import load_rubric, rubric_digest
from local_judge.protocols.deer.rubric.model import decisions_on_rubric, items_of_rubric
from local_judge.protocols.deer.rubric.tables import cost_table, costs, rubric_line
from local_judge.protocols.deer.settings import DeerSettings
from local_judge.protocols.deer.verification.original_verification import (
    PASSAGES,
    claim_method,
    page_verifier,
)
from local_judge.protocols.deer.verification.rows import decisions_on_rows, rows_of
from local_judge.protocols.file_formats import FileFormat
from local_judge.protocols.originals import Original, PromptSource
from local_judge.protocols.probes import InjectionProbe, SensitivityProbe, citation_expectations, expectations
from local_judge.protocols.stated import stated_trees
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.node import ONE_TO_TEN, TEN, WHOLE, Place, Profile, ScoreNode
from local_judge.tasks.model import Task


def _report(judges: Sequence[DeerFindings], profile: Profile = "upstream") -> Report:
    """Return the parts of a report's findings."""
    stated = judges[0].stated
    return Report(
        [judge.rows for judge in judges if judge.rows is not None],
        [one.rubric for one in judges if one.rubric is not None],
        stated_trees(stated, profile) if stated is not None else (),
    )


class Deer(BaseProtocol[DeerSettings, DeerFindings]):
    """Seven dimensions: five by an expert rubric, two by verification of every claim (DEER, section 4)."""

    name = "deer"
    version = "6"
    profiles = ("paper", "upstream")
    settings_type = DeerSettings
    findings_type = DeerFindings
    places: ClassVar[Mapping[str, Place]] = {
        "request_fulfillment": Place(vertical="compliance", scale=ONE_TO_TEN),
        "analytical_soundness": Place(vertical="depth", scale=ONE_TO_TEN),
        "structural_coherence": Place(vertical="presentation", scale=ONE_TO_TEN),
        "format_style": Place(vertical="presentation", scale=ONE_TO_TEN),
        "information_integrity": Place(vertical="sources", scale=TEN),
        "information_sufficiency": Place(vertical="sources", scale=TEN),
        "ethics_compliance": Place(vertical="compliance", scale=ONE_TO_TEN),
        "recency": Place(vertical="sources", scale=ONE_TO_TEN),
        "information_integrity/reference_quality/recency": Place(
            scale=ONE_TO_TEN, aside="counts in the published code only"
        ),
        "overall": Place(scale=TEN, aside=WHOLE),
    }
    sensitivity_probes = (
        SensitivityProbe(
            "verification",
            {"parts": ["verification"], "upstream_pairs": False},
            citation_expectations("information_integrity/citation_support"),
        ),
        SensitivityProbe(
            "rubric",
            {"parts": ["rubric"]},
            (
                *expectations("request_fulfillment", ("dropped",)),
                *expectations("analytical_soundness", ("contradiction", "reasoning")),
                *expectations("structural_coherence", ("contradiction",)),
            ),
        ),
    )
    injection_probes = (
        InjectionProbe("overall", "score", {"parts": ["rubric"], "mode": "vanilla"}, "overall"),
    )

    def __init__(self, settings: DeerSettings | None = None) -> None:
        super().__init__(settings)
        # Here, so that a faulty rubric ends a run before it begins.
        self._rubric = load_rubric(Path(self.settings.rubric) if self.settings.rubric else None)

    @property
    def needs_claims(self) -> bool:
        """Verification does."""
        return "verification" in self.settings.parts

    @property
    def reads_upstream_pairs(self) -> bool:
        """`upstream` does, unless it is set not to."""
        return self.needs_claims and self.settings.upstream_pairs

    def claim_settings(self, claims: ClaimsConfig) -> ClaimsConfig:
        """Return the claim set's settings with the paper's passages, if `evidence` is `paper`."""
        if not self.needs_claims or self.settings.evidence != "paper":
            return claims
        for name, value in PASSAGES.items():
            if name in claims.model_fields_set and getattr(claims, name) != value:
                raise ConfigError(
                    f"deer.evidence=paper: sets claims.{name} to {json.dumps(value)}; leave claims.{name} out"
                )
        try:
            return ClaimsConfig.model_validate({**claims.model_dump(exclude_unset=True), **PASSAGES})
        except ValidationError as error:
            problem = first_problem(error, model=ClaimsConfig, below="claims", noun="setting")
            raise ConfigError(f"deer.evidence=paper: {problem}") from None

    @property
    def without_task(self) -> str | None:
        """The rubric needs one: what a report should do, its task says."""
        return "--set deer.parts=[verification]" if "rubric" in self.settings.parts else None

    def missing_for_prompts(self, task: Task | None) -> str | None:
        """The published prompts of the rubric show the task's guidance."""
        if "rubric" in self.settings.parts and (task is None or task.guidance is None):
            return "its task has no guidance, which the published prompts show; give --guidance"
        return None

    def data_digest(self) -> str:
        """Return the digest of the rubric's texts."""
        return rubric_digest(self._rubric)

    def original_prompts(self, source: PromptSource) -> Original:
        """Return the published prompts."""
        given, defaults = self.settings, DeerSettings()
        for name in ("rubric", "mode", "scale", "as_of"):
            value = getattr(given, name)
            if value != getattr(defaults, name):
                raise ConfigError(
                    f"deer.{name}={value}: not in the published code; leave it out with its prompts"
                )
        return prompts_from(source)

    def original_claims(self, source: PromptSource) -> ClaimMethod | None:
        """Return the extraction and verification with the published prompts."""
        return claim_method(prompts_from(source)) if self.needs_claims else None

    def original_verifier(self, source: PromptSource) -> OriginalVerifier:
        """Return the prompt that verifies claims about a page."""
        prompts = prompts_from(source)
        return OriginalVerifier(prompts, page_verifier(prompts))

    async def examine(self, case: Case, context: EvalContext) -> DeerFindings:
        """Grades of the rubric's items, and the rows of the report's claim set.

        Raises:
            ConfigError: the rubric is to be judged and the report has no task.
        """
        rubric = None
        if "rubric" in self.settings.parts:
            if case.task is None:
                raise ConfigError(f"report {case.id!r} has no task, which DEER's rubric needs")
            if context.prompts is None:
                rubric = await judge_rubric(
                    case.report, case.task, context.judge, self._rubric, self.settings
                )
            else:
                prompts = prompts_from(context.prompts)
                rubric = await original_prompts.judge_rubric(
                    case.report, case.task, context.judge, self._rubric, prompts
                )
        rows = rows_of(await context.claims(), case.report) if self.needs_claims else None
        return DeerFindings(case=case.id, document=case.report.id, rows=rows, rubric=rubric)

    def score(self, judges: Sequence[DeerFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        """Return the dimensions that were examined, and their mean, on scales that end at 10.

        Of several judges: by their votes on each claim and source, and the mean of their scores of each item.
        """
        rows, rubrics, stated = _report(judges, profile)
        return score(rows, rubrics, profile, stated)

    def aggregate(
        self, reports: Sequence[Sequence[DeerFindings]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        """Return the dimensions of `final.json` in `upstream`; in `paper` they are means of the reports' scores."""
        return over_reports(map(_report, reports), n_missing) if profile == "upstream" else ()

    def decisions(self, findings: DeerFindings) -> tuple[Decision, ...]:
        """Scores of items by dimension, whether they apply, verdicts on claims, the reliability of sources.

        Decisions by code are left out.
        """
        rubric = decisions_on_rubric(findings.rubric) if findings.rubric is not None else ()
        rows = decisions_on_rows(findings.rows) if findings.rows is not None else ()
        return (*rubric, *rows)

    def items(self, findings: DeerFindings) -> Iterator[ItemRow]:
        """Yield the answers of the rubric."""
        if findings.rubric is not None:
            yield from items_of_rubric(findings.rubric)

    def view(self, findings: DeerFindings, paper: Sequence[ScoreNode], items: bool) -> View:
        """Return the rubric's answers, and what they cost."""
        rubric = findings.rubric
        if rubric is None:
            return View({"rubric": None, "costs": []})
        cost = costs(paper, rubric) if paper else ()
        data = {
            "costs": [one.model_dump(mode="json") for one in cost],
            "rubric": rubric.model_dump(mode="json") if items else None,
        }
        return View(data, (rubric_line(rubric),), (cost_table(cost, rubric),) if cost else ())

    def file_format(self) -> FileFormat[DeerFindings]:
        """Return the published project's files: see `files`."""
        return DeerFiles()
