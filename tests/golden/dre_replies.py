"""What the published code of DeepResearchEval makes of its judges' replies, to the letter (`evaluator`, `fact_check`).

Nothing of ours rests on it: our judges answer by a schema. The golden vectors fix it, so that what the documentation
says of the published code is known to be so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from local_judge.protocols.deepresearcheval.upstream import FIXED, dimension_key

_FORMS = (
    ("```json", "```", False),
    ("```", "```", False),
    ("<json_output>", "</json_output>", False),
    ("[", "]", True),
    ("{", "}", True),
)
"""What may stand around JSON, in the order of the attempts; of the last two it is part of it."""


def extract_json(reply: str) -> str | None:
    """The first part of a judge's reply that is JSON, from each opening to the nearest closing."""
    for opening, closing, part in _FORMS:
        for inner in _between(reply, opening, closing):
            text = opening + inner + closing if part else inner.strip()
            if _is_json(text):
                return text
    return None


def extract_answer(reply: str) -> str | None:
    """The same, the first tag `json_output` before all else."""
    tagged = next(_between(reply, "<json_output>", "</json_output>"), "").strip()
    return tagged if _is_json(tagged) else extract_json(reply)


def _between(text: str, opening: str, closing: str) -> Iterator[str]:
    start = text.find(opening)
    while start >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            return
        yield text[start + len(opening) : end]
        start = text.find(opening, end + len(closing))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def default_weights(additional: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Equal weights, where the judge gave none."""
    names = [*FIXED, *(dimension_key(one.get("meta_dimension_name", "")) for one in additional)]
    return dict.fromkeys(names, 1.0 / (len(FIXED) + len(additional)))


def weights_of(reply: str, additional: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Weights by dimension from a judge's reply, whatever dimensions it names."""
    answer = extract_answer(reply)
    if answer is None:
        return default_weights(additional)
    try:
        given: Any = json.loads(answer)
        total = sum(given.values())
        shares = {name: weight / total for name, weight in given.items()} if total > 0 else given
        return {dimension_key(name): weight for name, weight in shares.items()}
    except (AttributeError, TypeError):
        return default_weights(additional)


def unweighted(weights: Mapping[str, float], additional: Sequence[Mapping[str, Any]]) -> list[str]:
    """The dimensions that have no weight: over a report with any of them, the published code stumbles and drops it."""
    names = [*FIXED, *(dimension_key(one["meta_dimension_name"]) for one in additional)]
    return [name for name in names if name not in weights]


def merged_statements(texts: Iterable[str]) -> list[dict[str, Any]]:
    """The rows of a result file of facts from the last replies of all segments, failed ones among them.

    Of each text what stands between its first `{` and its last `}` is read as JSON. Its `core_state` is appended item
    by item, another object as it is; what cannot be read is passed over.
    """
    rows: list[dict[str, Any]] = []
    for text in texts:
        try:
            value: Any = json.loads(text[text.index("{") : text.rindex("}") + 1])
        except (ValueError, RecursionError):
            continue
        found = cast("dict[str, Any]", value)
        rows += found.get("core_state", [found])
    return rows


def ratio_range(right: float, statements: float, half: float = 0.005) -> tuple[float, float]:
    """Between what the paper's ratio lies, 100 * N_Right / N_Statements, where both numbers are rounded, and it too.

    Args:
        right: mean number of statements that are Right, as printed.
        statements: mean number of statements, as printed.
        half: half of the last digit of all three.
    """
    low, high = (right - half) / (statements + half), (right + half) / (statements - half)
    return 100.0 * low - half, 100.0 * high + half
