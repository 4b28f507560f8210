"""The seal of a finished run: digests of its files, in its manifest.

Invariants: a finished run is read only if every file is what was sealed, none is missing and none was added; where the
reader has allowed otherwise, what differs is known to whoever prints. The seal holds no clock's time: equal runs have
equal seals. It shows changes that happen to files; whoever can write the directory can also write a new seal.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from local_judge.agents.result import EVIDENCE_GAPS
from local_judge.errors import RunError
from local_judge.judge.requests import sha256
from local_judge.runs.store import CASES, MANIFEST, RunStore, canonical, check_format, digest_of
from serving.types import Frozen

AGREEMENT = "agreement.jsonl"
FOLDERS = ("claims", "findings", "scores")

NAMED = 20
"""Files that one message names at most."""

_OTHER_MANIFEST = f"{MANIFEST} differs from the seal"
_UNREADABLE_SEAL = f"the seal in {MANIFEST} cannot be read"

_SEEN: ContextVar[dict[str, None] | None] = ContextVar(
    "modifications that were read all the same", default=None
)


class Seal(Frozen):
    """`seal` of a manifest."""

    files: dict[str, str]
    """SHA-256 by name, of every file of the run but manifest, journal and ledger."""
    manifest: str
    """SHA-256 of the manifest's other content, as canonical JSON."""


@contextmanager
def modified_allowed() -> Generator[None]:
    """Inside, runs that differ from their seals are read all the same."""
    token = _SEEN.set({})
    try:
        yield
    finally:
        _SEEN.reset(token)


def modifications() -> tuple[str, ...]:
    """Where the runs that were read so far differ from their seals: a line each. Nothing where that is not allowed."""
    return tuple(_SEEN.get() or ())


def check_seal(store: RunStore, *, rescoring: bool = False) -> None:
    """Check every file of a finished run; what is read through `store` from now on is checked again as it is read.

    Args:
        store: the run.
        rescoring: whether its scores are about to be computed anew, so that it may be one whose rescoring was killed.

    Raises:
        RunError: a file differs, is missing or was added, or the run has no seal; names them. Not inside
            `modified_allowed`.
    """
    found = differences(store, rescoring=rescoring)
    seen = _SEEN.get()
    if not found:
        seal = seal_of(store.read_json(MANIFEST))
        store.digests.update(seal.files if seal else {})
    elif seen is None:
        if {_OTHER_MANIFEST, _UNREADABLE_SEAL} & set(found):
            remedy = f"restore {MANIFEST} from a copy"
        elif "imported" in store.read_json(MANIFEST):
            remedy = "import the files again into another folder"
        else:
            remedy = "the command that made the run restores it"
        listed = ", ".join(found[:NAMED]) + (f" and {len(found) - NAMED} more" if len(found) > NAMED else "")
        raise RunError(
            f"{store.root}: modified since the run ended: {listed}; {remedy}, --allow-modified reads it all the same"
        )
    else:
        seen.update(dict.fromkeys(f"{store.root}: {one}" for one in found))


def differences(store: RunStore, *, rescoring: bool = False) -> list[str]:
    """Where the files of a finished run differ from its seal, in order of their names.

    Where no score is in the seal (see `unseal_scores`), `rescoring` leaves the scores out.

    Raises:
        RunError: the run has another format version.
    """
    manifest: Any = store.read_json(MANIFEST)
    if not isinstance(manifest, dict):
        return [f"{MANIFEST} is not that of a run"]
    manifest = cast("dict[str, Any]", manifest)
    check_format(store.root, manifest)
    try:
        seal = seal_of(manifest)
    except ValidationError:
        return [_UNREADABLE_SEAL]
    if seal is None:
        return [f"{MANIFEST} has no seal"]
    found = [_OTHER_MANIFEST] if content_digest(manifest) != seal.manifest else []
    there = run_files(store.root)
    if rescoring and not any(map(_is_score, seal.files)):
        there = [name for name in there if not _is_score(name)]
    for name in sorted({*there, *seal.files}):
        if name not in there:
            found.append(f"{name} is missing")
        elif name not in seal.files:
            found.append(f"{name} is not in the seal")
        elif digest_of(store.read_bytes(name)) != seal.files[name]:
            found.append(f"{name} differs from the seal")
    return found


def seal_run(store: RunStore) -> None:
    """Seal what has been written through `store`; what earlier attempts left beside it is removed.

    Raises:
        RunError: a file was changed since it was written.
    """
    there = run_files(store.root)
    files = {name: digest for name, digest in store.digests.items() if is_run_file(name)}
    _remove(store, (name for name in there if name not in files))
    changed = [
        name
        for name in sorted(files)
        if name not in there or digest_of(store.read_bytes(name)) != files[name]
    ]
    if changed:
        raise RunError(
            f"{store.root}: changed while the run went on: {', '.join(changed[:NAMED])}; the same command restores it"
        )
    _write(store, files)


def unseal_scores(store: RunStore) -> None:
    """Take the scores out of the seal of a run, before they are computed anew.

    Whose rescoring is killed is then seen to be unfinished and not modified: the same command continues. A run that is
    modified otherwise is left as it is.
    """
    if differences(store, rescoring=True):
        return
    manifest = store.read_json(MANIFEST)
    seal = seal_of(manifest)
    if seal is not None:
        files = {name: digest for name, digest in seal.files.items() if not _is_score(name)}
        store.write_json(
            MANIFEST, {**manifest, "seal": Seal(files=files, manifest=seal.manifest).model_dump()}
        )


def reseal_scores(store: RunStore) -> None:
    """Take the scores that have been written through `store` into the seal.

    A run without a seal gets none. Where a file that scores are computed from differs from the seal, the seal stays as
    it is: scores of modified findings must not pass for sealed once the findings are restored.
    """
    manifest = store.read_json(MANIFEST)
    try:
        seal = seal_of(manifest)
    except ValidationError:  # allowed to be modified, and stays so
        return
    kept = {name: digest for name, digest in seal.files.items() if not _is_score(name)} if seal else {}
    there = [name for name in run_files(store.root) if not _is_score(name)]
    if (
        seal is None
        or content_digest(manifest) != seal.manifest
        or {name: digest_of(store.read_bytes(name)) for name in there} != kept
    ):
        return
    scores = {name: digest for name, digest in store.digests.items() if _is_score(name)}
    _remove(store, (name for name in run_files(store.root) if _is_score(name) and name not in scores))
    sealed = Seal(files=kept | scores, manifest=seal.manifest)
    store.write_json(MANIFEST, {**manifest, "seal": sealed.model_dump()})


def seal_of(manifest: dict[str, Any]) -> Seal | None:
    """The seal of a manifest; None of an unfinished run. Raises ValidationError: it is none."""
    return Seal.model_validate(manifest["seal"]) if "seal" in manifest else None


def sealed_as(manifest: dict[str, Any], files: dict[str, str]) -> dict[str, Any]:
    """A manifest with the seal over itself and these files."""
    seal = Seal(files=files, manifest=content_digest(manifest))
    return {**manifest, "seal": seal.model_dump()}


def unsealed(manifest: dict[str, Any]) -> dict[str, Any]:
    """A manifest without its seal."""
    return {key: value for key, value in manifest.items() if key != "seal"}


def content_digest(manifest: dict[str, Any]) -> str:
    """SHA-256 of a manifest without its seal."""
    # Bytes of a command line that are no text: as their escapes, in which they are written too.
    return sha256(canonical(unsealed(manifest)).encode("utf-8", "backslashreplace").decode())


def is_run_file(name: str) -> bool:
    """Whether a file of this name is under the seal."""
    return name.startswith(tuple(f"{folder}/" for folder in FOLDERS)) or name in (
        CASES,
        EVIDENCE_GAPS,
        AGREEMENT,
    )


def run_files(root: Path) -> list[str]:
    """The names of the files in a run directory that are or should be under its seal, in order.

    Raises:
        RunError: one of its folders leads out of the directory.
    """
    found = [name for name in (CASES, EVIDENCE_GAPS, AGREEMENT) if (root / name).is_file()]
    for folder in FOLDERS:
        RunStore(root).check_inside(root / folder)
        found += [
            path.relative_to(root).as_posix()
            for path in (root / folder).rglob("*")
            if path.is_file() and not path.name.startswith(".")
        ]
    return sorted(found)


def _is_score(name: str) -> bool:
    return name.startswith("scores/") or name in (EVIDENCE_GAPS, AGREEMENT)


def _write(store: RunStore, files: dict[str, str]) -> None:
    store.write_json(MANIFEST, sealed_as(unsealed(store.read_json(MANIFEST)), files))


def _remove(store: RunStore, names: Iterable[str]) -> None:
    try:
        for name in names:
            (store.root / name).unlink(missing_ok=True)
    except OSError as error:
        raise RunError(f"{store.root}: cannot be written ({error.strerror or error})") from None
