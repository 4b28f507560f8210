"""Seeded changes of the code, and which of them tests notice."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.mutation import __main__ as command
from scripts.mutation.__main__ import Outcome, Reached, Stage, measure, record, stages, table
from scripts.mutation.checkout import Checkout
from scripts.mutation.points import Mutation, draw, mark, mutations, mutations_of

MODULE = '''
"""1 < 2"""
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    LIMIT = 3
Choice = Literal[1, 2]

@decorated(frozen=True)
def share(part: "1 + 1", whole: int = 4) -> float:
    """Return 1 / 2."""
    if not part:
        raise ValueError("more than", 1 + 1)
    if part and whole:
        print(f"{part + whole}", "a" + part)
    return part / whole
'''


def changes_of(code: str) -> list[tuple[str, str]]:
    return [(row.before, row.after) for row in mutations_of(code.encode(), "local_judge/scoring/a.py")]


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("a < b <= c", [("a < b <= c", "a <= b <= c"), ("a < b <= c", "a < b < c")]),
        ("a == b", [("a == b", "a != b")]),
        ("a is not b", [("a is not b", "a is b")]),
        ("a in b", [("a in b", "a not in b")]),
        ("a and b or c", [("a and b or c", "(a and b) and c"), ("a and b", "a or b")]),
        ("not a", [("not a", "a")]),
        ("a - b", [("a - b", "a + b")]),
        ("a * b", [("a * b", "a / b")]),
        ("a // b", [("a // b", "a / b")]),
        ("a + 'text'", []),
        ("a + [b]", []),
        ("a -= b", [("a -= b", "a += b")]),
        ("a = True", [("True", "False")]),
        ("a = 0.5", [("0.5", "1.5")]),
        ("a = -1", [("1", "2")]),
        ("max(a)", [("max", "min")]),
        ("all(a)", [("all", "any")]),
        ("[a for a in all]", []),
        ("zip(a, b, strict=True)", []),
        ("a if b else c", [("b", "not b")]),
        ("a if not b else c", [("not b", "b")]),
        ("a if b < c else d", [("b < c", "not b < c"), ("b < c", "b <= c")]),
        ("[a for a in b if a]", [("a", "not a")]),
        ("while a:\n    continue", [("continue", "break")]),
        ("while a:\n    break", [("break", "continue")]),
        ("match a:\n    case 1 if b == 2:\n        pass", [("b == 2", "b != 2"), ("2", "3")]),
        ("def f() -> int:\n    return a", [("a", "None")]),
        ("def f() -> int | None:\n    return a", []),
        ("a: Annotated[int, 1] = b", []),
        (
            MODULE,
            [
                ("4", "5"),
                ("not part", "part"),
                ("part and whole", "not (part and whole)"),
                ("part and whole", "part or whole"),
                ("part / whole", "None"),
                ("part / whole", "part * whole"),
            ],
        ),
    ],
)
def test_changes_of_an_expression(code: str, changes: list[tuple[str, str]]) -> None:
    assert changes_of(code) == changes


def test_a_change_replaces_its_place_alone() -> None:
    source = "é = 'é' if (a\n    < b) else f(c)  # é\nwhile é:\n    continue\n".encode()
    changed = [row.apply(source).decode() for row in mutations_of(source, "local_judge/scoring/a.py")]
    assert changed == [
        "é = 'é' if ((not a < b)) else f(c)  # é\nwhile é:\n    continue\n",
        "é = 'é' if ((a <= b)) else f(c)  # é\nwhile é:\n    continue\n",
        "é = 'é' if (a\n    < b) else f(c)  # é\nwhile é:\n    break\n",
    ]


def test_a_marked_module_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    source = b"def f(a, b):\n    for c in (a, b):\n        if a < b and c:\n            continue\n    return a + 1\n"
    hits: list[int] = []

    class Recorder:
        hit = hits.append

    monkeypatch.setitem(__import__("sys").modules, "reach", Recorder)
    changes = mutations_of(source, "local_judge/scoring/a.py")
    names: dict[str, object] = {}
    exec(mark(source, list(enumerate(changes))), names)
    assert eval("f(1, 2), f(2, 1)", names) == (2, 3)
    assert {changes[number].before for number in hits} == {"a < b and c", "a < b", "continue", "a + 1", "1"}


def change(package: str, function: str, line: int = 1) -> Mutation:
    return Mutation(f"local_judge/{package}/a.py", line, 0, 1, "a", "b", function)


def test_a_sample_is_that_of_its_seed_and_even_over_the_packages() -> None:
    changes = [change(package, f"f{n}") for package in ("runs", "scoring", "judge") for n in range(20)]
    sample = draw(changes, 9, seed=1)
    assert [row.package for row in sample] == ["scoring"] * 3 + ["judge"] * 3 + ["runs"] * 3
    assert draw(changes[::-1], 9, seed=1) == sample
    assert draw(changes, 9, seed=2) != sample


def test_a_sample_outlives_code_around_it() -> None:
    changes = [change("scoring", f"f{n}") for n in range(20)]
    moved = [change("scoring", f"f{n}", line=9) for n in range(20)]
    assert [row.name for row in draw(moved, 5, 1)] == [row.name for row in draw(changes, 5, 1)]


def test_short_tests_of_the_package_come_first() -> None:
    seconds = {
        "tests/runs/a.py::b": 1.0,
        "tests/scoring/b.py::c": 3.0,
        "tests/scoring/c.py::d": 2.0,
        "tests/scoring/c.py::e": 0.5,
        "tests/scoring/d.py::f": 9.0,
        "tests/cli/e.py::g": 8.0,
    }
    reached = Reached(seconds, {change("scoring", "f").name: list(seconds)[:5]})
    own = Stage(
        True,
        ["tests/scoring/c.py", "tests/scoring/b.py"],
        ["tests/scoring/c.py::d", "tests/scoring/c.py::e", "tests/scoring/b.py::c"],
        5.5,
        n_left_out=1,
    )
    others = Stage(False, ["tests/runs/a.py"], ["tests/runs/a.py::b"], 1.0, n_left_out=0)
    assert stages(change("scoring", "f"), reached, budget=6) == [own, others]
    # What runs on import can be noticed by every test: those of 9 seconds do not fit, and those of 8 after 1.
    assert stages(change("scoring", ""), reached, budget=8) == [own, others._replace(n_left_out=1)]


def test_a_table_counts_what_is_killed_and_lists_what_survives() -> None:
    outcomes = [
        Outcome(change("scoring", "f"), "tests/scoring/a.py::b", is_own=True),
        Outcome(change("scoring", "g"), "tests/runs/a.py::b"),
        Outcome(change("runs", "h"), "a timeout of 60 s", is_own=True, is_timeout=True),
        Outcome(change("runs", "h", line=7)),
        Outcome(change("runs", "h", line=8), n_left_out=3),
    ]
    assert table(outcomes).splitlines() == [
        "| package | changes | killed by its own tests | killed by a timeout | killed | share |",
        "|---|---|---|---|---|---|",
        "| scoring | 2 | 1 | 0 | 2 | 1.00 |",
        "| runs | 3 | 1 | 1 | 1 | 0.33 |",
        "| all | 5 | 2 | 1 | 3 | 0.60 |",
        "",
        "1 of 2 survivors had tests left out; a larger --budget runs them",
        "",
        "local_judge/runs/a.py:7: `a` -> `b`",
        "",
        "local_judge/runs/a.py:8: `a` -> `b` (3 tests left out)",
    ]


def test_the_tests_of_another_sample_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, file = tmp_path / "local_judge/scoring/a.py", tmp_path / "reached.json"
    module.parent.mkdir(parents=True)
    module.write_text("def least(n):\n    return n >= 3\n")
    file.write_text('{"seconds": {}, "tests": {"local_judge/scoring/a.py:least:n >= 3 -> n > 3:0": []}}')
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["mutants", "--reached", str(file)])
    with pytest.raises(SystemExit) as refused:  # the sample also has 3 -> 4
        command.main()
    assert str(refused.value) == f"--reached {file}: made for another sample; delete it or name another file"


def test_changes_are_tried_in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`least` has a test of its boundary and `most` has none; one test fails without any change."""
    files = {
        "local_judge/scoring/limits.py": (
            "def least(n):\n    return n >= 3\n\n\ndef most(n):\n    return n <= 5\n"
        ),
        "tests/scoring/test_limits.py": (
            "from local_judge.scoring.limits import least, most\n\n\n"
            "def test_fails():\n    assert not least(3)\n\n\n"
            "def test_least():\n    assert least(3)\n\n\n"
            "def test_most():\n    assert most(4)\n"
        ),
    }
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = tmp_path / "project"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    changes = [row for row in mutations(root) if row.before.startswith("n")]
    reached = record(Checkout(root, tmp_path / "marked"), changes, ["tests"], workers=1)
    test = "tests/scoring/test_limits.py::test_"
    assert reached.tests == {changes[0].name: [f"{test}least"], changes[1].name: [f"{test}most"]}

    outcomes = measure(root, tmp_path / "copies", changes, reached, workers=2, budget=1)
    assert outcomes == [Outcome(changes[0], f"{test}least", is_own=True), Outcome(changes[1])]
    assert {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*.py")} == files
    assert not list(root.rglob("__pycache__"))
