"""Places where a small change of a module changes what it computes, and the module with such a change.

Invariant: a change is outside docstrings, text, annotations, decorators, `raise` statements and what is imported for
types only. `strict=` of `zip` is left alone: it is an assertion.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("scoring", "claims", "judge", "protocols", "runs")
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPPOSITES = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
"""Comparisons whose change is the negation."""
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
PLAIN = {"int", "float", "str", "bool"}
"""Annotations of functions that return a number or a text."""
TEXTS = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
"""Operands that can only be added: another operator would be an error and not another value."""


@dataclass(frozen=True)
class Mutation:
    """Change of one expression or statement."""

    path: str
    """Module, relative to the checkout."""
    line: int
    start: int
    end: int
    """Bytes of the module that are replaced."""
    before: str
    after: str
    function: str
    """Qualified name of the function that contains it; empty for code that runs on import."""
    is_statement: bool = False
    occurrence: int = 0
    """Number of equal changes before it in its function."""

    @property
    def package(self) -> str:
        """Folder below `local_judge`."""
        return self.path.split("/")[1]

    @property
    def name(self) -> str:
        """Identifier that stays the same when code around the function changes."""
        return f"{self.path}:{self.function}:{self.before} -> {self.after}:{self.occurrence}"

    def apply(self, source: bytes) -> bytes:
        """Return the module with this change."""
        after = self.after if self.is_statement else f"({self.after})"
        return source[: self.start] + after.encode() + source[self.end :]


def mutations(root: Path, packages: Sequence[str] = PACKAGES) -> list[Mutation]:
    """Return every change of the packages of a checkout, in the order of the code."""
    return [
        change
        for package in packages
        for path in sorted((root / "local_judge" / package).rglob("*.py"))
        for change in mutations_of(path.read_bytes(), path.relative_to(root).as_posix())
    ]


def mutations_of(source: bytes, path: str) -> list[Mutation]:
    """Return every change of one module."""
    finder = _Finder(source, path)
    finder.visit(ast.parse(source))
    return finder.changes


def draw(changes: Sequence[Mutation], number: int, seed: int) -> list[Mutation]:
    """Return a sample that is spread evenly over the packages.

    The order of a package's changes is that of the digests of their names with the seed: a change of other code leaves
    the sample as it is.
    """

    def rank(change: Mutation) -> bytes:
        return hashlib.sha256(f"{seed}:{change.name}".encode()).digest()

    queues: dict[str, list[Mutation]] = {}
    for change in sorted(changes, key=rank):
        queues.setdefault(change.package, []).append(change)
    drawn: list[Mutation] = []
    while len(drawn) < number and any(queues.values()):
        for package in sorted(queues, key=PACKAGES.index):
            if queues[package] and len(drawn) < number:
                drawn.append(queues[package].pop(0))
    return sorted(drawn, key=lambda change: (PACKAGES.index(change.package), change.path, change.start))


def mark(source: bytes, changes: Sequence[tuple[int, Mutation]]) -> bytes:
    """Return the module with a call of `reach.hit` in front of what each numbered change replaces."""
    inserts: list[tuple[int, int, str]] = []
    for number, change in changes:
        call = f'__import__("reach").hit({number})'
        inserts.append((change.start, -change.end, f"{call}; " if change.is_statement else f"({call} or ("))
        if not change.is_statement:
            inserts.append((change.end, -len(source) - 1, "))"))
    for at, _, text in sorted(inserts, reverse=True):
        source = source[:at] + text.encode() + source[at:]
    return source


class _Finder(ast.NodeVisitor):
    def __init__(self, source: bytes, path: str) -> None:
        self.path = path
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.scope: list[str] = []
        self.function = ""
        self.returns_plain = False
        self.seen: dict[tuple[str, str, str], int] = {}
        self.changes: list[Mutation] = []

    def add(self, node: ast.expr | ast.stmt, *others: ast.expr | ast.stmt) -> None:
        """Record that `node` may be replaced by each of the others."""
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        for other in others:
            before, after = ast.unparse(node), ast.unparse(other)
            key = (self.function, before, after)
            occurrence = self.seen[key] = self.seen.get(key, -1) + 1
            statement = isinstance(node, ast.stmt)
            self.changes.append(
                Mutation(
                    self.path, node.lineno, start, end, before, after, self.function, statement, occurrence
                )
            )

    def visit(self, node: ast.AST) -> None:
        """Record the changes of a node, then those below it."""
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.expr | ast.stmt):
            self.add(node, *_others(node))
        if isinstance(node, ast.If | ast.IfExp):
            self.negate(node.test)
        if isinstance(node, ast.comprehension):
            for test in node.ifs:
                self.negate(test)
        super().visit(node)

    def negate(self, test: ast.expr) -> None:
        """Record the negation of a condition, unless another change is the same."""
        same = isinstance(test, ast.UnaryOp) or (
            isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], OPPOSITES)
        )
        if not same:
            self.add(test, ast.UnaryOp(ast.Not(), test))

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Visit defaults as part of the code around, then the body."""
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        outside = self.function, self.returns_plain
        self.scope.append(node.name)
        self.function = ".".join(self.scope)
        self.returns_plain = isinstance(node.returns, ast.Name) and node.returns.id in PLAIN
        for statement in node.body:
            self.visit(statement)
        self.scope.pop()
        self.function, self.returns_plain = outside

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit the body under the name of the class."""
        self.scope.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.scope.pop()

    def visit_Return(self, node: ast.Return) -> None:
        """Record that a number or a text may be missing."""
        if node.value is not None:
            if self.returns_plain and ast.unparse(node.value) != "None":
                self.add(node.value, ast.Constant(None))
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Visit the value alone."""
        if node.value is not None:
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Visit what is not a type of literals."""
        if ast.unparse(node.value) != "Literal":
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Visit the function and the arguments, without `strict` of `zip`."""
        if isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            self.add(node.func, ast.Name(FUNCTIONS[node.func.id]))
        self.visit(node.func)
        for argument in (*node.args, *node.keywords):
            if not (isinstance(argument, ast.keyword) and argument.arg == "strict"):
                self.visit(argument)

    def visit_match_case(self, node: ast.match_case) -> None:
        """Visit the guard and the body: a pattern takes no parentheses."""
        for part in (*([node.guard] if node.guard else []), *node.body):
            self.visit(part)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Skip a message."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip a text, whose parts have no position of their own before Python 3.12."""


def _others(node: ast.expr | ast.stmt) -> Iterator[ast.expr | ast.stmt]:
    match node:
        case ast.Compare(ops=ops):
            for position, operator in enumerate(ops):
                other = copy.deepcopy(node)
                other.ops[position] = COMPARISONS[type(operator)]()
                yield other
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left, operator, right) if _is_arithmetic(operator, left, right):
            yield ast.BinOp(left, ARITHMETIC[type(operator)](), right)
        case ast.AugAssign(target, operator, value) if _is_arithmetic(operator, value):
            yield ast.AugAssign(target, ARITHMETIC[type(operator)](), value)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
        case _:
            pass


def _is_arithmetic(operator: ast.operator, *operands: ast.expr) -> bool:
    def is_text(node: ast.expr) -> bool:
        return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)

    return type(operator) in ARITHMETIC and not any(
        isinstance(side, TEXTS) or is_text(side) for side in operands
    )
