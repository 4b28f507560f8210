"""The directory of a build.

    build.json          what decides the build: config, judge, input by digest, prompts, method for duplicates
    ledger.sqlite       the judge's replies, unless another ledger was named
    personas.jsonl, candidates.jsonl, given_away.jsonl, qualified.jsonl, baselines.jsonl, assessed.jsonl,
    duplicates.jsonl, missing.jsonl
                        what the stages made and decided: see `tasks.building.model`
    votes.jsonl         one ballot a person
    tasks.jsonl         the tasks that are kept, for `run --tasks`
    guidance.jsonl      points that a judge has drafted for them, for `run --guidance` and `tasks guidance review`
    audit.jsonl         every task that was dropped, failed or never made, with stage, reasons and values
    summary.json        counts by domain, and of the conditions that texts were asked to meet

Invariants: a file is whole or as it was; what is written follows from the ledger, the input, the config and the votes
alone, so that a build that was killed ends in the same bytes as one that was not; a directory goes on only with what it
was begun with, unless it is told to change.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from local_judge.errors import RunError
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
from local_judge.lab.task_construction.ranking import Ballot
from local_judge.lab.task_construction.settings import BuildConfig
from local_judge.rows import alone, write_jsonl
from local_judge.runs.manifest import difference
from local_judge.runs.store import RunStore
from local_judge.tasks.guidance import GUIDANCE_KIND, GuidanceRow
from serving.types import EngineIdentity, Frozen

T = TypeVar("T", bound=BaseModel)

MANIFEST, SUMMARY, GUIDANCE = "build.json", "summary.json", "guidance.jsonl"
DERIVED = (
    "personas.jsonl",
    "candidates.jsonl",
    "given_away.jsonl",
    "qualified.jsonl",
    "baselines.jsonl",
    "assessed.jsonl",
    "duplicates.jsonl",
    "missing.jsonl",
    "audit.jsonl",
    "tasks.jsonl",
    SUMMARY,
)
"""All that follows from the manifest and the ledger; votes and reviewed guidance do not."""
FORMAT = 1


class BuildManifest(Frozen):
    """What a build is decided by."""

    format_version: int = FORMAT
    config: BuildConfig
    generator: Generator
    input_sha256: str | None
    """Of the file that tasks are made from; None where they are made from the config's domains."""
    judge: EngineIdentity
    prompts: str
    """Digest of the prompt texts."""
    duplicates: str | None
    """The method, with the digest of its model; None where they are not looked for."""


class Summary(Frozen):
    """Counts, for whoever reads the directory."""

    domains: tuple[DomainCounts, ...]
    n_voters: int
    conditions: tuple[Condition, ...]
    complete: bool
    """Whether every task that could be made is kept, dropped or failed."""


class BuildStore:
    """Reads and writes the directory of one build."""

    def __init__(self, root: Path) -> None:
        self._files = RunStore(root)
        self.root = root

    @property
    def ledger(self) -> Path:
        """Where the replies are kept unless told otherwise."""
        return self._files.ledger

    def manifest(self) -> BuildManifest | None:
        """What the directory was begun with; None for one that was not.

        Raises:
            RunError: it holds something else.
        """
        if (self.root / MANIFEST).exists():
            return self._files.read_model(MANIFEST, BuildManifest)
        try:
            names = sorted(entry.name for entry in self.root.iterdir()) if self.root.exists() else []
        except OSError as error:
            raise RunError(f"{self.root}: cannot hold a build ({error.strerror or error})") from None
        if any(not name.startswith((".", self.ledger.name)) for name in names):
            raise RunError(f"{self.root}: not empty and no build; choose another directory")
        return None

    def existing(self) -> BuildManifest:
        """As `manifest`. Raises RunError: there is no build."""
        found = self.manifest()
        if found is None:
            raise RunError(f"{self.root}: no build there; `local-judge tasks build {self.root}` begins one")
        return found

    def begin(self, wanted: BuildManifest, *, change: bool) -> None:
        """Write the manifest, or check that the one there is the same.

        Args:
            wanted: of the command.
            change: take it in the place of the one that is there.

        Raises:
            RunError: the directory was begun with something else.
        """
        there = self.manifest()
        self._files.sweep()
        if there is not None and there != wanted and not change:
            before, now = there.model_dump(mode="json"), wanted.model_dump(mode="json")
            differing = ".".join(difference(before, now))
            raise RunError(
                f"{self.root}: was begun with another {differing}; give what it was begun with, or choose another "
                "directory, or say --change: then what follows from the change is made anew, and no reply that the "
                "ledger has is asked for again"
            )
        if there != wanted:
            self._clear()
        self._files.write_json(MANIFEST, wanted)

    def _clear(self) -> None:
        """Take away what was made by other settings: it must not be read beside what is made by these."""
        try:
            for name in DERIVED:
                (self.root / name).unlink(missing_ok=True)
            self._clear_drafts()
        except OSError as error:
            raise RunError(f"{self.root}: cannot be written ({error.strerror or error})") from None

    def _clear_drafts(self) -> None:
        """Guidance that nobody has decided on: `finish` puts none in the place of a row that is there."""
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
        """Write what a stage has made."""
        rows: dict[Stage, dict[str, Sequence[BaseModel]]] = {
            "generate": {
                "personas.jsonl": build.personas,
                "candidates.jsonl": build.candidates,
                "given_away.jsonl": build.given_away,
            },
            "qualify": {"qualified.jsonl": list(build.qualifications.values())},
            "baseline": {"baselines.jsonl": list(build.baselines.values())},
            "necessity": {"assessed.jsonl": list(build.assessments.values())},
            "duplicates": {"duplicates.jsonl": list(build.likenesses.values())},
            "ranking": {},
        }
        for name, written in rows[stage].items():
            self._files.write_jsonl(name, written)
        self._files.write_jsonl("missing.jsonl", build.missing)

    def read(self) -> Build:
        """What the stages have made so far."""
        read = self._read
        return Build(
            personas=read("personas.jsonl", Persona),
            candidates=read("candidates.jsonl", Candidate),
            given_away=read("given_away.jsonl", GivenAway),
            qualifications={one.id: one for one in read("qualified.jsonl", Qualification)},
            baselines={one.id: one for one in read("baselines.jsonl", Baseline)},
            assessments={one.id: one for one in read("assessed.jsonl", Assessment)},
            likenesses={one.id: one for one in read("duplicates.jsonl", Likeness)},
            missing=read("missing.jsonl", Missing),
        )

    def ballots(self) -> list[Ballot]:
        """What people voted, by name."""
        return self._read("votes.jsonl", Ballot)

    def add_ballot(self, ballot: Ballot) -> bool:
        """Keep a person's votes in the place of those that they cast before; whether there were some."""
        with alone(self.root / "votes.jsonl"):
            every = {one.voter: one for one in self.ballots()}
            again = ballot.voter in every
            every[ballot.voter] = ballot
            self._files.write_jsonl("votes.jsonl", [every[voter] for voter in sorted(every)])
        return again

    def finish(self, build: Build, manifest: BuildManifest) -> Outcome:
        """Write what came of it: tasks, guidance, audit and summary."""
        outcome = settle(build, manifest.config, self.ballots())
        self._files.write_jsonl("audit.jsonl", outcome.audit)
        self._files.write_jsonl("tasks.jsonl", outcome.kept)
        summary = Summary(
            domains=outcome.counts,
            n_voters=outcome.n_voters,
            conditions=outcome.conditions,
            complete=not any(counts.open for counts in outcome.counts),
        )
        self._files.write_json(SUMMARY, summary)
        self._draft_guidance(build, manifest.judge, outcome)
        return outcome

    def _draft_guidance(self, build: Build, judge: EngineIdentity, outcome: Outcome) -> None:
        """Beside what a person may have reviewed there meanwhile."""
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
