"""Golden vectors: outputs that the original implementations gave, against ours on the same inputs.

Invariant: a file passes only if all that is in it but notes has a known shape and matches. Numbers of two decimals or
fewer, to which results are rounded, match exactly, other floats to `FLOAT_TOLERANCE`.

A file is a list of cases, or an object with lists of cases in it; cases of single functions make a list for each. Texts
beside them, and objects of texts, are notes. A list's shape is told by the keys of its cases; to cover one more, give
its `Shape` a function from a case to what we get and what is expected.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from tests.golden import deepresearcheval, deer, fact, human, liveresearchbench, race
from tests.golden.cases import Case, Comparison

MAX_PRINTED = 20
"""Mismatches printed for each list."""


class GoldenError(Exception):
    """A file that cannot be run: one line for the user."""


class Shape(NamedTuple):
    """A kind of case."""

    name: str
    told_by: Callable[[Case], bool]
    run: Callable[[Case], Comparison]
    keys: frozenset[str]
    """All that a case may have: one with more holds something that is not compared."""

    def matches(self, case: Case) -> bool:
        """Whether a case is one of these."""
        return self.told_by(case) and case.keys() <= self.keys


class Mismatch(NamedTuple):
    """A place where a case differs."""

    path: str
    expected: object
    got: object


class Result(NamedTuple):
    """What became of one list."""

    name: str
    n_cases: int
    shape: Shape | None
    """None for a shape that is not known."""
    n_passed: int
    mismatches: tuple[Mismatch, ...]

    @property
    def passed(self) -> bool:
        """Whether all its cases were run and match."""
        return self.shape is not None and self.n_passed == self.n_cases


def _has(*keys: str) -> Callable[[Case], bool]:
    def matches(case: Case) -> bool:
        return all(key in case for key in keys)

    return matches


def _in_is(kind: type) -> Callable[[Case], bool]:
    def matches(case: Case) -> bool:
        return isinstance(case.get("in"), kind) and "out" in case

    return matches


def _is_metrics(case: Case) -> bool:
    inputs = case.get("in")
    return isinstance(inputs, dict) and {"claims", "references"} <= cast("dict[str, object]", inputs).keys()


_FUNCTION = frozenset({"name", "function", "kind", "note", "input", "upstream_output"})


def _keys(*keys: str) -> frozenset[str]:
    return frozenset(keys)


SHAPES: tuple[Shape, ...] = (
    Shape("metrics", _is_metrics, deer.run_metrics, _keys("in", "out")),
    Shape("backtrack", _in_is(list), deer.run_backtrack, _keys("in", "out")),
    Shape("refs", _in_is(str), deer.run_refs, _keys("in", "out")),
    Shape("labels", _has("in", "text", "sents"), deer.run_labels, _keys("in", "text", "sents")),
    Shape(
        "rubric",
        _has("scores", "criteria_avgs", "score"),
        deer.run_rubric,
        _keys("scores", "criteria_avgs", "score_avgs", "score"),
    ),
    Shape(
        "integration", _has("samples", "final"), deer.run_integration, _keys("samples", "final", "per_sample")
    ),
    Shape(
        "race",
        _has("input_judge_json", "upstream_scores"),
        race.run_race,
        _keys("name", "criteria", "input_judge_json", "upstream_scores"),
    ),
    Shape(
        "fact",
        _has("validated", "upstream_fact_result"),
        fact.run_fact,
        _keys("name", "validated", "tasks_in_benchmark", "upstream_fact_result", "paper_appendix_E"),
    ),
    Shape(
        "human consistency",
        _has("human", "method", "expected"),
        human.run_human_consistency,
        _keys("name", "description", "human", "method", "expected"),
    ),
    Shape("LiveResearchBench", liveresearchbench.is_case, liveresearchbench.run_function, _FUNCTION),
    Shape("DeepResearchEval", deepresearcheval.is_case, deepresearcheval.run_function, _FUNCTION),
)


def load(path: Path) -> dict[str, list[Case]]:
    """The lists of cases in a file by name; what is neither cases nor a note is one case. Raises GoldenError."""
    try:
        data: object = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GoldenError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise GoldenError(f"{path}: not JSON: {error}") from error
    members = cast("dict[str, object]", data) if isinstance(data, dict) else {path.stem: data}
    cases: dict[str, list[Case]] = {}
    for name, value in members.items():
        items = cast("list[object]", value) if isinstance(value, list) else []
        odd = [number for number, item in enumerate(items) if not isinstance(item, dict)]
        if odd and len(odd) < len(items):
            raise GoldenError(f"{path}: {name}[{odd[0]}] is no case, as others of the list are")
        if isinstance(value, list) and not items:
            raise GoldenError(f"{path}: {name} is an empty list")
        if odd or not isinstance(value, list):
            if not _is_note(cast("object", value)):
                cases[name] = [{"value": value}]
            continue
        for part, own in _by_function(name, cast("list[Case]", items)).items():
            cases.setdefault(part, []).extend(own)
    if not cases:
        raise GoldenError(f"{path}: no list of cases in it")
    return cases


def _is_note(value: object) -> bool:
    members = cast("dict[str, object]", value).values() if isinstance(value, dict) else (value,)
    return all(isinstance(member, str) for member in members)


def _by_function(name: str, items: list[Case]) -> dict[str, list[Case]]:
    """A list of cases of several functions as one list for each; any other list as it is."""
    if not all(_has("name", "function")(item) and isinstance(item["name"], str) for item in items):
        return {name: items}
    found: dict[str, list[Case]] = {}
    for item in items:
        found.setdefault(item["name"], []).append(item)
    return found


def check(name: str, cases: Sequence[Case]) -> Result:
    """Run one list. Raises GoldenError if a case does not have the fields of its shape, or not all have one shape."""
    shape = next((shape for shape in SHAPES if all(shape.matches(case) for case in cases)), None)
    if shape is None:
        # One odd case must not take the others out of the comparison.
        for known in SHAPES:
            odd = [index for index, case in enumerate(cases) if not known.matches(case)]
            if len(odd) < len(cases):
                raise GoldenError(f"{name}[{odd[0]}]: not a case of {known.name}, as others of the list are")
        return Result(name, len(cases), shape, 0, ())
    n_passed = 0
    mismatches: list[Mismatch] = []
    for index, case in enumerate(cases):
        where = f"{name}[{index}]"
        try:
            comparison = shape.run(case)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = " ".join(str(error).split())
            raise GoldenError(f"{where}: not a case of {shape.name}: {reason}") from error
        found = list(differences(where, comparison.expected, comparison.got))
        n_passed += not found
        mismatches += found
    return Result(name, len(cases), shape, n_passed, tuple(mismatches))


FLOAT_TOLERANCE = 1e-12
"""Relative."""
DECIMALS = 2
"""To which the original implementations round."""

_ABSENT = object()


def differences(path: str, expected: object, got: object) -> Iterator[Mismatch]:
    """Where two values differ, place by place; unrounded floats to a relative `FLOAT_TOLERANCE`."""
    if isinstance(expected, dict) and isinstance(got, dict):
        left, right = cast("dict[str, object]", expected), cast("dict[str, object]", got)
        for key in {**left, **right}:
            yield from differences(f"{path}.{key}", left.get(key, _ABSENT), right.get(key, _ABSENT))
    elif isinstance(expected, list) and isinstance(got, list):
        items, others = cast("list[object]", expected), cast("list[object]", got)
        for index in range(max(len(items), len(others))):
            yield from differences(
                f"{path}[{index}]",
                items[index] if index < len(items) else _ABSENT,
                others[index] if index < len(others) else _ABSENT,
            )
    elif not _equal(cast("object", expected), got):
        yield Mismatch(path, expected, got)


def _equal(expected: object, got: object) -> bool:
    """Equality, of unrounded floats up to the last bits: sums in another order differ there, rounded values do not."""
    if isinstance(expected, float) and isinstance(got, float) and round(expected, DECIMALS) != expected:
        return math.isclose(expected, got, rel_tol=FLOAT_TOLERANCE, abs_tol=0.0)
    return isinstance(expected, bool) is isinstance(got, bool) and expected == got


def _show(value: object) -> str:
    return "nothing" if value is _ABSENT else json.dumps(value, ensure_ascii=False)


def report(result: Result) -> Iterator[str]:
    """The lines that a person reads."""
    kind = "" if result.shape is None or result.shape.name == result.name else f" ({result.shape.name})"
    if result.shape is None:
        yield f"{result.name}: {result.n_cases} cases of an unknown shape"
        return
    yield f"{result.name}{kind} {result.n_passed}/{result.n_cases}"
    for mismatch in result.mismatches[:MAX_PRINTED]:
        yield f"  {mismatch.path}: expected {_show(mismatch.expected)}, got {_show(mismatch.got)}"
    if len(result.mismatches) > MAX_PRINTED:
        yield f"  and {len(result.mismatches) - MAX_PRINTED} more"
