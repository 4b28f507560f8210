"""Verification of a run without its judge, server or network.

    digests      every file is the one that was sealed or packed, every stored reply matches its digest
    inputs       reports, tasks, judges, settings and prompts are those that the manifest records
    scores       computed again from the findings, they have the same bytes
    findings     made again from the stored replies by the protocols' own code, they are equal; failures count as equal
    quotations   each quotation occurs in its page or report, at its place

Invariants: nothing is changed, sent or asked; what cannot be checked is named as that, and never counts as checked.
"""

from __future__ import annotations

import filecmp
import json
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple, cast

from indexes.errors import IndexesError
from indexes.snapshot import Snapshot
from indexes.verify import verify
from local_judge.base.errors import JudgeError, RunError, UserError, brief, reason_of
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.claims.model import ClaimSet, Quote
from local_judge.documents import UnreadableReport
from local_judge.judge.judge import Judge, JudgeSettings
from local_judge.judge.planning import ReplayEngine
from local_judge.ledger.calibrations import Calibration
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.upkeep import ledger_problems
from local_judge.protocols.base import load_protocol
from local_judge.runs.execution.execute import execute
from local_judge.runs.execution.job import selected
from local_judge.runs.planning.calibrations import calibrations_for, in_manifest
from local_judge.runs.planning.config import RunConfig, chosen_protocols
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.proof.bundle import (
    NotingLedger,
    NotingSnapshot,
    material_of,
    restore_ledger,
    unpack,
    write_bundle,
)
from local_judge.runs.proof.material import Material, recorded_file
from local_judge.runs.storage.items import Index, case_of, claims_file, findings_file, index_of, is_item_file
from local_judge.runs.storage.manifest import (
    build_manifest,
    changed,
    code_digest,
    difference,
    different_inputs,
    judges_of,
    prompts_digest,
    protocols_of,
    read_manifest,
    whole_manifest,
)
from local_judge.runs.storage.records import problems_of, read_records
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.seal import differences, is_score, modified_allowed, run_files, seal_of
from local_judge.runs.storage.store import CASES, MANIFEST, RunStore, rendered
from serving.types import EngineIdentity, EngineLimits, Sampling

Status = Literal["ok", "failed", "not checked"]

_INCOMPLETE = (
    "the ledger lacks replies, or lengths of prompts, which ledgers of earlier versions do not have; the command of "
    "the run with another --out and this --ledger adds them"
)

_NOT_IN_LEDGER = b'"kind":"not_in_ledger"'
"""Failure in the line of an item."""

_OF_VERSION = {"prompts", "protocols"}
"""Keys of a manifest whose values belong to a version of this program."""

_BESIDE = {"seal", "extractor", "qualifications"}
"""Keys that the manifest of a run may have beside those of `build_manifest`."""

_RECORDED = ("revision", "python", "packages", "run", "context_tokens", "qualifications")
"""Keys whose values do not follow from inputs and replies, though impossible ones are problems."""

NAMED = 20
"""Most problems that one check lists."""


class Check(Frozen):
    """One check of an audit."""

    name: Literal["digests", "inputs", "scores", "findings", "quotations"]
    status: Status
    n: int = 0
    """Number of files, reports or quotations that were compared."""
    problems: tuple[str, ...] = ()
    """Places that are wrong, with the reason; the first `NAMED`."""
    note: str = ""
    """Reason why something was not checked."""


class Audit(Frozen):
    """Result of an audit."""

    checks: tuple[Check, ...]
    recorded: tuple[str, ...] = ()
    """Keys of the manifest whose values no check can derive."""

    @property
    def status(self) -> Status:
        """`failed` if a check failed, else `not checked` if one could not be made."""
        statuses = {check.status for check in self.checks}
        worst: tuple[Status, ...] = ("failed", "not checked")
        found: list[Status] = [status for status in worst if status in statuses]
        return found[0] if found else "ok"


async def audit_bundle(path: Path) -> Audit:
    """Verify a bundle.

    Raises:
        InputError: the file is no bundle, or is damaged so that it cannot be unpacked.
    """
    with TemporaryDirectory(prefix="audit-") as scratch:
        unpacked = unpack(path, Path(scratch) / "bundle")
        digests = [*unpacked.problems]
        checks: list[Check] = []
        recorded: tuple[str, ...] = ()
        try:
            material = material_of(unpacked)
            if not unpacked.public:
                ledger = Path(scratch) / "ledger.sqlite"
                await restore_ledger(unpacked.folder, material.store, ledger)
                material = material._replace(ledger=ledger)
            audit = await audit_run(material, packed=True)
            checks, recorded = list(audit.checks), audit.recorded
            digests += [line for line in checks.pop(0).problems if line not in digests]
        except (UserError, IndexesError, JudgeError, ValueError) as error:
            digests.append(_short(str(error), scratch))
        return Audit(checks=(_check("digests", digests, unpacked.n_files), *checks), recorded=recorded)


async def audit_run(material: Material, *, packed: bool = False) -> Audit:
    """Verify a run with what is at hand.

    Args:
        material: the run and its inputs.
        packed: whether they come from a bundle, whose snapshot is a part of the run's.

    Raises:
        RunError: the directory is not a finished run.
        OSError: no temporary folder can be made.
    """
    with modified_allowed(), TemporaryDirectory(prefix="audit-") as scratch:
        read_records(material.store)  # refuses an unfinished run
        checks = [_digests(material)]
        steps: list[tuple[str, Callable[[], Any]]] = [
            ("inputs", lambda: _inputs(material, packed)),
            ("scores", lambda: _scores(material.store, Path(scratch) / "scores")),
            ("findings", lambda: _findings(material, Path(scratch) / "findings", packed)),
            ("quotations", lambda: _quotations(material)),
        ]
        for name, step in steps:
            try:
                found = step()
                checks.append(cast("Check", await found if hasattr(found, "__await__") else found))
            except (UserError, IndexesError, JudgeError, ValueError, KeyError) as error:
                # A file that is wrong and cannot be read is already named by its digest.
                folder = material.store.root.parent if packed else material.store.root
                checks.append(_check(cast("Any", name), [_short(str(error), str(folder))]))
            except OSError as error:  # of this machine or of a path in the manifest: says nothing of the run
                checks.append(Check(name=cast("Any", name), status="not checked", note=reason_of(error)))
        manifest = read_manifest(material.store)
        recorded = _RECORDED if _claims_this_code(manifest) else (*_RECORDED, "local_judge", "code")
        return Audit(checks=tuple(checks), recorded=tuple(key for key in recorded if key in manifest))


async def pack(out: Path, material: Material, *, public: bool = False) -> int:
    """Write a bundle of a run, and return its size in bytes.

    The run is replayed from its ledger first, which shows which replies and pages it used, and that its findings follow
    from them.

    Args:
        out: new file.
        material: the run with all of its inputs.
        public: whether to leave out page texts and prompts.

    Raises:
        RunError: an input is not at hand or is not the run's, the findings do not follow from the replies, a public
            bundle would contain page texts, or `out` cannot be written.
    """
    store = material.store
    protocols = [load_protocol(name) for name in protocols_of(store)]
    whole = any(protocol.searches for protocol in protocols)
    if public and whole:
        raise RunError(f"{store.root}: its agents' transcripts contain passages of pages; leave out --public")
    async with _replayed(material) as replayed:
        return write_bundle(out, material, *replayed, whole=whole, public=public)


async def used_replies(material: Material) -> set[str]:
    """Return the ledger keys of all replies that a run used, by replaying it.

    Raises:
        RunError: an input is not at hand or is not the run's, or the findings do not follow from the replies.
    """
    async with _replayed(material) as (ledger, _, _):
        return ledger.used


@asynccontextmanager
async def _replayed(
    material: Material,
) -> AsyncGenerator[tuple[NotingLedger, NotingSnapshot | None, list[Calibration]]]:
    """Replay a run, and yield its ledger and snapshot with what they noted, and the judges' calibrations.

    Raises:
        RunError: as `used_replies`.
    """
    store = material.store
    read_records(store)  # refuses an unfinished run
    wrong = await _inputs(material, packed=False)
    if wrong.status != "ok":
        raise RunError(f"{store.root}: {'; '.join(wrong.problems) or wrong.note}")
    if material.ledger is None or material.reports is None or material.lacks_snapshot:
        raise RunError(f"{store.root}: {material.absent or 'no ledger'}")
    snapshot = None if material.snapshot is None else NotingSnapshot.open(material.snapshot)
    with (
        TemporaryDirectory(prefix="bundle-") as scratch,
        NotingLedger.open(material.ledger, read_only=True) as ledger,
    ):
        made = RunStore(Path(scratch))
        async with _judges(material, ledger) as judges:
            await _replay(material, judges, snapshot, made)
            problems, lacking = _unequal(store, made)
            if problems or lacking:
                raise RunError(f"{store.root}: {_INCOMPLETE if lacking else problems[0]}")
            calibrations = [one for judge in judges.values() for one in judge.calibrations]
        yield cast("NotingLedger", ledger), cast("NotingSnapshot | None", snapshot), calibrations


def _digests(material: Material) -> Check:
    store = material.store
    problems = [line.replace("the seal", f"the seal in {MANIFEST}", 1) for line in differences(store)]
    manifest = read_manifest(store)
    sealed = seal_of(manifest)
    if sealed is not None and sealed.problems != problems_of(read_records(store)):
        problems.append(f"the seal in {MANIFEST}: its problems do not follow from {CASES}")
    written = rendered(manifest).encode("utf-8", "backslashreplace")
    if store.read_bytes(MANIFEST) != written:
        problems.append(f"{MANIFEST} is not written as the program writes it")
    for name in filter(is_item_file, run_files(store.root)):
        index = store.root / index_of(name)
        if index.is_file() and store.read_bytes(index_of(name)) != Index.of(store.root / name).content:
            problems.append(f"{index_of(name)}: does not follow from {name}")
    n = len(run_files(store.root)) + 1
    if material.ledger is not None:
        problems += [f"{material.ledger.name}: {line}" for line in ledger_problems(material.ledger)]
        n += 1
    if material.snapshot is not None and not material.public:
        snapshot = material.snapshot
        problems += [
            f"{snapshot.name}/{one.path}: {one.detail}"
            for one in verify(snapshot).problems
            if not (one.path == "archive" and one.kind == "missing")  # a bundle has no archive
        ]
        n += 1
    return _check("digests", problems, n)


async def _inputs(material: Material, packed: bool) -> Check:
    """Compare reports, tasks, judges, settings and prompts with the manifest."""
    store = material.store
    if material.reports is None:
        return Check(name="inputs", status="not checked", note=material.absent)
    manifest = whole_manifest(store)
    made: dict[str, Any] = {}
    with TemporaryDirectory(prefix="audit-") as scratch, Ledger.open(Path(scratch) / "none.sqlite") as ledger:
        config = RunConfig.model_validate(manifest["config"])
        async with _judges(material, ledger) as judges:
            made = await build_manifest(
                config, judges, material.reports, manifest["snapshot"], {}, manifest.get("extractor")
            )
    if packed:
        made["snapshot"] = material.snapshot_digest
    elif material.snapshot is not None:
        made["snapshot"] = Snapshot.open(material.snapshot).digest
    # The identity of a judge is the recorded one, and its calibrations are checked with the findings.
    for judge, recorded in zip(made["judges"], manifest["judges"], strict=True):
        judge["calibrations"] = recorded.get("calibrations")
    keys = changed(manifest, made)
    problems = list(_contradictions(manifest, made, material.reports))
    if keys and set(keys) <= _OF_VERSION and not problems and not _claims_this_code(manifest):
        return Check(name="inputs", status="not checked", note=_other_version(manifest))
    for key in keys:
        if key == "reports":
            problems.append(
                f"{MANIFEST}: other reports ({'.'.join(different_inputs(store, material.reports))})"
            )
        else:
            problems.append(f"{MANIFEST}: other {key}{_where(manifest.get(key), made[key])}")
    if not problems and not packed and material.lacks_snapshot:
        return Check(name="inputs", status="not checked", n=len(material.reports), note=material.absent)
    return _check("inputs", problems, len(material.reports))


def _contradictions(
    manifest: Mapping[str, Any], made: Mapping[str, Any], reports: Sequence[RawReport]
) -> Iterator[str]:
    """Yield what a manifest records beside the inputs and cannot be true of its run.

    Args:
        manifest: the recorded manifest.
        made: the manifest made again.
        reports: reports of the run.
    """
    if unknown := sorted(manifest.keys() - made.keys() - _BESIDE):
        yield f"{MANIFEST}: records {', '.join(map(brief, unknown))}, which no run does"
    if _claims_this_code(manifest) and manifest.get("local_judge") != made["local_judge"]:
        yield f"{MANIFEST}: other local_judge{_where(manifest.get('local_judge'), made['local_judge'])}"
    if manifest["context_tokens"] != made["context_tokens"]:
        yield f"{MANIFEST}: other context_tokens{_where(manifest['context_tokens'], made['context_tokens'])}"
    file = recorded_file(manifest)
    if twice := sorted(manifest["run"].keys() & manifest["config"].keys()):
        yield f"{MANIFEST}: run.{twice[0]} belongs to config"
    if len(selected(reports, file.select)[: file.limit]) < len(reports):
        yield f"{MANIFEST}: run.{'select' if file.select else 'limit'} allows fewer reports"
    if file.judges and len(file.judges) != len(made["judges"]):
        yield f"{MANIFEST}: run.judges are {len(file.judges)}, and the run has {len(made['judges'])}"
    identities = {judge["name"]: judge["identity"] for judge in made["judges"]}
    qualified: Mapping[str, Any] = manifest.get("qualifications") or {}
    for name, record in qualified.items():
        if name not in identities or (record is not None and record["identity"] != identities[name]):
            yield f"{MANIFEST}: the qualification of {brief(name)} is of a judge that the run does not have"


def _where(then: object, now: object) -> str:
    """Return the place of the first difference between two values; of single values, both."""
    path = difference(then, now)
    return f" ({'.'.join(path)})" if path else f": {then} in the run, {now} here"


def _scores(store: RunStore, scratch: Path) -> Check:
    """Compute the scores again from the findings."""
    for name in (MANIFEST, *run_files(store.root)):
        if not is_score(name):
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            (scratch / name).symlink_to((store.root / name).resolve())
    made = RunStore(scratch, linked=True)
    rescore(made, protocols_of(store), read_records(store), judges_of(store))
    names = sorted(filter(is_score, {*run_files(scratch), *run_files(store.root)}))
    problems = [
        f"{name}: does not follow from the findings"
        for name in names
        if not _same(store.root / name, scratch / name)
    ]
    return _check("scores", problems, len(names))


def _same(one: Path, other: Path) -> bool:
    return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)


async def _findings(material: Material, scratch: Path, packed: bool) -> Check:
    """Make claims and findings again from the stored replies; a bundle has to have all of them."""
    store = material.store
    if material.public:
        return Check(name="findings", status="not checked", note="page texts and prompts are left out")
    if material.ledger is None or material.reports is None or material.lacks_snapshot:
        return Check(name="findings", status="not checked", note=material.absent)
    manifest = whole_manifest(store)
    versions = {
        one.name: one.version for one in chosen_protocols(RunConfig.model_validate(manifest["config"]))
    }
    recorded = {name: one["version"] for name, one in manifest["protocols"].items()}
    if manifest["prompts"] != prompts_digest() or recorded != versions:
        if _claims_this_code(manifest):
            problem = (
                f"{MANIFEST}: made with the code of this version, whose prompts and protocols are others"
            )
            return _check("findings", [problem])
        return Check(name="findings", status="not checked", note=_other_version(manifest))
    made = RunStore(scratch)
    snapshot = None if material.snapshot is None else Snapshot.open(material.snapshot)
    with Ledger.open(material.ledger, read_only=True) as ledger:
        async with _judges(material, ledger) as judges:
            other = _other_calibrations(manifest, judges)
            if not other:
                await _replay(material, judges, snapshot, made)
    if other:
        problem = f"{MANIFEST}: the calibrations of {', '.join(other)} are not those of the ledger"
        return _check("findings", [problem])
    problems, lacking = _unequal(store, made)
    n = len(read_records(store))
    if not lacking:
        return _check("findings", problems, n)
    if packed:
        return _check(
            "findings", [f"calls.jsonl: replies for {count(lacking, 'report')} are missing", *problems], n
        )
    found = _check("findings", problems, n - lacking)
    status: Status = "failed" if problems else "not checked"
    note = f"{lacking} of {count(n, 'report')} not checked: {_INCOMPLETE}"
    return found.model_copy(update={"status": status, "note": note})


def _claims_this_code(manifest: Mapping[str, Any]) -> bool:
    """Check whether a run says that the code which audits it made it."""
    return manifest.get("code") == code_digest()


def _other_version(manifest: Mapping[str, Any]) -> str:
    return (
        f"made with local_judge {manifest['local_judge']} with other prompts or protocols; use that version"
    )


@asynccontextmanager
async def _judges(material: Material, ledger: Ledger) -> AsyncGenerator[Mapping[str, Judge]]:
    """Yield the judges of a run, which answer from the ledger only."""
    manifest = whole_manifest(material.store)
    config = RunConfig.model_validate(manifest["config"])
    judges: dict[str, Judge] = {}
    for one in manifest["judges"]:
        name, identity = str(one["name"]), EngineIdentity.model_validate(one["identity"])
        limits = EngineLimits(context_tokens=manifest["context_tokens"][name])
        settings = JudgeSettings(
            sampling=Sampling.model_validate(one["sampling"]),
            reasks=config.reasks,
            threshold=one["threshold"],
        )
        used = {calibration["id"] for calibration in one["calibrations"]}
        # A judge may have been calibrated after the run.
        calibrations = tuple(known for known in calibrations_for(identity, ledger) if known.id in used)
        judges[name] = Judge(ReplayEngine(name, identity, limits), ledger, settings, calibrations)
    yield judges


def _other_calibrations(manifest: Mapping[str, Any], judges: Mapping[str, Judge]) -> list[str]:
    """Return the judges whose recorded calibrations are not those that their verdicts may use."""
    claims = RunConfig.model_validate(manifest["config"]).claims
    return [
        one["name"]
        for one in manifest["judges"]
        if one["calibrations"] != in_manifest(judges[one["name"]], claims)
    ]


async def _replay(
    material: Material, judges: Mapping[str, Judge], snapshot: Snapshot | None, made: RunStore
) -> None:
    manifest = whole_manifest(material.store)
    made.write_json(MANIFEST, manifest)
    config = RunConfig.model_validate(manifest["config"])
    extractor = manifest.get("extractor")
    await execute(material.reports or (), judges, snapshot, config, made, extractor=extractor)


def _unequal(store: RunStore, made: RunStore) -> tuple[list[str], int]:
    """Return the claim sets, findings and records that differ, and the number of reports whose replies are lacking."""
    names = {*run_files(store.root), *run_files(made.root)}
    unequal = [
        name
        for name in sorted(names)
        if (name == CASES or is_item_file(name)) and not _same(store.root / name, made.root / name)
    ]
    items = (one for name in filter(is_item_file, unequal) for one in made.items(name))
    incomplete = {key for key, line in items if _NOT_IN_LEDGER in line}
    unrated = {record.key: record.n_pages_unrated for record in read_records(store)}
    lacking = {
        record.key
        for record in read_records(made)
        # A page without a rating has no failure of its own.
        if record.key in incomplete
        or record.n_pages_unrated > unrated.get(record.key, record.n_pages_unrated)
    }
    return [one for name in unequal for one in _differences(store, made, name, lacking)], len(lacking)


def _differences(store: RunStore, made: RunStore, name: str, lacking: Collection[str]) -> Iterator[str]:
    """Yield the differences of one file, without the reports whose replies are lacking."""
    if name == CASES:
        stored, other = (
            [row.model_dump(mode="json") for row in read_records(one) if row.key not in lacking]
            for one in (store, made)
        )
        yield from _difference(name, stored, other)
        return
    for key in dict.fromkeys(key for one in (store, made) for key, _ in one.items(name)):
        lines = [one.item(name, key) or b"null" for one in (store, made)]
        if lines[0] != lines[1] and key not in lacking:
            case = next(filter(None, map(case_of, lines)), key)
            yield from _difference(f"{name} (of {brief(case)})", *map(_parsed, lines))


def _difference(place: str, stored: object, made: object) -> Iterator[str]:
    stored, made = _without_failures(stored), _without_failures(made)
    if stored != made:
        yield f"{place}: does not follow from the replies ({'.'.join(difference(stored, made)[:6])})"


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _without_failures(value: object) -> object:
    """Return JSON with a mark in place of each failure: a replay cannot fail as a server did."""
    if isinstance(value, dict):
        found = cast("dict[str, object]", value)
        if found.keys() == {"kind", "detail", "attempts"}:
            return "failure"
        return {key: _without_failures(one) for key, one in found.items() if key != "n_too_long"}
    if isinstance(value, list):
        return [_without_failures(one) for one in cast("list[object]", value)]
    return value


def _quotations(material: Material) -> Check:
    """Look each quotation up in its page or report."""
    store = material.store
    if material.public or material.reports is None:
        note = "page texts are left out" if material.public else material.absent
        return Check(name="quotations", status="not checked", note=note)
    reports = {report.id: report for report in material.reports}
    snapshot = None if material.snapshot is None else Snapshot.open(material.snapshot)
    if material.lacks_snapshot:
        return Check(name="quotations", status="not checked", note=material.absent)
    problems: list[str] = []
    n = 0
    for name, report, url, quote in _quotes(store):
        text: Sequence[str] = ()
        if url is None:
            try:
                text = (reports[report].parse().text,) if report in reports else ()
            except UnreadableReport:
                text = ()
        elif snapshot is not None:
            page = snapshot.page(url)
            text = (page.title,) if quote.in_title else (page.text,)
        n += 1
        if not any(one[quote.start : quote.end] == quote.text for one in text):
            problems.append(
                f"{name} (of {brief(report)}): {quote.text[:60]!r} is not at its place in {url or f'report {report}'}"
            )
    return _check("quotations", problems, n)


class _Quoted(NamedTuple):
    """One quotation."""

    file: str
    report: str
    url: str | None
    """Page; None for the report itself."""
    quote: Quote


def _quotes(store: RunStore) -> Iterator[_Quoted]:
    protocols = [load_protocol(name) for name in protocols_of(store)]
    for record in read_records(store):
        if record.status != "done":
            continue
        for judge in judges_of(store) or (None,):
            name = claims_file(judge)
            claims = store.find_item(name, record.key, ClaimSet)
            for verdict in claims.verdicts if claims is not None else ():
                if verdict.quote is not None:
                    yield _Quoted(name, record.id, verdict.url, verdict.quote)
            for protocol in protocols:
                name = findings_file(protocol.name, judge)
                for item in protocol.items(store.read_item(name, record.key, protocol.findings_type)):
                    if item.quote is not None:
                        yield _Quoted(name, record.id, item.url, item.quote)


def _check(name: Any, problems: Sequence[str], n: int = 0) -> Check:
    status: Status = "failed" if problems else "ok"
    more = (f"and {len(problems) - NAMED} more",) if len(problems) > NAMED else ()
    return Check(name=name, status=status, n=n, problems=(*problems[:NAMED], *more))


def _short(message: str, folder: str) -> str:
    """Return a message without the name of a temporary folder."""
    return message.replace(f"{folder}/", "").replace("bundle/run/", "run/")
