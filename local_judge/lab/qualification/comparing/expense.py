"""Cost beside quality, and who is dominated.

    tokens    (prompt tokens - cached tokens + generated tokens) / claims
    seconds   seconds in which at least one call was under way / claims

A judge is dominated by another that is as good at least and no dearer in either, and better or cheaper in one. Quality
is held together on the items that both answered.

Invariant: what a judge took comes from the ledger of its own qualification, the same when all is replayed; a judge
without quality, or without cost, is neither dominated nor dominates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from local_judge.lab.qualification.comparing.model import Difference, Expense, Worth
from local_judge.lab.qualification.model import Asked, Figure

QUALITY: Final = (
    "verification/accuracy/calibrated",
    "verification/auc/raw",
    "verification/accuracy/grouped",
    "verification/auc/grouped",
)
"""The figures that are set beside cost."""
METHODS: Final[Mapping[str, str]] = {
    "raw": "scored",
    "calibrated": "scored",
    "near": "near",
    "grouped": "grouped",
}
"""How the cost of a figure's method is called; what calibrations are fitted on besides is in the part's total."""


def expenses(judges: Mapping[str, Sequence[Asked]]) -> list[Expense]:
    """What each part took of each judge, part by part, and below it what the part counts apart."""
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
        for judge, asked in judges.items()
        for one in asked
        for method, cost in {"": one.cost, **one.costs}.items()
    ]
    order = list(dict.fromkeys((row.part, row.method) for row in rows))
    return sorted(rows, key=lambda row: order.index((row.part, row.method)))


def n_asked(asked: Asked) -> int:
    """Claims of verification, which several methods make several items of; items of any other part."""
    if asked.part != "verification":
        return len(asked.items)
    return len({item.id.rpartition(":")[0] for item in asked.items})


def worths(
    figures: Mapping[str, Sequence[Figure]], spent: Sequence[Expense], compared: Sequence[Difference]
) -> list[Worth]:
    """Quality beside cost, for each figure of `QUALITY` that some judge has a value of.

    Args:
        figures: of each judge, on all that it answered.
        spent: by `expenses`.
        compared: the differences of the same figures, on what two judges both answered; more of them is better.
    """
    found: list[Worth] = []
    for id in QUALITY:
        rows = [_worth(judge, id, own, spent) for judge, own in figures.items()]
        if any(row.value is not None for row in rows):
            less = _less(compared, id)
            found += [row.model_copy(update={"dominated_by": _above(row, rows, less)}) for row in rows]
    return found


def _worth(judge: str, id: str, figures: Sequence[Figure], spent: Sequence[Expense]) -> Worth:
    figure = next((one for one in figures if one.id == id), None) or Figure(id=id, value=None, n=0)
    method = METHODS[id.rpartition("/")[2]]
    own = {row.method: row for row in spent if row.judge == judge and row.part == "verification"}
    took = own.get(method)
    return Worth(
        judge=judge,
        figure=id,
        value=figure.value,
        low=figure.low,
        high=figure.high,
        n=figure.n,
        n_failed=figure.n_failed,
        tokens=took.tokens if took else None,
        seconds=took.busy if took else None,
    )


def _less(compared: Sequence[Difference], id: str) -> dict[tuple[str, str], float]:
    """The quality of one judge less that of another, both ways round."""
    found: dict[tuple[str, str], float] = {}
    for row in compared:
        if row.id == id and row.value is not None:
            found[row.first, row.second] = row.value
            found[row.second, row.first] = -row.value
    return found


def _above(own: Worth, rows: Sequence[Worth], less: Mapping[tuple[str, str], float]) -> tuple[str, ...]:
    """The judges that dominate one."""
    if own.tokens is None or own.seconds is None:
        return ()
    found: list[str] = []
    for other in rows:
        gain = less.get((other.judge, own.judge))
        if gain is None or other.tokens is None or other.seconds is None:
            continue
        saved = (gain, own.tokens - other.tokens, own.seconds - other.seconds)
        if min(saved) >= 0 and max(saved) > 0:
            found.append(other.judge)
    return tuple(found)
