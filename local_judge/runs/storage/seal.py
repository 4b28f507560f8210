"""Seal of a finished run: the digests of its files, in its manifest.

Invariants: a finished run is read only if no file is missing and none was added, and a file only if it matches the
seal; of claims and findings, only the lines that are read. If the user allows modified runs, all files are compared
first, and every output names the differences. The seal contains no clock time, so equal runs have equal seals. It
detects accidental changes: anyone who can write the directory can also write a new seal.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field, ValidationError

from local_judge.agents.result import EVIDENCE_GAPS
from local_judge.base.errors import RunError, brief, os_errors
from local_judge.base.model import Frozen
from local_judge.documents.health import Problem
from local_judge.ledger.requests import sha256
from local_judge.runs.storage.items import Index, claims_file, digest_of, file_key, index_of, is_item_file
from local_judge.runs.storage.manifest_file import manifest_data
from local_judge.runs.storage.store import CASES, INPUTS, MANIFEST, RunStore, canonical

AGREEMENT = "agreement.jsonl"
FOLDERS = ("claims", "findings", "scores")
FILES = (INPUTS, CASES, claims_file(None), index_of(claims_file(None)), EVIDENCE_GAPS, AGREEMENT)

NAMED = 20
"""Maximum number of files named in one message."""
NAMED_REPORTS = 3
"""Maximum number of reports named for one file."""

_OTHER_MANIFEST = f"{MANIFEST} differs from the seal"
_UNREADABLE_SEAL = f"the seal in {MANIFEST} cannot be read"

_SEEN: ContextVar[dict[str, None] | None] = ContextVar(
    "differences of modified runs that were read", default=None
)


class Seal(Frozen):
    """Value of `seal` in a manifest."""

    files: dict[str, str]
    """SHA-256 by name, of every file of the run except manifest, journal and ledger."""
    manifest: str
    """SHA-256 of the manifest without its seal, as canonical JSON."""
    problems: dict[str, tuple[Problem, ...]] = Field(default_factory=dict[str, tuple[Problem, ...]])
    """Reports, by id, of which citations were not read, as in `cases.jsonl`."""


@contextmanager
def modified_allowed() -> Generator[None]:
    """Let the block read runs that differ from their seals."""
    token = _SEEN.set({})
    try:
        yield
    finally:
        _SEEN.reset(token)


def modifications() -> tuple[str, ...]:
    """Return the known differences between runs and seals, a line each; none outside `modified_allowed`."""
    return tuple(_SEEN.get() or ())


def check_seal(store: RunStore, *, rescoring: bool = False) -> None:
    """Check the list of files of a finished run against its seal, once per `store`; each is compared when it is read.

    Args:
        store: the run.
        rescoring: whether its scores are about to be computed again, so that an interrupted rescoring is accepted; all
            files are compared first.

    Raises:
        RunError: the manifest differs, a file is missing or was added, or the run has no seal; names them. Not inside
            `modified_allowed`.
    """
    if store.checked:
        return
    seen = _SEEN.get()
    found = differences(store, rescoring=rescoring, contents=rescoring or seen is not None)
    if not found:
        manifest = manifest_data(store)
        seal = seal_of(manifest)
        store.digests.update(seal.files if seal else {})
        store.remedy = _remedy(manifest)
    elif seen is None:
        if {_OTHER_MANIFEST, _UNREADABLE_SEAL} & set(found):
            remedy = f"restore {MANIFEST} from a copy"
        else:
            remedy = _remedy(manifest_data(store))
        listed = ", ".join(found[:NAMED]) + (f" and {len(found) - NAMED} more" if len(found) > NAMED else "")
        raise RunError(
            f"{store.root}: modified since the run ended: {listed}; {remedy}, --allow-modified reads it anyway"
        )
    else:
        seen.update(dict.fromkeys(f"{store.root}: {one}" for one in found))
    store.checked = True


def _remedy(manifest: dict[str, Any]) -> str:
    if "imported" in manifest:
        return "import the files again into another folder"
    return "the command that made the run restores it"


def differences(store: RunStore, *, rescoring: bool = False, contents: bool = True) -> list[str]:
    """Return the differences between the files of a finished run and its seal, in order of file names.

    Args:
        store: the run.
        rescoring: whether to ignore the scores if the seal lists none (see `unseal_scores`).
        contents: whether to compare the contents of all files, and not only manifest and names.

    Raises:
        RunError: as `manifest_data`.
    """
    manifest = manifest_data(store)
    try:
        seal = seal_of(manifest)
    except ValidationError:
        return [_UNREADABLE_SEAL]
    if seal is None:
        return [f"{MANIFEST} has no seal"]
    found = [_OTHER_MANIFEST] if content_digest(manifest) != seal.manifest else []
    there = run_files(store.root)
    if rescoring and not any(map(is_score, seal.files)):
        there = [name for name in there if not is_score(name)]
    for name in sorted({*there, *seal.files}):
        if name not in there:
            found.append(f"{name} is missing")
        elif name not in seal.files:
            found.append(f"{name} is not in the seal")
        elif contents and store.file_digest(name) != seal.files[name]:
            found.append(f"{name} differs from the seal{_altered(store, name, seal)}")
    return found


def _altered(store: RunStore, name: str, seal: Seal) -> str:
    """Return the ids of the reports whose items differ from an index that matches the seal, in parentheses."""
    if not is_item_file(name) or index_of(name) not in seal.files:
        return ""
    content = store.read_bytes(index_of(name))
    if digest_of(content) != seal.files[index_of(name)]:
        return ""
    now = Index.of(store.root / name)
    digests = {place.key: place.sha256 for place in now}
    keys = [place.key for place in Index(content) if digests.get(place.key) != place.sha256]
    ids = {file_key(row["id"]): str(row["id"]) for row in store.inputs()}
    shown = [brief(ids.get(key, key)) for key in keys[:NAMED_REPORTS]]
    more = f" and {len(keys) - NAMED_REPORTS} more" if len(keys) > NAMED_REPORTS else ""
    return f" (of {', '.join(shown)}{more})" if shown else ""


def seal_run(store: RunStore, problems: Mapping[str, tuple[Problem, ...]] = MappingProxyType({})) -> None:
    """Seal the files written through `store`, and remove other files of earlier attempts.

    Args:
        store: the run.
        problems: what was not read of its reports, by id.

    Raises:
        RunError: a file was changed after it was written.
    """
    there = run_files(store.root)
    files = {name: digest for name, digest in store.digests.items() if is_run_file(name)}
    _remove(store, (name for name in there if name not in files))
    changed = [name for name in sorted(files) if name not in there or store.file_digest(name) != files[name]]
    if changed:
        raise RunError(
            f"{store.root}: changed during the run: {', '.join(changed[:NAMED])}; the same command restores it"
        )
    store.write_json(MANIFEST, sealed_as(unsealed(manifest_data(store)), files, problems))
    store.checked = True


def unseal_scores(store: RunStore) -> None:
    """Remove the scores from the seal of a run, before they are computed again.

    If the rescoring is interrupted, the run then counts as unfinished and not as modified, and the same command
    continues. A run with other modifications is left unchanged.
    """
    if differences(store, rescoring=True):
        return
    manifest = manifest_data(store)
    seal = seal_of(manifest)
    if seal is not None:
        files = {name: digest for name, digest in seal.files.items() if not is_score(name)}
        store.write_json(
            MANIFEST, {**manifest, "seal": seal.model_copy(update={"files": files}).model_dump()}
        )


def reseal_scores(store: RunStore) -> None:
    """Add the scores written through `store` to the seal.

    A run without a seal gets none. If a file that scores are computed from differs from the seal, the seal stays
    unchanged: scores of modified findings must not count as sealed after the findings are restored.
    """
    manifest = manifest_data(store)
    try:
        seal = seal_of(manifest)
    except ValidationError:  # modified with permission, and stays so
        return
    kept = {name: digest for name, digest in seal.files.items() if not is_score(name)} if seal else {}
    there = [name for name in run_files(store.root) if not is_score(name)]
    if (
        seal is None
        or content_digest(manifest) != seal.manifest
        or {name: store.file_digest(name) for name in there} != kept
    ):
        return
    scores = {name: digest for name, digest in store.digests.items() if is_score(name)}
    _remove(store, (name for name in run_files(store.root) if is_score(name) and name not in scores))
    sealed = seal.model_copy(update={"files": kept | scores})
    store.write_json(MANIFEST, {**manifest, "seal": sealed.model_dump()})


def seal_of(manifest: dict[str, Any]) -> Seal | None:
    """Return the seal of a manifest; None for an unfinished run. Raises ValidationError: it is not a seal."""
    return Seal.model_validate(manifest["seal"]) if "seal" in manifest else None


def sealed_as(
    manifest: dict[str, Any],
    files: dict[str, str],
    problems: Mapping[str, tuple[Problem, ...]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return a manifest with a seal over itself and these files."""
    seal = Seal(files=files, manifest=content_digest(manifest), problems=dict(problems))
    return {**manifest, "seal": seal.model_dump()}


def unsealed(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest without its seal."""
    return {key: value for key, value in manifest.items() if key != "seal"}


def content_digest(manifest: dict[str, Any]) -> str:
    """Return the SHA-256 of a manifest without its seal."""
    # Bytes of a command line that are not UTF-8 count as their escapes, as they are written.
    return sha256(canonical(unsealed(manifest)).encode("utf-8", "backslashreplace").decode())


def is_run_file(name: str) -> bool:
    """Check whether a file of this name belongs under the seal."""
    return name.startswith(tuple(f"{folder}/" for folder in FOLDERS)) or name in FILES


def run_files(root: Path) -> list[str]:
    """Return the names of the files in a run directory that belong under its seal, in order.

    Raises:
        RunError: a folder leads out of the directory.
    """
    found = [name for name in FILES if (root / name).is_file()]
    for folder in FOLDERS:
        RunStore(root).check_inside(root / folder)
        found += [
            path.relative_to(root).as_posix()
            for path in (root / folder).rglob("*")
            if path.is_file() and not path.name.startswith(".")
        ]
    return sorted(found)


def is_score(name: str) -> bool:
    """Check whether a file of this name is computed from the findings."""
    return name.startswith("scores/") or name in (EVIDENCE_GAPS, AGREEMENT)


def _remove(store: RunStore, names: Iterable[str]) -> None:
    with os_errors(RunError, f"{store.root}: cannot be written"):
        for name in names:
            (store.root / name).unlink(missing_ok=True)
