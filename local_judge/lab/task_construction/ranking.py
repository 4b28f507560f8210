"""Ranking and approval of tasks by people: one CSV file per person, and both of all people.

Invariants: votes are stored with the voter, and count only for the text that was ranked, whatever its id; a task that a
voter leaves out is unranked by them, not last; the order does not depend on the order of the votes.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, NamedTuple

from pydantic import Field

from local_judge.base.errors import InputError, brief
from local_judge.base.model import Frozen
from local_judge.base.rows import harmless_cell, read_csv
from local_judge.lab.task_construction.model import Candidate
from local_judge.ledger.requests import sha256

COLUMNS = ("rank", "approved", "id", "domain", "prompt")
APPROVED: Mapping[str, bool] = {"yes": True, "no": False}

Rank = Annotated[int, Field(ge=1)]


class Ballot(Frozen):
    """Ranking and approvals of one person."""

    voter: str
    ranks: dict[str, Rank]
    """Rank by task id; 1 is the best, and tied tasks share a rank."""
    approvals: dict[str, bool] = Field(default_factory=dict[str, bool])
    """Answers by task id; True if the person accepts the task as one that needs deep research."""
    texts: dict[str, str] = Field(default_factory=dict[str, str])
    """SHA-256 of the request by task id; without it, the id identifies the text."""

    def on(self, prompts: Mapping[str, str]) -> Ballot:
        """Return the votes on these requests by id, without votes on another text of the same id."""
        kept = {
            identity
            for identity in (*self.ranks, *self.approvals)
            if identity in prompts
            and self.texts.get(identity, sha256(prompts[identity])) == sha256(prompts[identity])
        }
        ranks = {identity: rank for identity, rank in self.ranks.items() if identity in kept}
        approvals = {identity: said for identity, said in self.approvals.items() if identity in kept}
        return self.model_copy(update={"ranks": ranks, "approvals": approvals})


class Place(NamedTuple):
    """Place of a task."""

    id: str
    place: int | None
    """Place from 1; None for a task without votes."""
    borda: float | None
    mean_rank: float | None
    n_votes: int


class Approval(Frozen):
    """Tasks with one number of approvals, as in DeepResearchEval, Table 2."""

    approvals: int
    """Number of people who approve each of these tasks."""
    of: int
    """Number of people who judged each of them."""
    tasks: int


def approvals(ballots: Sequence[Ballot], ids: Sequence[str]) -> list[Approval]:
    """Return the distribution of approvals over the tasks that someone judged, by number of people, then approvals."""
    judged = [[one.approvals[id] for one in ballots if id in one.approvals] for id in ids]
    counts = Counter((len(votes), sum(votes)) for votes in judged if votes)
    return [Approval(approvals=n, of=of, tasks=counts[of, n]) for of, n in sorted(counts)]


def standings(ballots: Sequence[Ballot], ids: Sequence[str]) -> list[Place]:
    """Return the tasks from best to worst, followed by tasks without votes in their own order.

    Only votes on `ids` count. With L tasks of a ballot's n ranked lower than a task and T others tied with it, the
    ballot gives it (L + T / 2) / (n - 1), and 1/2 where n = 1 (Borda's count, brought to 0 .. 1 so that ballots of
    different lengths count alike). A task's points are the mean over the ballots that rank it.
    """
    points: dict[str, list[float]] = {identity: [] for identity in ids}
    ranks: dict[str, list[int]] = {identity: [] for identity in ids}
    for ballot in sorted(ballots, key=lambda one: one.voter):
        own = {identity: rank for identity, rank in ballot.ranks.items() if identity in points}
        for identity, rank in own.items():
            lower = sum(other > rank for other in own.values())
            tied = sum(other == rank for other in own.values()) - 1
            points[identity].append((lower + tied / 2) / (len(own) - 1) if len(own) > 1 else 0.5)
            ranks[identity].append(rank)
    ranked = [(-fmean(points[one]), fmean(ranks[one]), one) for one in ids if points[one]]
    found = [
        Place(identity, place, -minus, mean, len(points[identity]))
        for place, (minus, mean, identity) in enumerate(sorted(ranked), 1)
    ]
    return found + [Place(identity, None, None, None, 0) for identity in ids if not points[identity]]


def ballot_paper(candidates: Sequence[Candidate], voter: str, seed: int) -> str:
    """Return a CSV with an empty `rank` and `approved` for each task, in a different order for each voter."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for candidate in sorted(candidates, key=lambda one: _shuffled(seed, voter, one.id)):
        cells = (candidate.id, candidate.domain, candidate.prompt)
        writer.writerow(["", "", *map(harmless_cell, cells)])
    return text.getvalue()


def read_ballot(path: Path, voter: str, known: Mapping[str, Candidate]) -> Ballot:
    """Read a completed ballot paper; a row may have a rank, an approval, both or neither.

    Raises:
        InputError: The file cannot be read, has no rank and no approval, an unknown task or one with another text, a
            rank that is not a positive whole number, or an approval that is not yes or no.
    """
    ranks: dict[str, int] = {}
    accepted: dict[str, bool] = {}
    names = {harmless_cell(identity): identity for identity in known}
    for place, row in read_csv(path):
        if not {"rank", "id"} <= row.keys():
            raise InputError(
                f"{path}: expected columns `rank` and `id`, as `tasks build --voter --out` writes them"
            )
        said, rank = row["id"].strip(), row["rank"].strip()
        identity = names.get(said, said)
        answer = row.get("approved", "").strip().lower()
        if not rank and not answer:
            continue
        if identity not in known:
            raise InputError(
                f"{place}: no task {brief(said)} waits to be ranked; was the paper written before a change?"
            )
        shown, text = row.get("prompt", "").split(), known[identity].prompt
        if shown and shown not in (text.split(), harmless_cell(text).split()):
            raise InputError(f"{place}: task {said!r} has another text by now; write a new paper with --out")
        if identity in ranks or identity in accepted:
            raise InputError(f"{place}: task {said!r} is ranked twice")
        if rank and not re.fullmatch("[1-9][0-9]{0,6}", rank):
            raise InputError(f"{place}: rank {rank!r} of task {said!r} is no whole number from 1")
        if answer and answer not in APPROVED:
            raise InputError(f"{place}: approved {answer!r} of task {said!r} is neither yes nor no")
        ranks |= {identity: int(rank)} if rank else {}
        accepted |= {identity: APPROVED[answer]} if answer else {}
    if not ranks and not accepted:
        raise InputError(
            f"{path}: no task is ranked in it; write 1, 2, … into the column `rank`, or yes or no into `approved`"
        )
    texts = {identity: sha256(known[identity].prompt) for identity in (*ranks, *accepted)}
    return Ballot(voter=voter, ranks=ranks, approvals=accepted, texts=texts)


def _shuffled(seed: int, voter: str, identity: str) -> str:
    return sha256(f"{seed}\0{voter}\0{identity}")
