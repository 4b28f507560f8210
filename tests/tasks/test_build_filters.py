"""What keeps and what drops a task; duplicates; rankings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from indexes.search.encoder import EncoderIdentity
from indexes.search.model import Vectors
from local_judge.base.errors import ConfigError, InputError
from local_judge.lab.task_construction.filters import likenesses, method_of, necessary, qualified
from local_judge.lab.task_construction.model import Assessment, Candidate, Qualification, task_id
from local_judge.lab.task_construction.outcome import Build, settle
from local_judge.lab.task_construction.ranking import (
    Ballot,
    approvals,
    ballot_paper,
    read_ballot,
    standings,
)
from local_judge.lab.task_construction.settings import (
    BuildConfig,
    DuplicateSettings,
    NecessitySettings,
    Profile,
    Quality,
    load_build_config,
)

CONFIG = BuildConfig(date=dt.date(2026, 3, 1))


@pytest.mark.parametrize(
    ("needs", "confidence", "profile", "reasons"),
    [
        (True, 0.71, "paper", ()),
        (True, 0.7, "paper", ("not_confident",)),
        (True, 0.7, "upstream", ()),
        (True, 0.69, "upstream", ("not_confident",)),
        (False, 0.9, "paper", ("needs_no_deep_research",)),
        (False, 0.1, "paper", ("needs_no_deep_research", "not_confident")),
    ],
)
def test_qualification(needs: bool, confidence: float, profile: Profile, reasons: tuple[str, ...]) -> None:
    config = CONFIG.model_copy(update={"profile": profile})
    found = qualified(Qualification(id="a", needs_deep_research=needs, confidence=confidence), config)
    assert found.reasons == reasons and found.kept is not bool(reasons)


@pytest.mark.parametrize(
    ("quality", "score", "search", "reasons"),
    [
        ("low", 0.7, True, ()),
        ("medium", 0.0, True, ()),
        ("medium", 0.71, True, ("score_too_high",)),
        ("high", 0.1, True, ("answered_without_search",)),
        ("low", 0.1, False, ("needs_no_search",)),
        ("high", 1.0, False, ("answered_without_search", "needs_no_search", "score_too_high")),
    ],
)
def test_necessity(quality: Quality, score: float, search: bool, reasons: tuple[str, ...]) -> None:
    found = Assessment(id="a", quality=quality, score=score, requires_search=search)
    assert necessary(found, CONFIG).reasons == reasons


def test_limits_are_settings_and_stand_with_what_they_decide() -> None:
    config = CONFIG.model_copy(update={"necessity": NecessitySettings(score=0.2, qualities=("low",))})
    found = Assessment(id="a", quality="medium", score=0.3, requires_search=True)
    verdict = necessary(found, config)
    assert verdict.says == (
        "the answer without search is of medium quality, not low; "
        "the answer without search scores 0.3, above 0.2"
    )
    assert verdict.values["qualities"] == ["low"] and verdict.values["threshold"] == 0.2


class Compass:
    """Embeds a text as the direction, in degrees, that it begins with."""

    identity = EncoderIdentity(model="compass", revision="north")
    dimension = 2

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        angles = np.radians([float(text.split()[0]) if text[0].isdigit() else 0.0 for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    encode_queries = encode_documents


def candidates(*prompts: str) -> list[Candidate]:
    return [Candidate(id=f"t{number}", prompt=prompt) for number, prompt in enumerate(prompts)]


def test_the_earlier_of_two_stays_and_only_what_stays_is_compared_with() -> None:
    settings = DuplicateSettings(method="embedding", threshold=0.9)
    method = method_of(settings, Compass())
    assert method is not None and method.name == "embedding north"
    found = likenesses(candidates("0 a", "20 b", "40 c", "90 d", "0 e"), method, settings.at_least)
    # cos 20 = 0.94: the same as the first. cos 40 = 0.77 to the first: stays, though it is as near to the second as
    # that is to the first, since the second is gone. cos 50 = 0.64. cos 0 = 1.
    assert [(one.of, one.similarity, one.same) for one in found] == [
        (None, 0.0, False),
        ("t0", round(float(np.cos(np.radians(20))), 6), True),
        ("t0", round(float(np.cos(np.radians(40))), 6), False),
        ("t2", round(float(np.cos(np.radians(50))), 6), False),
        ("t0", 1.0, True),
    ]


def test_overlap_of_runs() -> None:
    settings = DuplicateSettings(method="lexical")
    method = method_of(settings)
    assert method is not None
    found = likenesses(
        candidates(
            "What do 40 mills earn a year?", "what do 40 mills earn, a year", "What do 41 mills earn a year?"
        ),
        method,
        settings.at_least,
    )
    # Case and punctuation do not count; another number is another matter.
    assert [(one.similarity, one.same) for one in found] == [(0.0, False), (1.0, True), (0.0, False)]


def test_no_method_takes_the_place_of_another(tmp_path: Path) -> None:
    assert method_of(DuplicateSettings(method="off")) is None
    with pytest.raises(ConfigError, match=r"embeddings are not available: .*--duplicates lexical"):
        method_of(DuplicateSettings(method="embedding", model=str(tmp_path / "none")))


def test_rankings_of_different_lengths_count_alike() -> None:
    ballots = [
        Ballot(voter="ben", ranks={"a": 1, "b": 2, "c": 2}),
        Ballot(voter="ada", ranks={"c": 1, "a": 5}),
        Ballot(voter="cy", ranks={"gone": 1, "b": 2}),
    ]
    places = {place.id: place for place in standings(ballots, ["a", "b", "c", "d"])}
    # ada: c 1, a 0. ben: a (2 lower) / 2 = 1; b and c (0 lower + 1/2 tie) / 2 = 1/4. cy: b alone: 1/2.
    # a: (0 + 1) / 2; b: (1/4 + 1/2) / 2; c: (1 + 1/4) / 2.
    assert {one: (place.place, place.borda, place.n_votes) for one, place in places.items()} == {
        "c": (1, 0.625, 2),
        "a": (2, 0.5, 2),
        "b": (3, 0.375, 2),
        "d": (None, None, 0),
    }
    assert places["a"].mean_rank == 3.0  # (5 + 1) / 2
    assert standings(ballots[::-1], ["a", "b", "c", "d"]) == standings(ballots, ["a", "b", "c", "d"])


def test_ties_go_by_mean_rank_and_then_by_id() -> None:
    # 1 and 1 for a and b of either ballot: 1/2 each; ranks 1 and 2 against 1 and 9.
    ballots = [Ballot(voter="x", ranks={"b": 1, "a": 2}), Ballot(voter="y", ranks={"a": 1, "b": 9})]
    assert [place.id for place in standings(ballots, ["a", "b"])] == ["a", "b"]
    ballots = [Ballot(voter="x", ranks={"b": 1, "a": 1})]
    assert [place.id for place in standings(ballots, ["b", "a"])] == ["a", "b"]


def ranked_build(*ids: str) -> Build:
    every = [Candidate(id=one, prompt=f"Task {one}", domain="D") for one in ids]
    return Build(
        candidates=every,
        qualifications={one: Qualification(id=one, needs_deep_research=True, confidence=0.9) for one in ids},
        assessments={one: Assessment(id=one, quality="low", score=0.1, requires_search=True) for one in ids},
    )


def test_only_so_many_are_kept_once_people_have_voted() -> None:
    off = DuplicateSettings(method="off")
    config = CONFIG.model_copy(update={"keep": 1, "duplicates": off})
    build = ranked_build("a", "b", "c")
    unvoted = settle(build, config, [])
    assert [line.id for line in unvoted.kept] == ["a", "b", "c"] and unvoted.audit == ()
    voted = settle(build, config, [Ballot(voter="x", ranks={"b": 1, "a": 2})])
    assert [(line.id, line.place) for line in voted.kept] == [("b", 1)]
    assert [(row.id, row.stage, row.reasons) for row in voted.audit] == [
        ("a", "ranking", ("ranked_below",)),
        ("c", "ranking", ("not_ranked",)),
    ]
    assert voted.audit[0].values["borda"] == 0.0 and voted.audit[0].values["keep"] == 1
    assert [(row.expected, row.unique, row.kept, row.dropped) for row in voted.counts] == [(3, 3, 1, 2)]


def test_a_ballot_paper_there_and_back(tmp_path: Path) -> None:
    given = [
        Candidate(id="a", prompt='=HYPERLINK("x")', domain="D"),
        Candidate(id="-b", prompt="Two\nlines", domain="D"),
    ]
    known = {one.id: one for one in given}
    path = tmp_path / "paper.csv"
    text = ballot_paper(given, "Ada", 0)
    assert "'=HYPERLINK" in text and "'-b" in text  # no spreadsheet takes a cell for a formula
    path.write_text(text.replace("\n,,'-b", "\n2,No ,'-b").replace("\n,,a", "\n1,,a"), encoding="utf-8")
    ballot = read_ballot(path, "Ada", known)
    assert (ballot.ranks, ballot.approvals) == ({"a": 1, "-b": 2}, {"-b": False})
    path.write_text("approved,rank,id\nyes,,a\n", encoding="utf-8")
    ballot = read_ballot(path, "Ada", known)
    assert (ballot.ranks, ballot.approvals, list(ballot.texts)) == ({}, {"a": True}, ["a"])
    # A vote on another text of the same id does not count.
    assert ballot.on({"a": "Another text"}).approvals == {}


def test_approvals_are_distributed_as_in_table_2() -> None:
    # Seven people; 4 of 7 approve a, all approve b, 2 of 7 c; only one person has judged d, nobody e.
    said = {"a": 4, "b": 7, "c": 2}
    ballots = [
        Ballot(voter=f"{n}", ranks={}, approvals={id: n < most for id, most in said.items()})
        for n in range(7)
    ]
    ballots[0] = ballots[0].model_copy(update={"approvals": {**ballots[0].approvals, "d": False}})
    found = approvals(ballots, list("abcde"))
    assert [(one.of, one.approvals, one.tasks) for one in found] == [
        (1, 0, 1),
        (7, 2, 1),
        (7, 4, 1),
        (7, 7, 1),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,prompt\na,x\n", "expected columns `rank` and `id`"),
        ("rank,id\n1,c\n", r":2: no task 'c' waits to be ranked"),
        ("rank,id\n1,a\n2,a\n", r":3: task 'a' is ranked twice"),
        ("rank,id\nfirst,a\n", r"rank 'first' of task 'a' is no whole number"),
        ("rank,id\n0,a\n", r"rank '0'"),
        ("rank,id\n,a\n", r"no task is ranked in it"),
        ("rank,approved,id\n,maybe,a\n", r"approved 'maybe' of task 'a' is neither yes nor no"),
        ("rank,id\n99999999999999999999,a\n", r"rank '9+' of task 'a'"),
        ("", "no task is ranked"),
        ("rank,id\n1," + 200_000 * "a", r"no task 'a{10,90}…"),
        ("rank,id,rank\n1,a,2\n", r":1: .*'rank'"),
    ],
)
def test_papers_that_cannot_be_counted(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "paper.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_ballot(path, "Ada", {"a": Candidate(id="a", prompt="x")})


def test_ids_change_with_the_text() -> None:
    # First 8 hex digits of SHA-256("x").
    assert task_id("health-p1-t2", "x") == "health-p1-t2-2d711642"
    assert task_id("health-p1-t2", "y") != task_id("health-p1-t2", "x")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("confidence: yes", "confidence"),
        ("confidence: '0.9'", "confidence"),
        ("make: {tasks: true}", "make.tasks"),
        ("duplicates: {threshold: no}", "duplicates.threshold"),
    ],
)
def test_a_word_is_no_number_of_a_config(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "build.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"build\.yaml: {place} must be a"):
        load_build_config(path, {})
