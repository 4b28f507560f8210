"""Qualifies a judge: asks, measures, compares with thresholds, and writes the result.

    manifest.json         config (without thresholds), judge, digests of all inputs
    qualification.json    all data: settings, items, figures, verdicts, and the record that follows
    page.md               the page
    pages/                the packaged pages, as `snapshot import` takes them, if no snapshot was given
    snapshot/             snapshot of these pages
    planted/              planted claims, in the files of `local-judge lab plant`
    parts/, work/         see `parts_run`

Invariants: a directory continues only the qualification that it was begun with. Thresholds are not compared: they
change no question, so a page can be written again with other thresholds from the same answers. Whatever is written is a
function of the manifest and the judge's replies: a second start that makes no calls writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import local_judge
from local_judge.base.errors import InputError, RunError
from local_judge.base.files import remove_partials
from local_judge.base.model import Frozen
from local_judge.judge.qualification_record import (
    FORMAT,
    PeopleFigure,
    ProtocolVerdict,
    QualificationRecord,
    Scale,
    in_all,
    qualification_digest,
)
from local_judge.lab.annotations.load import SAMPLE
from local_judge.lab.labelled.load import load_sets
from local_judge.lab.labelled.model import LabelledClaim
from local_judge.lab.planting.claims import Cell
from local_judge.lab.planting.commands import write_claims
from local_judge.lab.qualification.config import QualifyConfig
from local_judge.lab.qualification.material import Material, Subject, material_of
from local_judge.lab.qualification.model import Figure, PartName, PartRecord
from local_judge.lab.qualification.parts import PARTS
from local_judge.lab.qualification.parts_run import Watch, ask_parts, figures_of
from local_judge.lab.qualification.thresholds import check, people_of, uncounted, verdicts_of
from local_judge.ledger.requests import canonical, sha256
from local_judge.runs.execution.judges import JudgeSpec
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.lock import locked
from local_judge.runs.storage.manifest import difference, prompts_digest
from local_judge.runs.storage.store import RunStore
from serving.engines import PERSISTENT, Persistence
from serving.types import EngineIdentity, Sampling

DATA, PAGE, MANIFEST = "qualification.json", "page.md", "manifest.json"
COMPARED = ("config", "judge", "snapshot", "claims", "labels", "reports", "prompts")
"""Keys of the manifest that must be the same when a directory is continued."""
BEFORE = ("pages", "snapshot", "planted")
"""Folders that are written before the manifest: an interrupted start may leave them alone in the directory."""


class Examined(Frozen):
    """Subject of a qualification."""

    snapshot: str
    """Digest of the snapshot."""
    own_pages: bool
    """True if the user gave the pages."""
    n_pages: int
    """Number of pages with planted claims."""
    cells: tuple[Cell, ...]
    """Number of planted claims by kind, language and length of the page."""
    reports: tuple[str, ...]
    """Ids of the reports."""
    own_reports: bool
    notes: tuple[str, ...]


class Qualification(Frozen):
    """Result of a qualification. `qualification.json`, with the record that follows from it."""

    judge: str
    """Name of the preset."""
    identity: EngineIdentity
    sampling: Sampling
    prompts: str = ""
    """SHA-256 of the prompts."""
    scale: Scale
    config: QualifyConfig
    examined: Examined
    asked: tuple[PartRecord, ...]
    figures: tuple[Figure, ...]
    verdicts: tuple[ProtocolVerdict, ...]
    people: tuple[PeopleFigure, ...] = ()
    """Figures on labelled claims that decided verdicts."""
    uncounted: tuple[PeopleFigure, ...] = ()
    """Figures on labelled claims in place of which planted claims decided."""
    packaged: bool = False
    """True if the labelled claims are the packaged ones in other words."""

    @property
    def parts(self) -> tuple[PartName, ...]:
        """Names of the parts that were run."""
        return tuple(one.part for one in self.asked)

    @property
    def left_out(self) -> list[PartName]:
        """Names of the parts that the settings leave out."""
        return [name for name in PARTS if name not in self.parts]

    @property
    def n_unanswered(self) -> int:
        """Number of items without an answer."""
        return sum(item.failure is not None for one in self.asked for item in one.items)

    def record(self) -> QualificationRecord:
        """Return the summary that is remembered for the judge."""
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
            people=self.people,
            uncounted=self.uncounted,
            packaged=self.packaged,
        )


def thresholds_digest(config: QualifyConfig) -> str:
    """Return the SHA-256 of the thresholds."""
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
    """Run the parts that the config chooses, and write the result.

    Args:
        judge_spec: the judge.
        config: sizes of the parts, and the thresholds.
        scale: the packaged settings that the config starts from.
        out: directory of the qualification; the same command continues it.
        snapshot: the user's snapshot; None for the packaged pages.
        reports: the user's reports; None for the packaged ones.
        offline: refuse every connection except to the judge's server.
        persistence: retries of a call, waiting time in an outage, and failed calls that stop a part.
        watch: displays each part while it runs.

    Raises:
        RunError: `out` contains other files, cannot be written, or another process is using it.
        InputError: no claims can be planted in the pages, or a file of labelled claims is invalid.
        EngineError: the judge cannot be reached at all.
        LedgerError: a reply could not be stored.
    """
    store = RunStore(out)
    check_folder(store)
    labels = load_sets([Path(given) for given in config.labels.claims])
    if snapshot is None and any(row.evidence is None for row in labels):
        raise InputError("--labels: claims with `url` need a snapshot of their pages; give --snapshot")
    with locked(out):
        material = material_of(config, out, snapshot, reports)
        subject = material.subject

        def begun(identity: EngineIdentity) -> None:
            claim_folder(store, manifest_of(judge_spec, identity, subject, config, labels))
            write_claims(out / "planted", material.draw, material.planted)

        shown: dict[str, Any] = {} if watch is None else {"watch": watch}
        shown |= {"offline": offline, "persistence": persistence}
        records = await ask_parts(judge_spec, subject, config, out, begun=begun, **shown)
        manifest = store.read_json(MANIFEST)
        figures = figures_of(records, config)
        checks = check(config.thresholds, figures, [one.part for one in records])
        found = Qualification(
            judge=judge_spec.name,
            identity=EngineIdentity.model_validate(manifest["judge"]["identity"]),
            sampling=judge_spec.preset.sampling,
            prompts=manifest["prompts"],
            scale=scale,
            config=config,
            examined=_examined(material),
            asked=tuple(records),
            figures=tuple(figures),
            verdicts=tuple(verdicts_of(checks)),
            people=people_of(checks),
            uncounted=uncounted(config.thresholds, figures, checks),
            packaged=config.labels.claims == (SAMPLE,) and not config.labels.reports,
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
        notes=tuple(material.notes()),
    )


def manifest_of(
    judge_spec: JudgeSpec,
    identity: EngineIdentity,
    subject: Subject,
    config: QualifyConfig,
    labels: Sequence[LabelledClaim] = (),
) -> dict[str, Any]:
    """Return the manifest as plain data."""
    preset = judge_spec.preset
    return {
        "local_judge": local_judge.__version__,
        "qualification": preset.name,
        "config": config.model_dump(mode="json", exclude={"thresholds"}),
        "judge": {
            "name": preset.name,
            "identity": identity.model_dump(mode="json"),
            "sampling": preset.sampling.model_dump(mode="json"),
            "threshold": preset.threshold,
        },
        "snapshot": subject.snapshot.digest,
        "claims": sha256(canonical([one.model_dump(mode="json") for one in subject.claims])),
        "labels": sha256(canonical([one.model_dump(mode="json") for one in labels])) if labels else None,
        "reports": [
            {
                "id": one.id,
                "sha256": one.digest(),
                "task_sha256": one.task and sha256(canonical(one.task.model_dump(mode="json"))),
            }
            for one in subject.reports
        ],
        "prompts": prompts_digest(),
    }


def check_folder(store: RunStore) -> None:
    """Refuse a directory that contains other files, before anything is written.

    Raises:
        RunError: it does, or it cannot be read.
    """
    try:
        names = sorted(entry.name for entry in store.root.iterdir()) if store.root.exists() else []
    except OSError as error:
        raise RunError(f"{store.root}: cannot hold a qualification ({error.strerror or error})") from None
    if MANIFEST in names:
        there: object = store.read_json(MANIFEST)
        if not isinstance(there, dict) or "qualification" not in there:
            raise RunError(
                f"{store.root}: contains something other than a qualification; choose another --out"
            )
    elif any(not name.startswith(".") and name not in BEFORE for name in names):
        raise RunError(f"{store.root}: not empty and no qualification; choose another --out")


def claim_folder(store: RunStore, manifest: dict[str, Any]) -> None:
    """Write the manifest, or check that the existing one describes the same questions.

    Raises:
        RunError: the directory was begun with other settings or inputs.
    """
    remove_partials(store.root)
    if not (store.root / MANIFEST).exists():
        store.write_json(MANIFEST, manifest)
        return
    there = cast("dict[str, Any]", store.read_json(MANIFEST))
    for key in COMPARED:
        if there.get(key) != manifest[key]:
            where = ".".join([key, *difference(there.get(key), manifest[key])])
            raise RunError(
                f"{store.root}: contains a qualification with another {key} ({where}); choose another --out, or "
                "delete it"
            )
