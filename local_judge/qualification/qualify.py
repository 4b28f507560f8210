"""A judge qualified: asked, measured, held against the thresholds, and written down.

    manifest.json         what it was made of
    qualification.json    all data: what was asked, items, figures, verdicts, and the standing that follows
    page.md               the page
    pages/, snapshot/     where no snapshot was given
    planted/              the planted claims
    parts/, work/         see `carry`

Invariant: whatever is written is a function of the manifest and the judge's replies; a second start that asks nothing
writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from local_judge.judge.requests import canonical, sha256
from local_judge.judge.standing import ProtocolVerdict, Scale, Standing, in_all, qualification_digest
from local_judge.planting.claims import Cell
from local_judge.qualification.carry import Watch, ask_parts, figures_of
from local_judge.qualification.config import PARTS, QualifyConfig
from local_judge.qualification.manifest import MANIFEST, check_folder, claim_folder, manifest_of
from local_judge.qualification.material import Material, material_notes, material_of, write_planted
from local_judge.qualification.model import Asked, Figure, PartName
from local_judge.qualification.thresholds import check, verdicts_of
from local_judge.runs.inputs import RawReport
from local_judge.runs.lock import locked
from local_judge.runs.seats import Seat
from local_judge.runs.store import RunStore
from serving.connect import PERSISTENT, Persistence
from serving.types import EngineIdentity, Frozen, Sampling

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
    """All that a qualification found. `qualification.json`, with the standing that follows from it."""

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

    def standing(self) -> Standing:
        """In short."""
        return Standing(
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
    seat: Seat,
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
        seat: the judge.
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
        return await _qualify(store, seat, config, scale, snapshot, reports, ask)


async def _qualify(
    store: RunStore,
    seat: Seat,
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
        claim_folder(store, manifest_of(seat, identity, subject, config))
        write_planted(material, out)

    asked = await ask(seat, subject, config, out, begun=begun)
    manifest = store.read_json(MANIFEST)
    identity = EngineIdentity.model_validate(manifest["judge"]["identity"])
    figures = figures_of(asked, config)
    found = Qualification(
        judge=seat.name,
        identity=identity,
        sampling=seat.preset.sampling,
        prompts=manifest["prompts"],
        scale=scale,
        config=config,
        examined=_examined(material),
        asked=tuple(asked),
        figures=tuple(figures),
        verdicts=tuple(verdicts_of(check(config.thresholds, figures, [one.part for one in asked]))),
    )
    store.write_json(
        DATA, {**found.model_dump(mode="json"), "standing": found.standing().model_dump(mode="json")}
    )
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
