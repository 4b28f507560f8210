"""The notebook runs from its first to its last cell, with a server without a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from .test_examples import ROOT, SERVER

pytestmark = pytest.mark.slow

NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"


@pytest.mark.filterwarnings("default")
def test_the_notebook_runs(stand_in: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert SERVER in text
    read: Any = nbformat.reads  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    notebook = read(text.replace(SERVER, stand_in), as_version=4)
    (tmp_path / "work").mkdir()
    where = {"metadata": {"path": str(tmp_path / "work")}}
    client: Any = NotebookClient(notebook, timeout=120, resources=where)
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    shown = [output for output in outputs if output.output_type == "execute_result"]
    assert len(shown) == 5
    assert "<td>" in shown[0].data["text/html"] and "alder" in shown[0].data["text/html"]


def test_the_notebook_has_no_outputs() -> None:
    """Outputs are made by whoever runs it, and would get old."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert cells and not any(cell.get("outputs") for cell in cells)
