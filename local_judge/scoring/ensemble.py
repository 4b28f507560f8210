"""Several judges' scores of one report, or over reports, as one tree.

Invariant: a judge that failed leaves a hole that is counted and that opens the bounds, and is never a zero; a hole
whose size is not known leaves no bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from local_judge.scoring.algebra import mean_of, undefined
from local_judge.scoring.coverage import known_share
from local_judge.scoring.node import Score, ScoreNode, Tree
from local_judge.stats.sums import sum_in_order


def mean_trees(trees: Sequence[Tree]) -> tuple[ScoreNode, ...]:
    """Return the mean of each node over the judges that have a value there.

    It serves metrics whose answers cannot be merged. A node that a judge's tree lacks is undefined for that judge.
    Different items at one path, since each judge drafted its own, have no mean and are left out.
    """
    ids = dict.fromkeys(node.id for tree in trees for node in tree)
    nodes = [[_child(tree, id) for tree in trees] for id in ids]
    return tuple(_mean_node(same) for same in nodes if not _differ(same))


def _differ(nodes: Sequence[ScoreNode | None]) -> bool:
    return len({node.label for node in nodes if node is not None and node.of_task}) > 1


def _mean_node(nodes: Sequence[ScoreNode | None]) -> ScoreNode:
    first = next(node for node in nodes if node is not None)
    return first.model_copy(
        update={
            "score": mean_over_judges([undefined("") if node is None else node.score for node in nodes]),
            # Where one of several judges lacks a report, the mean of the judges' means is another number.
            "mean": first.mean
            and (len(nodes) == 1 or all(node is not None and not node.score.n_failed for node in nodes)),
            "children": mean_trees([() if node is None else node.children for node in nodes]),
        }
    )


def _child(tree: Tree, id: str) -> ScoreNode | None:
    return next((node for node in tree if node.id == id), None)


def mean_over_judges(scores: Sequence[Score]) -> Score:
    """Return the mean of one score over the judges that have a value, as `mean_of` takes it.

    `n_expected` counts the judges, `n_failed` those that have no value through failures. The note says so, and of how
    many judges a value rests on a part of their answers; a note that all judges share is kept.
    """
    if len(scores) == 1:
        return scores[0]
    found = mean_of(scores)
    n_part = sum(score.value is not None and score.n_failed > 0 for score in scores)
    notes = [scores[0].note] if len({score.note for score in scores}) == 1 and scores[0].note else []
    notes += [
        f"{number} of {len(scores)} judges {what}"
        for number, what in (
            (found.n_failed, "failed"),
            (n_part, "failed in part"),
            (found.n_undefined, "have no value"),
        )
        if number
    ]
    return found.model_copy(update={"note": "; ".join(notes)})


def at_extremes(score: Callable[[bool | None], Tree], judges: Sequence[Tree]) -> tuple[ScoreNode, ...]:
    """Return the scores of several judges' merged answers, with bounds from the formula evaluated at the extremes.

    It serves formulas that are not a mean of the judges' scores, such as votes.

    Args:
        score: the scores of what the judges that answered say together (None); had each judge that failed answered
            against the report (False); had it answered in its favour (True).
        judges: each judge's own scores; `n_expected`, `n_failed` and `n_undefined` are the sums of theirs.
    """
    return _opened_trees(score(None), score(False), score(True), judges)


def _opened_trees(value: Tree, against: Tree, favour: Tree, judges: Sequence[Tree]) -> tuple[ScoreNode, ...]:
    return tuple(
        node.model_copy(
            update={
                "score": _opened(
                    node, _child(against, node.id), _child(favour, node.id), _children(judges, node.id)
                ),
                "children": _opened_trees(
                    node.children,
                    _below(_child(against, node.id)),
                    _below(_child(favour, node.id)),
                    [one.children for one in _children(judges, node.id)],
                ),
            }
        )
        for node in value
    )


def _children(trees: Iterable[Tree], id: str) -> list[ScoreNode]:
    return [node for tree in trees for node in tree if node.id == id]


def _below(node: ScoreNode | None) -> Tree:
    return () if node is None else node.children


def _opened(
    node: ScoreNode, against: ScoreNode | None, favour: ScoreNode | None, judges: Sequence[ScoreNode]
) -> Score:
    score = node.score
    ends = [score.value]
    ends += [against.score.value if against.score.low is None else against.score.low] if against else []
    ends += [favour.score.value if favour.score.high is None else favour.score.high] if favour else []
    known = [end for end in ends if end is not None]
    shares = [share for one in judges if (share := known_share(one.score)) is not None]
    return score.model_copy(
        update={
            "known": sum_in_order(shares) / len(shares) if shares else None,
            "low": min(known, default=None),
            "high": max(known, default=None),
            "n_expected": sum(one.score.n_expected for one in judges),
            "n_failed": sum(one.score.n_failed for one in judges),
            "n_undefined": sum(one.score.n_undefined for one in judges),
        }
    )
