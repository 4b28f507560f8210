"""What a user installs is what the checkout holds: one version, a licence, and every data file."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

import pytest

import local_judge

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of this checkout, built by the build backend itself: no index is asked for anything."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return BytesParser().parsebytes(wheel.read(name))


def test_one_version_everywhere(metadata: Message) -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == PROJECT["version"] == local_judge.__version__ == metadata["Version"]


def test_licence_is_apache_2_and_its_text_is_in_the_wheel(metadata: Message, wheel: zipfile.ZipFile) -> None:
    assert metadata["License-Expression"] == "Apache-2.0"
    (name,) = [name for name in wheel.namelist() if name.endswith("/licenses/LICENSE")]
    text = wheel.read(name)
    assert text == (ROOT / "LICENSE").read_bytes()
    assert b"Version 2.0, January 2004" in text and b"END OF TERMS AND CONDITIONS" in text


def test_wheel_holds_every_file_of_the_packages(wheel: zipfile.ZipFile) -> None:
    """Modules, prompts, demo data and py.typed: all that stands in the package folders, and nothing else."""
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in ("local_judge", "serving", "indexes")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    expected |= {f"serving/configs/judges/{path.name}" for path in (ROOT / "configs" / "judges").iterdir()}
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == expected
    assert {"local_judge/py.typed", "serving/py.typed", "indexes/py.typed"} <= held
    assert {"local_judge/demo/report.md", "local_judge/demo/pages/pages.jsonl"} <= held


def test_extras_are_those_that_the_documentation_names(metadata: Message) -> None:
    extras = metadata.get_all("Provides-Extra")
    assert sorted(extras or []) == ["dense", "dev", "embedded", "gpu", "test", "transformers"]


def test_base_install_brings_no_inference_engine(metadata: Message) -> None:
    """A base install stays small: engines and embedding models come with an extra."""
    base = [line for line in metadata.get_all("Requires-Dist") or [] if "extra ==" not in line]
    names = {re.split(r"[^A-Za-z0-9._-]", line)[0] for line in base}
    assert names, "no dependencies in the metadata"
    assert names.isdisjoint({"torch", "transformers", "vllm", "openvino", "openvino-genai", "faiss-cpu"})
