"""The first check of an audit: every file is the one that was sealed."""

from __future__ import annotations

import shutil
from pathlib import Path

from indexes.snapshot import Snapshot
from local_judge.runs.audit import Check, audit_run
from local_judge.runs.bundle import Material
from local_judge.runs.seal import seal_run
from local_judge.runs.store import RunStore


async def test_pages_are_not_looked_for_in_a_missing_archive(tmp_path: Path, snapshot: Snapshot) -> None:
    """A bundle has no archive. Of a snapshot that lists one, its file is missing, and not each of its six pages."""
    store = RunStore(tmp_path / "run")
    config = {"protocols": ["deer"]}
    store.write_json("manifest.json", {"format_version": 4, "config": config, "reports": {"n": 0}})
    store.write_jsonl("cases.jsonl", [])
    seal_run(store)
    shutil.copytree(snapshot.path, tmp_path / "pages")

    async def digests() -> Check:
        material = Material(store, None, tmp_path / "pages", None, None)
        return (await audit_run(material)).checks[0]

    # cases.jsonl, the manifest and the snapshot.
    assert await digests() == Check(name="digests", status="ok", n=3)
    shutil.rmtree(tmp_path / "pages" / "archive")
    missing = "pages/archive/data-00000.warc.gz: there is no such file"
    assert await digests() == Check(name="digests", status="failed", n=3, problems=(missing,))
