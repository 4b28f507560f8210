"""Key-information coverage, 0 to 100 (DREAM, section 3 and appendix C).

    KIC_t = 100 * (sum over the K items of v) / K        v: 1 yes, 0 no; over tasks the mean of KIC_t

K is the number of items in the task's plan. Of several judges, an item's v is the mean of those that answered.

Invariant: a plan without items leaves the score undefined, and never 0; an item without an answer is left out and
opens the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.base import Rated
from local_judge.protocols.dream.key_information.findings import KeyInformationFindings
from local_judge.protocols.dream.plans import plan_note
from local_judge.protocols.items import rate, rated
from local_judge.protocols.scores import Score, ScoreNode

NO_ITEMS = "the plan has no key information"


def score_key_information(judges: Sequence[KeyInformationFindings]) -> ScoreNode:
    """The rate of one report, with each item; one judge at least."""
    if not judges[0].items:
        whole, items = Score(value=None, n_undefined=1, note=NO_ITEMS), ()
    else:
        whole, items = rate([found.items for found in judges])
    notes = filter(None, (whole.note, plan_note(judges[0].status)))
    return ScoreNode(
        id="key_information",
        label="Key-information coverage",
        score=whole.model_copy(update={"note": "; ".join(notes)}),
        children=items,
    )


def rated_key_information(found: KeyInformationFindings) -> tuple[Rated, ...]:
    """The answer to each item."""
    return rated("key_information", found.items)
