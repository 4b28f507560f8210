"""Directory of a build.

    build.json          config, judge, digest of the input, prompts, method for duplicates
    ledger.sqlite       the judge's replies, unless another ledger was named
    personas.jsonl, candidates.jsonl, given_away.jsonl, qualified.jsonl, baselines.jsonl, assessed.jsonl,
    duplicates.jsonl, missing.jsonl
                        results of the stages: see `model`
    votes.jsonl         one ballot per person
    tasks.jsonl         tasks that are kept, for `run --tasks`
    guidance.jsonl      points that a judge has drafted for them, for `run --guidance` and `tasks review guidance`
    audit.jsonl         every task that was dropped, failed or never made, with stage, reasons and values
    summary.json        counts by domain, and of texts that meet the conditions in their prompts

Invariants: a file is complete or unchanged; its contents follow from the ledger, the input, the config and the votes
alone, so that a build that was killed ends with the same bytes as one that was not; a directory continues only with
the settings it was started with, unless a command changes them on purpose.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from local_judge.base.errors import RunError
from local_judge.base.files import remove_partials
from local_judge.base.model import Frozen
from local_judge.base.rows import alone, write_jsonl
from local_judge.lab.task_construction.model import (
    Assessment,
    Baseline,
    Candidate,
    Generator,
    GivenAway,
    Likeness,
    Missing,
    Persona,
    Qualification,
    Stage,
)
from local_judge.lab.task_construction.outcome import Build, Condition, DomainCounts, Outcome, settle
from local_judge.lab.task_construction.ranking import Approval, Ballot
from local_judge.lab.task_construction.settings import BuildConfig
from local_judge.runs.storage.manifest import difference
from local_judge.runs.storage.store import RunStore
from local_judge.tasks.guidance import GUIDANCE_KIND, GuidanceRow
from serving.types import EngineIdentity

T = TypeVar("T", bound=BaseModel)

MANIFEST, SUMMARY, GUIDANCE = "build.json", "summary.json", "guidance.jsonl"
_LISTS: dict[str, tuple[Stage, type[BaseModel]]] = {
    "personas": ("generate", Persona),
    "candidates": ("generate", Candidate),
    "given_away": ("generate", GivenAway),
}
"""Lists of a build, each kept in `<name>.jsonl`, with the stage that makes it."""
_BY_TASK: dict[str, tuple[str, Stage, type[Qualification | Baseline | Assessment | Likeness]]] = {
    "qualifications": ("qualified.jsonl", "qualify", Qualification),
    "baselines": ("baselines.jsonl", "baseline", Baseline),
    "assessments": ("assessed.jsonl", "necessity", Assessment),
    "likenesses": ("duplicates.jsonl", "duplicates", Likeness),
}
"""Decisions of a build by task id, with their files and the stages that make them."""
DERIVED = (
    *(f"{name}.jsonl" for name in (*_LISTS, "missing", "audit", "tasks")),
    *(file for file, _, _ in _BY_TASK.values()),
    SUMMARY,
)
"""Files that follow from the manifest and the ledger; votes and reviewed guidance do not."""
FORMAT = 1


class BuildManifest(Frozen):
    """Everything that determines a build."""

    format_version: int = FORMAT
    config: BuildConfig
    generator: Generator
    input_sha256: str | None
    """SHA-256 of the input file; None if tasks are made from the config's domains."""
    judge: EngineIdentity
    prompts: str
    """Digest of the prompt texts."""
    duplicates: str | None
    """Method for duplicates, with the digest of its model; None if duplicates are not removed."""


class Summary(Frozen):
    """Counts of the build."""

    domains: tuple[DomainCounts, ...]
    n_voters: int
    approvals: tuple[Approval, ...] = ()
    conditions: tuple[Condition, ...]
    complete: bool
    """True if every task is kept, dropped or failed."""


class BuildStore:
    """Reads and writes the directory of one build."""

    def __init__(self, root: Path) -> None:
        self._files = RunStore(root)
        self.root = root

    @property
    def ledger(self) -> Path:
        """Default path of the ledger."""
        return self._files.ledger

    def manifest(self) -> BuildManifest | None:
        """Return the manifest; None in an empty directory.

        Raises:
            RunError: The directory contains something else.
        """
        if (self.root / MANIFEST).exists():
            return self._files.read_model(MANIFEST, BuildManifest)
        try:
            names = sorted(entry.name for entry in self.root.iterdir()) if self.root.exists() else []
        except OSError as error:
            raise RunError(f"{self.root}: cannot be used for a build ({error.strerror or error})") from None
        if any(not name.startswith((".", self.ledger.name)) for name in names):
            raise RunError(f"{self.root}: not empty, and not a build; choose another directory")
        return None

    def existing(self) -> BuildManifest:
        """Return the manifest. Raises RunError if there is no build."""
        found = self.manifest()
        if found is None:
            raise RunError(
                f"{self.root}: contains no build; start one with `local-judge tasks build {self.root} --judge`"
            )
        return found

    def begin(self, wanted: BuildManifest, *, change: bool) -> None:
        """Write the manifest, or check that the existing one is the same.

        Args:
            wanted: Manifest of the command.
            change: Replace a different manifest.

        Raises:
            RunError: The directory was started with different settings.
        """
        there = self.manifest()
        remove_partials(self._files.root)
        if there is not None and there != wanted and not change:
            before, now = there.model_dump(mode="json"), wanted.model_dump(mode="json")
            differing = ".".join(difference(before, now))
            raise RunError(
                f"{self.root}: the build was started with a different {differing}; use the same one, choose another "
                "directory, or add --change to make what depends on it again (replies in the ledger are reused)"
            )
        if there != wanted:
            self._clear()
        self._files.write_json(MANIFEST, wanted)

    def _clear(self) -> None:
        """Delete results of other settings, which must not be mixed with new ones."""
        try:
            for name in DERIVED:
                (self.root / name).unlink(missing_ok=True)
            self._clear_drafts()
        except OSError as error:
            raise RunError(f"{self.root}: cannot be written ({error.strerror or error})") from None

    def _clear_drafts(self) -> None:
        """Delete drafted guidance without a decision: `finish` does not replace existing rows."""
        path = self.root / GUIDANCE
        if not path.exists():
            return
        with alone(path):
            decided = [row for row in GUIDANCE_KIND.file(path).load().values() if row.status != "drafted"]
            if decided:
                write_jsonl(path, decided)
            else:
                path.unlink()

    def write(self, build: Build, stage: Stage) -> None:
        """Write the results of a stage."""
        for name, (own, _) in _LISTS.items():
            if own == stage:
                self._files.write_jsonl(f"{name}.jsonl", getattr(build, name))
        for name, (file, own, _) in _BY_TASK.items():
            if own == stage:
                self._files.write_jsonl(file, getattr(build, name).values())
        self._files.write_jsonl("missing.jsonl", build.missing)

    def read(self) -> Build:
        """Read what the stages have made so far."""
        lists: dict[str, Any] = {
            name: self._read(f"{name}.jsonl", model) for name, (_, model) in _LISTS.items()
        }
        by_task: dict[str, Any] = {
            name: {row.id: row for row in self._read(file, model)}
            for name, (file, _, model) in _BY_TASK.items()
        }
        return Build(**lists, **by_task, missing=self._read("missing.jsonl", Missing))

    def ballots(self) -> list[Ballot]:
        """Return the votes, ordered by name."""
        return self._read("votes.jsonl", Ballot)

    def add_ballot(self, ballot: Ballot) -> bool:
        """Store a person's votes; return whether they replace earlier ones."""
        with alone(self.root / "votes.jsonl"):
            every = {one.voter: one for one in self.ballots()}
            again = ballot.voter in every
            every[ballot.voter] = ballot
            self._files.write_jsonl("votes.jsonl", [every[voter] for voter in sorted(every)])
        return again

    def finish(self, build: Build, manifest: BuildManifest) -> Outcome:
        """Write tasks, guidance, audit and summary."""
        outcome = settle(build, manifest.config, self.ballots())
        self._files.write_jsonl("audit.jsonl", outcome.audit)
        self._files.write_jsonl("tasks.jsonl", outcome.kept)
        summary = Summary(
            domains=outcome.counts,
            n_voters=outcome.n_voters,
            approvals=outcome.approvals,
            conditions=outcome.conditions,
            complete=not any(counts.open for counts in outcome.counts),
        )
        self._files.write_json(SUMMARY, summary)
        self._draft_guidance(build, manifest.judge, outcome)
        return outcome

    def _draft_guidance(self, build: Build, judge: EngineIdentity, outcome: Outcome) -> None:
        """Add drafted guidance without changing rows that a person may have reviewed."""
        order = {line.id: place for place, line in enumerate(outcome.kept)}
        file = GUIDANCE_KIND.file(self.root / GUIDANCE)
        for one in build.candidates:
            if one.guidance and one.id in order:
                row = GuidanceRow(
                    task_id=one.id,
                    text="\n".join(f"- {point}" for point in one.guidance),
                    status="drafted",
                    task=one.prompt,
                    judge=judge,
                    replies=one.replies,
                )
                file.add(row, order)

    def _read(self, name: str, model: type[T]) -> list[T]:
        return self._files.read_models(name, model) if (self.root / name).exists() else []
