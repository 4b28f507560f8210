"""Imports go one way (docs/development/architecture.md).

The table below is the rule. A module may import its own package and any package of a lower row; packages of
one row do not know each other. A package that is not in the table is an error: give it a row.
"""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

LAYERS: tuple[tuple[str, ...], ...] = (
    ("local_judge.__main__",),
    ("local_judge.cli",),
    ("local_judge.api",),
    ("local_judge.lab", "local_judge.demo"),
    ("local_judge.demo", "local_judge.lab.experiments", "local_judge.lab.qualification"),
    ("local_judge.reporting",),
    ("local_judge.terminal",),
    ("local_judge.runs",),
    ("local_judge.protocols",),
    ("local_judge.tasks",),
    ("local_judge.agents", "local_judge.rubric"),
    ("local_judge.claims", "local_judge.cleaning", "local_judge.scoring"),
    ("local_judge.stats",),
    ("local_judge.judge", "local_judge.documents"),
    ("local_judge.ledger",),
    ("local_judge.prompts",),
    ("serving", "indexes"),
    ("local_judge.base",),
    ("local_judge",),  # the bare package: its version, and the public names, which it loads on first use
)

TERMINAL = "local_judge.terminal"
"""Lowest module that may import rich: what is below returns tables as data."""

TOP = ("local_judge", "serving", "indexes")

API = "local_judge.api"
"""Module with the names that the bare package offers; the package names it for type checkers only."""

# A folder under here is one protocol. What two of them share moves down, so none imports another, and what
# stands beside them does not import any: they are found by entry point.
PROTOCOLS = "local_judge.protocols"

# Optional, and slow to import: only inside the function that needs them, so that the command line starts
# quickly and says which extra is missing. Under `if TYPE_CHECKING:` they cost nothing.
HEAVY = frozenset(
    {
        "accelerate",
        "faiss",
        "gguf",
        "mcp",
        "openvino",
        "openvino_genai",
        "openvino_tokenizers",
        "pandas",
        "pyarrow",
        "sentence_transformers",
    }
    | {"torch", "transformers", "vllm", "xgrammar"}
)


@dataclass(frozen=True)
class Import:
    """One import statement's target."""

    importer: str
    target: str
    """A module of the tree where it is one, else the dotted name as written."""
    line: int
    on_load: bool
    """Runs when the importing module is loaded: neither inside a function nor under `if TYPE_CHECKING:`."""

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.target}"


def modules(root: Path) -> dict[str, Path]:
    """Every module of the tree under `root`, by dotted name; a package is named without `__init__`."""
    found: dict[str, Path] = {}
    for top in TOP:
        for path in sorted((root / top).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, tree: Mapping[str, Path]) -> Iterator[Import]:
    """All imports of one module, relative ones made absolute."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]

    def visit(node: ast.AST, on_load: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.Import() | ast.ImportFrom():
                    for written in targets(child, package):
                        yield Import(name, resolve(written, tree), child.lineno, on_load)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                    yield from visit(child, False)
                case ast.If(body=body, orelse=orelse) if "TYPE_CHECKING" in ast.unparse(child.test):
                    yield from visit(ast.Module(body, []), False)
                    yield from visit(ast.Module(orelse, []), on_load)
                case _:
                    yield from visit(child, on_load)

    yield from visit(ast.parse(path.read_text(encoding="utf-8"), str(path)), True)


def targets(node: ast.Import | ast.ImportFrom, package: str) -> list[str]:
    """The dotted names that one statement, standing in `package`, imports; of `from a import b`, `a.b`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
    base = [*above, *([node.module] if node.module else [])]
    return [".".join([*base, alias.name]) for alias in node.names]


def resolve(dotted: str, tree: Mapping[str, Path]) -> str:
    """The longest leading part of `dotted` that is a module of `tree`; `dotted` where none is."""
    parts = dotted.split(".")
    leading = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((module for module in leading if module in tree), dotted)


def row(module: str) -> tuple[int, str] | None:
    """Row number and package of a module in `LAYERS`, row 0 on top; None if the table lacks it."""
    if module == "local_judge":
        return len(LAYERS) - 1, module
    for number, packages in enumerate(LAYERS[:-1]):
        for package in packages:
            if module == package or module.startswith(package + "."):
                return number, package
    return None


def protocol(module: str, tree: Mapping[str, Path]) -> str | None:
    """The protocol folder that a module belongs to, None for what stands beside the folders."""
    parts = module.split(".")
    folder = ".".join(parts[:3])
    if len(parts) < 3 or not module.startswith(PROTOCOLS + ".") or folder not in tree:
        return None
    return folder if tree[folder].name == "__init__.py" else None


def violations(root: Path) -> list[str]:
    """Every breach of the rules under `root`, one line each, in a stable order."""
    tree = modules(root)
    every = [one for name, path in tree.items() for one in imports(name, path, tree)]
    breaches = [f"{name} has no row in LAYERS" for name in tree if row(name) is None]
    for one in every:
        above, below = row(one.importer), row(one.target)
        if one.on_load and one.target.partition(".")[0] in HEAVY:
            breaches.append(f"{one}: a heavy package at module level")
        lowest = row(TERMINAL)
        if one.target.partition(".")[0] == "rich" and above and lowest and above[0] > lowest[0]:
            breaches.append(f"{one}: rich below {TERMINAL}")
        if one.target not in tree or above is None or below is None or above == below:
            continue
        if one.importer == "local_judge" and row(one.target) == row(API) and not one.on_load:
            continue
        if above[0] >= below[0]:
            breaches.append(f"{one}: {above[1]} may not import {below[1]}")
    for one in every:
        target = protocol(one.target, tree)
        if one.importer.startswith(PROTOCOLS) and target and target != protocol(one.importer, tree):
            breaches.append(f"{one}: no module of {PROTOCOLS} but its own may import a protocol")
    return breaches + circles(tree, every)


def circles(tree: Mapping[str, Path], every: list[Import]) -> list[str]:
    """One line for the first circle of imports, inside functions too; the bare package loads the API on first use."""
    graph: dict[str, list[str]] = {name: [] for name in tree}
    for one in every:
        if one.target in tree and one.target != one.importer and one.importer != "local_judge":
            graph[one.importer].append(one.target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return ["circle: " + " <- ".join(error.args[1])]
    return []


def test_imports_go_one_way() -> None:
    assert len(modules(ROOT)) > 10, "the tree was not found"
    assert violations(ROOT) == []


def test_evaluating_and_reading_reports_needs_nothing_that_examines_judges() -> None:
    tree = modules(ROOT)
    commands = ("run", "show", "export", "snapshot")
    path = [
        name for name in tree if name.startswith(tuple(f"local_judge.cli.{command}" for command in commands))
    ]
    assert len(path) > len(commands)
    reached: set[str] = set()
    while path:
        name = path.pop()
        if name not in reached:
            reached.add(name)
            path += [one.target for one in imports(name, tree[name], tree) if one.target in tree]
    assert "local_judge.runs.execution.execute" in reached
    assert [name for name in sorted(reached) if name.startswith("local_judge.lab")] == []


def plant(root: Path, files: Mapping[str, str]) -> None:
    """Write `files` (dotted module name -> source) and the package files above them."""
    for top in TOP:
        (root / top).mkdir(parents=True, exist_ok=True)
        (root / top / "__init__.py").touch()
    for name, source in files.items():
        path = root.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in path.parents:
            if folder == root:
                break
            (folder / "__init__.py").touch()
        path.write_text(source, encoding="utf-8")


def test_a_lawful_tree_has_no_violations(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "local_judge.cli.app": "from local_judge import __version__\nfrom ..runs import plan\n",
            "local_judge.runs.plan": "import indexes.model\nimport local_judge.claims.model as model\n",
            "local_judge.claims.model": "from serving import types\n",
            "local_judge.protocols.deer.flow": "from . import scores\nfrom ..base import Case\n",
            "local_judge.protocols.deer.scores": "import math\n",
            "local_judge.protocols.base": "class Case: ...\n",
            "serving.types": (
                "from typing import TYPE_CHECKING\n"
                "if TYPE_CHECKING:\n    import torch\n"
                "def f():\n    import vllm\n"
            ),
            "indexes.model": "import json\n",
        },
    )
    assert violations(tmp_path) == []


def test_every_breach_is_named(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "local_judge.claims.up": "import local_judge.protocols.deer\nimport rich.table\n",
            "local_judge.documents.side": "def later():\n    from ..judge import model\n",
            "local_judge.judge.model": "",
            "local_judge.attic.old": "",
            "local_judge.protocols.deer.flow": "from ..fact.flow import f\n",
            "local_judge.protocols.fact.flow": "f = 1\n",
            "local_judge.protocols.registry": "from . import fact\n",
            "serving.http": "from local_judge.judge.model import x\nimport indexes\n",
            "indexes.rank": "class A:\n    import faiss.contrib\n",
        },
    )
    assert violations(tmp_path) == [
        "local_judge.attic has no row in LAYERS",
        "local_judge.attic.old has no row in LAYERS",
        "local_judge.claims.up:1 imports local_judge.protocols.deer: local_judge.claims may not import "
        "local_judge.protocols",
        "local_judge.claims.up:2 imports rich.table: rich below local_judge.terminal",
        "local_judge.documents.side:2 imports local_judge.judge.model: local_judge.documents may not import "
        "local_judge.judge",
        "serving.http:1 imports local_judge.judge.model: serving may not import local_judge.judge",
        "serving.http:2 imports indexes: serving may not import indexes",
        "indexes.rank:2 imports faiss.contrib: a heavy package at module level",
        "local_judge.protocols.deer.flow:1 imports local_judge.protocols.fact.flow: "
        "no module of local_judge.protocols but its own may import a protocol",
        "local_judge.protocols.registry:1 imports local_judge.protocols.fact: "
        "no module of local_judge.protocols but its own may import a protocol",
    ]


def test_a_circle_is_named_even_if_it_closes_inside_a_function(tmp_path: Path) -> None:
    plant(
        tmp_path, {"serving.a": "from serving import b\n", "serving.b": "import serving.c\n", "serving.c": ""}
    )
    assert violations(tmp_path) == []
    (tmp_path / "serving/c.py").write_text("def f():\n    import serving.a\n")
    assert len(violations(tmp_path)) == 1
    assert violations(tmp_path)[0].startswith("circle: ")
    assert all(name in violations(tmp_path)[0] for name in ("serving.a", "serving.b", "serving.c"))
