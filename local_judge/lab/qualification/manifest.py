"""What a qualification was made of.

Invariant: a directory takes up only the qualification that it was begun with. Thresholds are no part of it: they change
no question, so a page may be written again with others, from the same answers.
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

import local_judge
from local_judge.errors import RunError
from local_judge.judge.requests import canonical, sha256
from local_judge.lab.qualification.config import QualifyConfig
from local_judge.lab.qualification.parts_run import Subject
from local_judge.runs.inputs import RawReport
from local_judge.runs.judge_specs import JudgeSpec
from local_judge.runs.manifest import difference, prompts_digest
from local_judge.runs.store import RunStore
from serving.types import EngineIdentity

MANIFEST = "manifest.json"
COMPARED = ("config", "judge", "snapshot", "claims", "reports", "prompts")


def manifest_of(
    judge_spec: JudgeSpec, identity: EngineIdentity, subject: Subject, config: QualifyConfig
) -> dict[str, Any]:
    """As plain data."""
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
        "reports": [
            {
                "id": one.id,
                "sha256": hashlib.sha256(one.content).hexdigest(),
                "task_sha256": _task_digest(one),
            }
            for one in subject.reports
        ],
        "prompts": prompts_digest(),
    }


def _task_digest(report: RawReport) -> str | None:
    """Over all that a task has: criteria, checklist, references and the rest."""
    return None if report.task is None else sha256(canonical(report.task.model_dump(mode="json")))


def check_folder(store: RunStore) -> None:
    """Refuse a directory that holds something else, before anything is put into it.

    Raises:
        RunError: it does, or cannot be read.
    """
    try:
        names = sorted(entry.name for entry in store.root.iterdir()) if store.root.exists() else []
    except OSError as error:
        raise RunError(f"{store.root}: cannot hold a qualification ({error.strerror or error})") from None
    if MANIFEST in names:
        there: object = store.read_json(MANIFEST)
        if not isinstance(there, dict) or "qualification" not in there:
            raise RunError(f"{store.root}: holds something else than a qualification; choose another --out")
    elif any(not name.startswith(".") and name not in BEFORE for name in names):
        raise RunError(f"{store.root}: not empty and no qualification; choose another --out")


BEFORE = ("pages", "snapshot", "planted")
"""What is there before the manifest is: a start that was killed may leave these."""


def claim_folder(store: RunStore, manifest: dict[str, Any]) -> None:
    """Write the manifest, or check that the one already there is of the same questions.

    Raises:
        RunError: the directory was begun with something else.
    """
    store.sweep()
    if not (store.root / MANIFEST).exists():
        store.write_json(MANIFEST, manifest)
        return
    there = cast("dict[str, Any]", store.read_json(MANIFEST))
    for key in COMPARED:
        if there.get(key) != manifest[key]:
            where = ".".join([key, *difference(there.get(key), manifest[key])])
            raise RunError(
                f"{store.root}: holds a qualification with another {key} ({where}); choose another --out, or delete it"
            )
