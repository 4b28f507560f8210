"""Cost and quality of judges, and which judges are dominated.

    tokens    (prompt tokens - cached tokens + generated tokens) / claims
    seconds   seconds in which at least one call was in progress / claims

A judge is dominated by another that is at least as good, needs no more tokens and no more seconds, and is better or
cheaper in one of the three. Quality is compared on the items that both answered.

Invariant: the cost of a judge comes from the ledger of its own qualification, and is the same if all calls are
replayed. A judge without quality or cost neither is dominated nor dominates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from local_judge.lab.qualification.comparing.model import Expense, JudgeDifference, QualityCost
from local_judge.lab.qualification.model import Figure, PartRecord

QUALITY: Final[Mapping[str, str]] = {
    "verification/accuracy/calibrated": "scored",
    "verification/auc/raw": "scored",
    "verification/accuracy/grouped": "grouped",
    "verification/auc/grouped": "grouped",
}
"""Figures of quality, and the method whose cost is compared with each. Annotated claims that calibrations are fitted on
are only in the total of the part."""


def expenses(judges: Mapping[str, Sequence[PartRecord]]) -> list[Expense]:
    """Return the cost of each judge, part by part: the total, and then what the part counts separately."""
    rows = [
        Expense(
            judge=judge,
            part=one.part,
            method=method,
            n=n_asked(one),
            calls=cost.calls,
            computed_tokens=cost.computed_tokens,
            generated_tokens=cost.completion_tokens,
            seconds=cost.seconds,
        )
        for judge, records in judges.items()
        for one in records
        for method, cost in {"": one.cost, **one.costs}.items()
    ]
    order = list(dict.fromkeys((row.part, row.method) for row in rows))
    return sorted(rows, key=lambda row: order.index((row.part, row.method)))


def n_asked(record: PartRecord) -> int:
    """Return the number of claims of verification, which has an item for each method, or of items of another part."""
    if record.part != "verification":
        return len(record.items)
    return len({item.id.rpartition(":")[0] for item in record.items})


def quality_costs(
    figures: Mapping[str, Sequence[Figure]], spent: Sequence[Expense], compared: Sequence[JudgeDifference]
) -> list[QualityCost]:
    """Return quality and cost for each figure of `QUALITY` for which some judge has a value.

    Args:
        figures: figures of each judge on all items that it answered.
        spent: result of `expenses`.
        compared: differences of the same figures on the items that two judges both answered.
    """
    cost = {(row.judge, row.method): row for row in spent if row.part == "verification"}
    found: list[QualityCost] = []
    for id, method in QUALITY.items():
        rows: list[QualityCost] = []
        for judge, own in figures.items():
            figure = next((one for one in own if one.id == id), None) or Figure(id=id, value=None, n=0)
            took = cost.get((judge, method))
            quality = figure.model_dump(include={"value", "low", "high", "n", "n_failed"})
            tokens, seconds = (took.tokens, took.busy) if took else (None, None)
            rows.append(QualityCost(judge=judge, figure=id, tokens=tokens, seconds=seconds, **quality))
        if any(row.value is not None for row in rows):
            gains = _gains(compared, id)
            found += [row.model_copy(update={"dominated_by": _dominating(row, rows, gains)}) for row in rows]
    return found


def _gains(compared: Sequence[JudgeDifference], id: str) -> dict[tuple[str, str], float]:
    """Return the quality of one judge minus that of another, in both directions."""
    found: dict[tuple[str, str], float] = {}
    for row in compared:
        value = row.difference.value
        if row.id == id and value is not None:
            first, second = row.judges
            found |= {(second, first): value, (first, second): -value}
    return found


def _dominating(
    own: QualityCost, rows: Sequence[QualityCost], gains: Mapping[tuple[str, str], float]
) -> tuple[str, ...]:
    """Return the judges that dominate one."""
    if own.tokens is None or own.seconds is None:
        return ()
    found: list[str] = []
    for other in rows:
        gain = gains.get((other.judge, own.judge))
        if gain is None or other.tokens is None or other.seconds is None:
            continue
        saved = (gain, own.tokens - other.tokens, own.seconds - other.seconds)
        if min(saved) >= 0 and max(saved) > 0:
            found.append(other.judge)
    return tuple(found)
