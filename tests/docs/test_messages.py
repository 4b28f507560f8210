"""The wording of a message is asserted in one test. All other tests assert its kind, its values and its remedy."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGES = ("local_judge", "serving", "indexes", "problems", "scripts")
RUN = 4
"""Number of consecutive words of a message that make a quotation of it."""
WORD = "[a-z]+(?:[-'_][a-z]+)*"
PUNCTUATION = "`'\"()[]{}<>:;,.!?*^$|-\\"
HELP = frozenset({"help", "description", "epilog"})
"""Keywords of a call whose texts describe an option or a model."""
PROMPTS = (":", "?", "Answer Yes or No.")
"""Ends of headings and questions in prompts: each test of a prompt asserts its whole text."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Run = tuple[str, ...]
Values = defaultdict[str, list[ast.expr]]
"""Name -> the expressions that it may stand for."""


class Text(NamedTuple):
    """String in the code, or in an assertion of a test."""

    place: str
    """File and line in the code, file and function in the tests."""
    parts: tuple[str, ...]
    """Constant parts, between which values stand."""


def runs(text: Text) -> set[Run]:
    """Return the runs of words in the parts of a text or of a pattern; what is no word ends a run.

    Words of up to three letters alone make no run, as in "is one of the".
    """
    found: set[Run] = set()
    for part in text.parts:
        words = [word.strip(PUNCTUATION) for word in re.sub(r"\\(.)", r"\1", part).lower().split()]
        for at in range(len(words) - RUN + 1):
            run = tuple(words[at : at + RUN])
            if all(re.fullmatch(WORD, word) for word in run) and max(map(len, run)) > 3:
                found.add(run)
    return found


def is_message(text: str) -> bool:
    """Check whether a text is one line and no part of a prompt."""
    return "\n" not in text.rstrip("\n") and not text.rstrip().endswith(PROMPTS)


def modules(*folders: str) -> Iterator[tuple[str, str]]:
    """Yield the paths and texts of the modules and Python scripts in these folders."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix == ".py" or (folder == "scripts" and path.is_file() and not path.suffix):
                text = path.read_text(encoding="utf-8")
                if path.suffix or "python" in text.partition("\n")[0]:
                    yield path.relative_to(ROOT).as_posix(), text


def messages(asserted: Set[Run]) -> Iterator[Text]:
    """Yield the strings, without docstrings and help texts, of the modules in which one of these runs occurs."""
    for path, text in modules(*PACKAGES):
        words = re.findall(WORD, re.sub(r"""["']\s+[rf]*["']""", "", text).lower())
        if asserted.isdisjoint(zip(*(words[at:] for at in range(RUN)), strict=False)):
            continue
        waiting: list[ast.AST] = [ast.parse(text)]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.JoinedStr):
                parts = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
                last = "" if isinstance(node.values[-1], ast.Constant) else "…"
                if is_message("…".join(parts) + last):
                    yield Text(f"{path}:{node.lineno}", tuple(parts))
                waiting += [part for part in node.values if isinstance(part, ast.FormattedValue)]
            elif isinstance(node, ast.Constant):
                if isinstance(node.value, str) and is_message(node.value):
                    yield Text(f"{path}:{node.lineno}", (node.value,))
            elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) and not (
                isinstance(node, ast.keyword) and node.arg in HELP
            ):
                waiting += ast.iter_child_nodes(node)


def quotations() -> Iterator[Text]:
    """Yield the literals that tests compare: in assertions, in `match=`, and as values of the names in them."""
    for path, text in modules("tests"):
        tree = ast.parse(text)
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        functions = [node for body in (tree, *classes) for node in body.body if isinstance(node, Function)]
        walked = {function: list(ast.walk(function)) for function in functions}
        checking = {
            one.name for one in functions if any(isinstance(node, ast.Assert) for node in walked[one])
        }
        shared = bound(node for node in tree.body if not isinstance(node, Function))
        for function in functions:
            values = bound(walked[function], shared)
            for node in walked[function]:
                if isinstance(node, ast.Assert):
                    compared = [node.test]
                elif isinstance(node, ast.Call):
                    compared = [keyword.value for keyword in node.keywords if keyword.arg == "match"]
                    if isinstance(node.func, ast.Name) and node.func.id in checking:
                        compared += node.args
                else:
                    continue
                for literal in literals(compared, values):
                    yield Text(f"{path}::{function.name}", (literal,))


def literals(compared: list[ast.expr], values: Values) -> Iterator[str]:
    """Yield the messages in expressions, and in what their names stand for."""
    waiting: list[ast.AST] = [*compared]
    followed: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and is_message(node.value):
                yield node.value
        elif isinstance(node, ast.Name):
            if node.id in values and node.id not in followed:
                followed.add(node.id)
                waiting += [one for one in values[node.id] if not isinstance(one, ast.Call | ast.Await)]
        elif isinstance(node, ast.Subscript):  # a key is a name and no wording
            waiting.append(node.value)
        else:
            waiting += ast.iter_child_nodes(node)


def bound(nodes: Iterable[ast.AST], more: Values | None = None) -> Values:
    """Return the values of names: of assignments, loops, and the parameters of parametrized tests."""
    values: Values = defaultdict(list, more or {})
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                bind(values, target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            bind(values, node.target, node.value)
        elif isinstance(node, ast.For | ast.comprehension):
            bind_each(values, node.target, node.iter)
        elif isinstance(node, Function):
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.parametrize":
                    names, rows = call.args
                    named = ast.literal_eval(names)
                    text = named if isinstance(named, str) else ", ".join(named)
                    bind_each(values, ast.parse(text, mode="eval").body, rows)
    return values


def bind(values: Values, target: ast.expr, value: ast.expr) -> None:
    """Bind the names of a target to a value, or to its parts where both are sequences of one length."""
    if isinstance(target, ast.Name):
        values[target.id] = [*values[target.id], value]
    elif isinstance(target, ast.Tuple | ast.List):
        parts = value.args if isinstance(value, ast.Call) else getattr(value, "elts", ())
        for place, part in enumerate(target.elts):
            bind(values, part, parts[place] if len(parts) == len(target.elts) else value)


def bind_each(values: Values, target: ast.expr, rows: ast.expr) -> None:
    """Bind the names of a target to each row of a sequence."""
    for row in getattr(rows, "elts", [rows]):
        bind(values, target, row)


def test_the_wording_of_a_message_is_asserted_in_one_test() -> None:
    tests: defaultdict[Run, set[str]] = defaultdict(set)
    for quotation in quotations():
        for run in runs(quotation):
            tests[run].add(quotation.place)
    asserted = {run for run, places in tests.items() if len(places) > 1}
    templates: defaultdict[Run, set[str]] = defaultdict(set)
    for message in messages(asserted):
        for run in runs(message) & asserted:
            templates[run].add(message.place)
    wrong = {
        "\n    ".join((*sorted(places), *sorted(tests[run]))): " ".join(run)
        for run, places in templates.items()
        if len(tests[run]) > len(places)
    }
    assert not wrong, (
        "assert in one test the wording, in all others the kind, the values and the remedy:\n"
        + ("\n".join(f"{quoted!r} of\n    {places}" for places, quoted in sorted(wrong.items())))
    )
