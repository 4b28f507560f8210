"""Which statements are checked, where there are more than may be.

Invariant: which are chosen depends on the report, the statements and the seed alone; they stay in reading order.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from local_judge.protocols.deepresearcheval.facts.findings import Statement
from local_judge.protocols.deepresearcheval.facts.settings import FactsSettings


def choose(statements: Sequence[Statement], document: str, settings: FactsSettings) -> tuple[Statement, ...]:
    """At most `max_statements` of them.

    Args:
        statements: of one report.
        document: its id: two reports with as many statements are not drawn alike.
        settings: the limit, and by what they are chosen.
    """
    limit = settings.max_statements
    if limit is None or len(statements) <= limit:
        return tuple(statements)
    drawn = list(range(len(statements)))
    random.Random(f"{settings.seed} {document}").shuffle(drawn)
    if settings.choose == "salience":
        drawn.sort(key=lambda place: not statements[place].salient)
    return tuple(statements[place] for place in sorted(drawn[:limit]))
