"""The first check of an audit: every file is the one that was sealed; the file in which a run is packed."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from indexes.snapshot import Snapshot
from local_judge.base.errors import RunError
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.proof import audit
from local_judge.runs.proof.audit import Check, audit_run
from local_judge.runs.proof.bundle import NotingLedger, write_bundle
from local_judge.runs.proof.material import Material
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore


async def test_pages_are_not_looked_for_in_a_missing_archive(tmp_path: Path, snapshot: Snapshot) -> None:
    """A bundle has no archive. Of a snapshot that lists one, its file is missing, and not each of its six pages."""
    store = RunStore(tmp_path / "run")
    config = {"protocols": ["deer"]}
    store.write_json("manifest.json", {"format_version": 4, "config": config, "reports": {"n": 0}})
    store.write_jsonl("cases.jsonl", [])
    seal_run(store)
    shutil.copytree(snapshot.path, tmp_path / "pages")

    async def digests() -> Check:
        material = Material(store, None, tmp_path / "pages", None)
        return (await audit_run(material)).checks[0]

    # cases.jsonl, the manifest and the snapshot.
    assert await digests() == Check(name="digests", status="ok", n=3)
    shutil.rmtree(tmp_path / "pages" / "archive")
    missing = "pages/archive/data-00000.warc.gz: there is no such file"
    assert await digests() == Check(name="digests", status="failed", n=3, problems=(missing,))


async def test_a_check_that_the_machine_prevents_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore(tmp_path / "run")
    store.write_json(
        "manifest.json", {"format_version": 4, "config": {"protocols": ["deer"]}, "reports": {"n": 0}}
    )
    store.write_jsonl("cases.jsonl", [])
    seal_run(store)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(audit, "rescore", full)
    checks = {check.name: check for check in (await audit_run(Material(store, None, None, None))).checks}
    assert checks["scores"] == Check(name="scores", status="not checked", note="No space left on device")


@pytest.mark.parametrize("public", [False, True])
def test_a_bundle_names_each_file_and_ends_with_the_digest_of_all(tmp_path: Path, public: bool) -> None:
    store, out = RunStore(tmp_path / "run"), tmp_path / "run.ljz"
    store.write_json("manifest.json", {"format_version": 4, "reports": {"n": 1}})
    store.write_jsonl("cases.jsonl", [])
    seal_run(store)
    report = RawReport("mill", b"It cost 9 million.", None, "mill.md", system="ada")
    material = Material(store, [report], None, None)
    with NotingLedger.open(tmp_path / "ledger.sqlite", read_only=True) as ledger:
        assert isinstance(ledger, NotingLedger)
        size = write_bundle(out, material, ledger, None, (), whole=False, public=public)
        with pytest.raises(RunError, match="already exists"):
            write_bundle(out, material, ledger, None, (), whole=False, public=public)
    assert size == out.stat().st_size
    with zipfile.ZipFile(out) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
        comment = packed.comment
    index = json.loads(files.pop("bundle.json"))
    assert index["files"] == {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    assert (index["public"], index["whole_snapshot"]) == (public, False)
    run = ("run/cases.jsonl", "run/manifest.json")
    lists = ("calibrations.jsonl", "calls.jsonl", "reports.jsonl", *run, "texts.jsonl")
    assert tuple(files) == lists
    assert {name: files[f"run/{name}"] for name in ("cases.jsonl", "manifest.json")} == {
        path.name: path.read_bytes() for path in store.root.iterdir()
    }
    # The comment is the last 71 bytes: "sha256:" and 64 digits.
    assert comment == b"sha256:" + hashlib.sha256(out.read_bytes()[:-71]).hexdigest().encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "run.ljz"]
