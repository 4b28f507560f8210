"""Explanation of cache misses: comparison of a request with the most similar stored call.

Invariant: exactly the parts of the key are compared, so that a miss always names at least one of them.
"""

from __future__ import annotations

import json
from typing import Any

from local_judge.base.model import Frozen
from local_judge.ledger.database import Database
from local_judge.ledger.requests import Request, canonical
from local_judge.ledger.rows import read_text, request_parts

_WEIGHTS = {"own": 16, "shared": 8}
"""Weights of the parts in the similarity of two calls; the question counts most, then the report or page."""

_TEXTS = frozenset({"system", "shared", "own", "schema"})

_SHOWN = 160
"""Maximum characters of a text in a change, from shortly before the first difference."""


class Change(Frozen):
    """Part of a key that differs from the most similar stored call."""

    part: str
    """`judge.<field>`, `sampling.<field>`, `system`, `shared`, `own`, `schema`, `kind`, `options`, `draw`,
    `attempt`."""
    stored: str
    asked: str


class Explanation(Frozen):
    """Reason why the ledger does or does not answer a request."""

    hit: bool
    nearest: str | None = None
    """Key of the most similar stored call; None in an empty ledger."""
    changes: tuple[Change, ...] = ()


def explain_miss(connection: Database, request: Request) -> Explanation:
    """Find the stored call most similar to `request` (ties: lowest key), and the differences."""
    parts = request_parts(request)
    same = " + ".join(
        f"CASE WHEN requests.{name} {'IS NULL' if value is None else '= ?'} THEN {_WEIGHTS.get(name, 1)} ELSE 0 END"
        for name, value in parts.items()
    )
    columns = ", ".join(f"requests.{name}" for name in parts)
    row = connection.execute(
        f"SELECT requests.key, identity, {columns} FROM requests "
        "JOIN replies USING (key) JOIN judges ON judges.digest = requests.judge "
        f"ORDER BY {same} DESC, requests.key LIMIT 1",
        [value for value in parts.values() if value is not None],
    ).fetchone()
    if row is None:
        return Explanation(hit=False)
    stored = dict(zip(parts, row[2:], strict=True))
    prompt = request.prompt
    texts = {"system": prompt.system, "shared": prompt.shared, "own": prompt.rest, "schema": request.schema}
    changes: list[Change] = []
    for part, asked in parts.items():
        if asked == stored[part]:
            continue
        if part == "judge":
            changes += _fields(part, json.loads(row[1]), json.loads(request.judge.json))
        elif part == "sampling":
            changes += _fields(part, json.loads(stored[part]) or {}, json.loads(asked) or {})
        elif part in _TEXTS:
            before, after = _around(_text(connection, stored[part]), texts[part] or "")
            changes.append(Change(part=part, stored=before, asked=after))
        else:
            changes.append(Change(part=part, stored=str(stored[part]), asked=str(asked)))
    return Explanation(hit=False, nearest=row[0], changes=tuple(changes))


def _fields(part: str, stored: dict[str, Any], asked: dict[str, Any]) -> list[Change]:
    return [
        Change(part=f"{part}.{name}", stored=canonical(stored.get(name)), asked=canonical(asked.get(name)))
        for name in sorted(stored.keys() | asked.keys())
        if stored.get(name) != asked.get(name)
    ]


def _text(connection: Database, digest: bytes | None) -> str:
    return "" if digest is None else read_text(connection, digest)


def _around(stored: str, asked: str) -> tuple[str, str]:
    """Return excerpts of both texts from shortly before their first difference."""
    length = min(len(stored), len(asked))
    place = next((i for i in range(length) if stored[i] != asked[i]), length)
    start = max(0, place - 20)
    mark = "" if start == 0 else "…"
    return mark + stored[start : start + _SHOWN], mark + asked[start : start + _SHOWN]
