"""The seal of a run: what differs from it, and how scores are computed again under it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from local_judge.base.errors import RunError
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.seal import (
    check_seal,
    differences,
    modifications,
    modified_allowed,
    reseal_scores,
    seal_run,
    unseal_scores,
)
from local_judge.runs.storage.store import MANIFEST, RunStore

from ..rubric_run import record

SCORES = "scores/deer.jsonl"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    store = RunStore(tmp_path / "run")
    store.write_json(MANIFEST, {"format_version": 4, "config": {}})
    store.write_jsonl("cases.jsonl", [record("mill")])
    store.write_text(SCORES, "{}\n")
    seal_run(store)
    return store.root


def change_manifest(root: Path, **fields: object) -> None:
    manifest = json.loads((root / MANIFEST).read_bytes())
    (root / MANIFEST).write_text(json.dumps({**manifest, **fields}))


Change = Callable[[Path], object]
CHANGES: list[tuple[Change, list[str]]] = [
    (lambda root: None, []),
    (lambda root: (root / SCORES).unlink(), [SCORES]),
    (lambda root: (root / "scores" / "fact.jsonl").touch(), ["scores/fact.jsonl"]),
    (lambda root: (root / "scores" / ".partial").touch(), []),  # begun by another process
    (lambda root: (root / "notes.txt").touch(), []),  # not a file of the run
    (lambda root: change_manifest(root, arguments=["run"]), [MANIFEST]),
    (lambda root: change_manifest(root, seal=1), ["the"]),  # "the seal in manifest.json cannot be read"
]


@pytest.mark.parametrize(("change", "named"), CHANGES)
def test_differences_are_named_and_refused_unless_allowed(
    root: Path, change: Change, named: list[str]
) -> None:
    change(root)
    for contents in (True, False):
        assert [one.split()[0] for one in differences(RunStore(root), contents=contents)] == named
    if named:
        with pytest.raises(RunError, match="--allow-modified"):
            check_seal(RunStore(root))
    with modified_allowed():
        assert [row.id for row in load_records(RunStore(root))] == ["mill"]
        assert len(modifications()) == len(named)
    assert modifications() == ()


def test_contents_are_compared_when_a_file_is_read_or_all_at_once(root: Path) -> None:
    (root / "cases.jsonl").write_text("")
    assert differences(RunStore(root), contents=False) == []
    [differing] = differences(RunStore(root))
    assert differing.startswith("cases.jsonl ")
    with pytest.raises(RunError, match=r"cases\.jsonl.*--allow-modified"):
        load_records(RunStore(root))


def test_an_interrupted_rescoring_is_accepted_by_a_rescoring_alone(root: Path) -> None:
    unseal_scores(RunStore(root))
    with pytest.raises(RunError, match=SCORES):
        load_records(RunStore(root))
    store = RunStore(root)
    assert [row.id for row in load_records(store, rescoring=True)] == ["mill"]
    store.write_text("scores/fact.jsonl", "{}\n")
    reseal_scores(store)  # removes the scores of the earlier attempt
    assert sorted(path.name for path in (root / "scores").iterdir()) == ["fact.jsonl"]
    assert differences(RunStore(root)) == []


def test_scores_of_a_modified_run_are_neither_unsealed_nor_sealed(root: Path) -> None:
    (root / "cases.jsonl").write_text("")
    before = (root / MANIFEST).read_bytes()
    unseal_scores(RunStore(root))
    store = RunStore(root)
    store.write_text(SCORES, "[]\n")
    reseal_scores(store)
    assert (root / MANIFEST).read_bytes() == before


def test_a_file_that_changes_during_the_run_is_not_sealed(root: Path) -> None:
    store = RunStore(root)
    store.write_text(SCORES, "[]\n")
    (root / SCORES).write_text("{}\n")
    with pytest.raises(RunError, match=SCORES):
        seal_run(store)
