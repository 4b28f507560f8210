"""What a user installs is what the checkout holds: one version, a licence, and every data file."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
    expected |= {
        f"local_judge/lab/qualification/configs/{path.name}"
        for path in (ROOT / "configs" / "qualification").iterdir()
    }
    expected |= {
        f"local_judge/lab/replications/{path.name}" for path in (ROOT / "configs" / "replications").iterdir()
    }
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == expected
    assert {"local_judge/py.typed", "serving/py.typed", "indexes/py.typed"} <= held
    assert {"local_judge/demo/report.md", "local_judge/demo/pages/pages.jsonl"} <= held


def test_extras_are_those_that_the_documentation_names(metadata: Message) -> None:
    extras = metadata.get_all("Provides-Extra")
    assert sorted(extras or []) == [
        "browser",
        "dense",
        "dev",
        "embedded",
        "frames",
        "gpu",
        "hub",
        "mcp",
        "ray",
        "signing",
        "test",
        "transformers",
    ]


def test_base_install_brings_no_inference_engine(metadata: Message) -> None:
    """A base install stays small: engines and embedding models come with an extra."""
    base = [line for line in metadata.get_all("Requires-Dist") or [] if "extra ==" not in line]
    names = {re.split(r"[^A-Za-z0-9._-]", line)[0] for line in base}
    assert names, "no dependencies in the metadata"
    assert names.isdisjoint({"torch", "transformers", "vllm", "openvino", "openvino-genai", "faiss-cpu"})


def installed_closure(requirements: list[str]) -> dict[str, importlib.metadata.Distribution]:
    """What `requirements` bring into this environment, transitively, by name; absent ones are left out."""
    found: dict[str, importlib.metadata.Distribution] = {}
    seen: set[tuple[str, str]] = set()
    pending = [
        (Requirement(line), extra) for line in requirements for extra in ("", *Requirement(line).extras)
    ]
    while pending:
        requirement, extra = pending.pop()
        if (requirement.name, extra) in seen:
            continue
        seen.add((requirement.name, extra))
        try:
            distribution = importlib.metadata.distribution(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found[requirement.name] = distribution
        for line in distribution.requires or []:
            below = Requirement(line)
            if below.marker is None or below.marker.evaluate({"extra": extra}):
                pending += [(below, inner) for inner in ("", *below.extras)]
    return found


def strong_copyleft(licence: str) -> bool:
    """Whether every alternative of a licence expression is the GPL or the AGPL (the LGPL is neither)."""
    gpl = re.compile(r"(?<!L)GPL|GNU (Affero )?General Public")
    return all(gpl.search(alternative) for alternative in re.split(r"\bOR\b", licence))


@pytest.mark.parametrize(
    ("licence", "strong"),
    [
        ("GPL-3.0-only", True),
        ("AGPLv3", True),
        ("License :: OSI Approved :: GNU General Public License v2 (GPLv2)", True),
        ("MPL-1.1 OR GPL-2.0-only OR LGPL-2.1-or-later", False),
        ("LGPL-3.0-or-later", False),
        ("License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)", False),
        ("Apache-2.0", False),
    ],
)
def test_strong_copyleft(licence: str, strong: bool) -> None:
    assert strong_copyleft(licence) is strong


def test_no_dependency_at_run_time_is_under_a_strong_copyleft_licence() -> None:
    extras = PROJECT["optional-dependencies"]
    found = installed_closure([*PROJECT["dependencies"], *extras["embedded"]])
    assert {"aiohttp", "pydantic", "trafilatura", "yarl", "lxml"} <= set(found)
    for name, distribution in sorted(found.items()):
        fields: dict[str, Any] = dict(distribution.metadata.json)
        # The old `License` field often holds the whole text; its first line is the licence's name.
        written: str = fields.get("license_expression") or fields.get("license", "").partition("\n")[0]
        classifiers: list[str] = [
            line for line in fields.get("classifier", []) if line.startswith("License ::")
        ]
        assert written or classifiers, f"{name} names no licence"
        assert not strong_copyleft(written), f"{name}: {written}"
        assert not classifiers or not all(map(strong_copyleft, classifiers)), f"{name}: {classifiers}"


def imported(*folders: str) -> set[str]:
    """Distributions of the modules that stand in import statements of Python files below these folders."""
    modules: set[str] = set()
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    modules.update(alias.name.partition(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    modules.add(node.module.partition(".")[0])
    modules -= {*sys.stdlib_module_names, "local_judge", "serving", "indexes", "scripts", "tests"}
    # pydantic pins the version of its core
    of = {**importlib.metadata.packages_distributions(), "pydantic_core": ["pydantic"]}
    return {canonicalize_name(of.get(module, [module])[0]) for module in modules}


def declared(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(requirement).name) for requirement in requirements}


def test_every_import_is_declared_where_it_is_used() -> None:
    named = PROJECT["optional-dependencies"]
    base, test = declared(PROJECT["dependencies"]), declared(named["test"] + named["browser"])
    # Imported in the function that needs them, with a line that says what to install.
    extras = declared([one for name in ("frames", "mcp") for one in named[name]])
    assert imported("local_judge", "serving", "indexes") <= base | extras
    assert imported("tests", "scripts") <= base | test
    assert not base & test


def test_ci_installs_versions_that_the_project_admits() -> None:
    lines = (ROOT / "scripts" / "constraints.txt").read_text(encoding="utf-8").split()
    pinned = {
        canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)
    }
    extras = PROJECT["optional-dependencies"]
    for line in [
        *PROJECT["dependencies"],
        *extras["test"],
        *extras["browser"],
        *extras["dev"],
        *extras["embedded"],
    ]:
        requirement = Requirement(line)
        if requirement.name != "local-judge":
            assert pinned[canonicalize_name(requirement.name)] in requirement.specifier, line


@pytest.mark.parametrize("hiding", ["serving/__init__.py", "indexes.py"])
def test_a_module_that_hides_a_package_is_named_in_one_line(tmp_path: Path, hiding: str) -> None:
    path = tmp_path / hiding
    path.parent.mkdir(exist_ok=True)
    path.write_text("", encoding="utf-8")
    for words in (["-m", "local_judge", "judge", "show"], ["-c", "import local_judge; local_judge.evaluate"]):
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        ended = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        *_, line = ended.stderr.splitlines()
        assert ended.returncode == 1
        assert (
            f"{path} hides local_judge's package `{path.relative_to(tmp_path).parts[0].partition('.')[0]}`"
            in line
        )
