"""A judge qualified: asked, measured, held against the thresholds, and written down.

    manifest.json         what it was made of
    qualification.json    all data: what was asked, items, figures, verdicts, and the record that follows
    page.md               the page
    pages/                where no snapshot was given: the packaged pages, as `snapshot import` takes them
    snapshot/             made of them
    planted/              the planted claims, in the files of `local-judge lab plant`
    parts/, work/         see `parts_run`

Invariants: whatever is written is a function of the manifest and the judge's replies; a second start that asks nothing
writes the same bytes. The same snapshot, reports and settings give the same questions; what could not be planted is
said.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from indexes.snapshot import Snapshot
from local_judge.judge.qualification_record import (
    FORMAT,
    ProtocolVerdict,
    QualificationRecord,
    Scale,
    in_all,
    qualification_digest,
)
from local_judge.judge.requests import canonical, sha256
from local_judge.lab.planting.claims import Cell, Draw, DrawSettings
from local_judge.lab.planting.commands import ClaimsSummary, plant_snapshot, write_claims
from local_judge.lab.qualification.config import PARTS, QualifyConfig
from local_judge.lab.qualification.manifest import MANIFEST, check_folder, claim_folder, manifest_of
from local_judge.lab.qualification.model import Asked, Figure, PartName
from local_judge.lab.qualification.parts.verification import TRUE
from local_judge.lab.qualification.parts_run import Subject, Watch, ask_parts, figures_of
from local_judge.lab.qualification.small.load import small_reports, small_snapshot
from local_judge.lab.qualification.thresholds import check, verdicts_of
from local_judge.runs.inputs import RawReport
from local_judge.runs.judge_specs import JudgeSpec
from local_judge.runs.lock import locked
from local_judge.runs.store import RunStore
from serving.connect import PERSISTENT, Persistence
from serving.types import EngineIdentity, Frozen, Sampling


class Material(NamedTuple):
    """What a judge is asked about, and where it is from."""

    subject: Subject
    draw: Draw
    planted: ClaimsSummary
    own_pages: bool
    """Whether these are the user's pages, and not the packaged ones."""
    own_reports: bool


def material_of(
    config: QualifyConfig, out: Path, snapshot: Path | None, reports: Sequence[RawReport] | None
) -> Material:
    """Plant claims in the snapshot, or in one made of the packaged pages.

    Args:
        config: how many.
        out: directory of the qualification.
        snapshot: the user's; None for the packaged pages.
        reports: the user's; None for the packaged ones.

    Raises:
        InputError: nothing can be planted in the pages.
        RunError: something cannot be written.
    """
    frozen = small_snapshot(out) if snapshot is None else Snapshot.open(snapshot)
    settings = DrawSettings(
        n=config.verification.claims, per_page=config.verification.per_page, seed=config.seed
    )
    draw, _, summary = plant_snapshot(frozen, settings)
    subject = Subject(frozen, draw.claims, small_reports() if reports is None else reports)
    return Material(subject, draw, summary, snapshot is not None, reports is not None)


def write_planted(material: Material, out: Path) -> None:
    """The planted claims, for whoever wants to read them. Raises InputError, RunError where one cannot be written."""
    write_claims(out / "planted", material.draw, material.planted)


def material_notes(material: Material) -> Iterator[str]:
    """What a reader of the page must know of it."""
    missing = [cell for cell in material.planted.cells if cell.filled < cell.wanted]
    if missing:
        listed = ", ".join(
            f"{cell.kind or TRUE} ({cell.language}) {cell.filled} of {cell.wanted}" for cell in missing
        )
        yield (
            f"{len(material.subject.claims)} of {material.planted.settings.n} claims were planted: the pages admit no "
            f"more of these kinds: {listed}."
        )
    others = ", ".join(f"{name} {n}" for name, n in material.planted.other_languages.items())
    if others:
        yield f"Nothing can be planted in pages of other languages, and nothing was asked of them: {others}."


DATA, PAGE = "qualification.json", "page.md"


class Examined(Frozen):
    """What a judge was asked about."""

    snapshot: str
    """Digest."""
    own_pages: bool
    """Whether the pages are the user's, and not the packaged ones."""
    n_pages: int
    """That claims are planted in."""
    cells: tuple[Cell, ...]
    """How many of which kind, by language and length of the page."""
    reports: tuple[str, ...]
    """Ids."""
    own_reports: bool
    notes: tuple[str, ...]


class Qualification(Frozen):
    """All that a qualification found. `qualification.json`, with the record that follows from it."""

    judge: str
    """Name of the preset."""
    identity: EngineIdentity
    sampling: Sampling
    prompts: str = ""
    """SHA-256 of the prompts."""
    scale: Scale
    config: QualifyConfig
    examined: Examined
    asked: tuple[Asked, ...]
    figures: tuple[Figure, ...]
    verdicts: tuple[ProtocolVerdict, ...]

    @property
    def parts(self) -> tuple[PartName, ...]:
        """Those that were asked."""
        return tuple(one.part for one in self.asked)

    @property
    def n_unanswered(self) -> int:
        """Items without an answer."""
        return sum(item.failure is not None for one in self.asked for item in one.items)

    def record(self) -> QualificationRecord:
        """In short."""
        return QualificationRecord(
            judge=self.judge,
            identity=self.identity,
            scale=self.scale,
            parts=self.parts,
            thresholds=thresholds_digest(self.config),
            prompts=self.prompts,
            qualification=qualification_digest(self.model_dump(mode="json")),
            in_all=in_all(self.verdicts),
            verdicts=self.verdicts,
        )


def thresholds_digest(config: QualifyConfig) -> str:
    """SHA-256 of the thresholds."""
    return sha256(canonical(config.model_dump(mode="json")["thresholds"]))


async def qualify(
    judge_spec: JudgeSpec,
    config: QualifyConfig,
    scale: Scale,
    out: Path,
    *,
    snapshot: Path | None = None,
    reports: Sequence[RawReport] | None = None,
    offline: bool = True,
    persistence: Persistence = PERSISTENT,
    watch: Watch | None = None,
) -> Qualification:
    """Ask a judge all that the config says, and write what was found.

    Args:
        judge_spec: the judge.
        config: how much, and the thresholds.
        scale: which of the packaged settings lie below.
        out: where all is kept; the same command continues it.
        snapshot: of the user; None for the packaged pages.
        reports: of the user; None for the packaged ones.
        offline: refuse every connection but to the judge's server.
        persistence: how often a call is sent, how long an outage is waited for, how many calls may fail.
        watch: shows each part while it is asked.

    Raises:
        RunError: `out` holds something else, cannot be written, or another process is at work in it.
        InputError: nothing can be planted in the pages.
        EngineError: the judge cannot be reached at all.
        LedgerError: a reply could not be stored.
    """
    store = RunStore(out)
    check_folder(store)
    with locked(out):
        given: dict[str, Any] = {} if watch is None else {"watch": watch}
        ask = partial(ask_parts, offline=offline, persistence=persistence, **given)
        return await _qualify(store, judge_spec, config, scale, snapshot, reports, ask)


async def _qualify(
    store: RunStore,
    judge_spec: JudgeSpec,
    config: QualifyConfig,
    scale: Scale,
    snapshot: Path | None,
    reports: Sequence[RawReport] | None,
    ask: Callable[..., Awaitable[list[Asked]]],
) -> Qualification:
    out = store.root
    material = material_of(config, out, snapshot, reports)
    subject = material.subject

    def begun(identity: EngineIdentity) -> None:
        claim_folder(store, manifest_of(judge_spec, identity, subject, config))
        write_planted(material, out)

    asked = await ask(judge_spec, subject, config, out, begun=begun)
    manifest = store.read_json(MANIFEST)
    identity = EngineIdentity.model_validate(manifest["judge"]["identity"])
    figures = figures_of(asked, config)
    found = Qualification(
        judge=judge_spec.name,
        identity=identity,
        sampling=judge_spec.preset.sampling,
        prompts=manifest["prompts"],
        scale=scale,
        config=config,
        examined=_examined(material),
        asked=tuple(asked),
        figures=tuple(figures),
        verdicts=tuple(verdicts_of(check(config.thresholds, figures, [one.part for one in asked]))),
    )
    record = found.record().model_dump(mode="json")
    store.write_json(DATA, {"format_version": FORMAT, **found.model_dump(mode="json"), "record": record})
    return found


def _examined(material: Material) -> Examined:
    subject = material.subject
    return Examined(
        snapshot=subject.snapshot.digest,
        own_pages=material.own_pages,
        n_pages=len({claim.text_digest for claim in subject.claims}),
        cells=material.planted.cells,
        reports=tuple(one.id for one in subject.reports),
        own_reports=material.own_reports,
        notes=tuple(material_notes(material)),
    )


def not_asked(found: Qualification) -> list[str]:
    """Parts that the settings leave out."""
    return [name for name in PARTS if name not in found.parts]
