from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError, RunError
from local_judge.runs.results.side_by_side import score_columns
from local_judge.runs.storage.records import CaseRecord, ScoreRecord
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import load_system_scores, write_scores
from local_judge.scoring.node import Score, ScoreNode


def node(name: str, value: float | None, *children: ScoreNode) -> ScoreNode:
    return ScoreNode(id=name, label=name.title(), score=Score(value=value), children=children)


def tree(overall: float | None, a: float | None = 1.0, b: float | None = 2.0) -> ScoreNode:
    return node("overall", overall, node("a", a, node("x", a)), node("b", b, node("x", b), node("y", b)))


def case(name: str, n_words: int = 100, **fields: Any) -> CaseRecord:
    given: dict[str, Any] = {"status": "done", "document": f"d-{name}", "task": "t", "system": "s", **fields}
    return CaseRecord(id=name, key=name, n_words=n_words, n_characters=5 * n_words, n_sentences=3, **given)


def make(root: Path, cases: Sequence[CaseRecord], roots: dict[str, tuple[ScoreNode, ...]]) -> Path:
    """A run directory with `cases`, and these scores by the profile `paper`."""
    store = RunStore(root)
    store.write_json(
        "manifest.json",
        {"format_version": 4, "config": {"protocols": ["deer"]}, "reports": {"n": 0}},
    )
    store.write_jsonl("cases.jsonl", cases)
    rows = [
        ScoreRecord(case=name, protocol="deer", version="1", profile="paper", scores=scores)
        for name, scores in roots.items()
    ]
    write_scores(store, "deer", cases, rows)
    seal_run(store)
    return root


def test_a_report_without_a_score_has_it_undefined_if_it_has_others_and_else_failed(tmp_path: Path) -> None:
    # Report 1 has both scores, report 2 has one, and report 3 crashed: the other is 4, undefined and failed.
    cases = [case("1"), case("2"), case("3", status="crashed")]
    run = make(tmp_path / "run", cases, {"1": (node("a", 2.0), node("b", 4.0)), "2": (node("a", 3.0),)})
    found = {one.path: one for one in load_system_scores(RunStore(run), ["deer"])}
    assert (found[("a",)].score.value, found[("a",)].counts) == (2.5, (3, 2, 1, 0, 0))
    assert (found[("b",)].score.value, found[("b",)].counts) == (4.0, (3, 1, 1, 0, 1))


def test_scores_and_lengths_stand_side_by_side(tmp_path: Path) -> None:
    first = make(
        tmp_path / "first",
        [case("1", 100), case("2", 200), case("3", status="crashed"), case("4", 0), case("5", 50)],
        {"1": (tree(5.0),), "2": (tree(6.0),), "4": (tree(7.0),), "5": (tree(None),)},
    )
    second = make(tmp_path / "second", [case("1", 300, document="d-other", task=None)], {"1": (tree(8.0),)})
    [found] = score_columns([first, second], "deer", "paper", "overall", "words")
    assert [(one.id, one.task, one.system, one.length, one.score) for one in found.measured] == [
        ("1:1", "t", "s", 100, 5.0),
        ("1:2", "t", "s", 200, 6.0),
        ("2:1", None, "s", 300, 8.0),
    ]
    assert (found.path, found.label) == (("overall",), "Overall")
    assert (found.n_reports, found.n_null, found.n_unscored, found.n_unmeasured) == (6, 1, 1, 1)
    for measure, length in (("characters", 500), ("sentences", 3)):
        [found] = score_columns([first], "deer", "paper", "overall", measure)  # pyright: ignore[reportArgumentType]
        assert found.measured[0].length == length


def test_which_scores_are_meant(tmp_path: Path) -> None:
    one = make(tmp_path / "one", [case("1")], {"1": (tree(5.0),)})

    def paths(wanted: str | None, run: Path = one) -> list[str]:
        return ["/".join(column.path) for column in score_columns([run], "deer", "paper", wanted, "words")]

    # A root that is alone brings what stands below it.
    assert paths(None) == ["overall", "overall/a", "overall/b"]
    assert paths("a") == ["overall/a"]
    assert paths("overall/b/y") == paths("y") == paths("b/y") == ["overall/b/y"]
    with pytest.raises(RunError, match="score 'x' names several: overall/a/x, overall/b/x"):
        paths("x")
    with pytest.raises(RunError, match="score 'z' is not there; there are: overall, overall/a, overall/b"):
        paths("z")
    two = make(tmp_path / "two", [case("1")], {"1": (node("a", 1.0, node("x", 1.0)), node("b", 2.0))})
    assert paths(None, two) == ["a", "b"]


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    one = make(tmp_path / "one", [case("1")], {"1": (tree(5.0),)})
    with pytest.raises(InputError, match=r"report '1' is in .*one and in .*two"):
        score_columns(
            [one, make(tmp_path / "two", [case("1")], {"1": (tree(5.0),)})], "deer", "paper", None, "words"
        )
    with pytest.raises(RunError, match="has no scores of 'race'; there are: deer"):
        score_columns([one], "race", "paper", None, "words")
    with pytest.raises(RunError, match="has no profile 'upstream'; give --profile paper"):
        score_columns([one], "deer", "upstream", None, "words")
    with pytest.raises(RunError, match="not a run; `local-judge run` makes one"):
        score_columns([tmp_path], "deer", "paper", None, "words")
    unread = make(tmp_path / "unread", [case("1", status="unreadable", document=None)], {})
    with pytest.raises(RunError, match="no report has a score"):
        score_columns([unread], "deer", "paper", None, "words")


def test_the_same_run_twice_is_refused(tmp_path: Path) -> None:
    one = make(tmp_path / "one", [case("1")], {"1": (tree(5.0),)})
    with pytest.raises(InputError, match="a report counts once"):
        score_columns([one, one], "deer", "paper", None, "words")
