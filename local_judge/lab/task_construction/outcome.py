"""Outcome of a build: the tasks that are kept, and the reasons for all others.

Invariants: a pure function of the stored results of the stages, the settings and the votes; in each domain, the
expected tasks are the sum of the kept, dropped, failed and undecided ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

from local_judge.base.model import Frozen
from local_judge.documents.words import count_words
from local_judge.lab.task_construction.filters import Verdict, necessary, qualified
from local_judge.lab.task_construction.model import (
    Assessment,
    AuditRow,
    Baseline,
    Candidate,
    GivenAway,
    Likeness,
    Missing,
    Persona,
    Qualification,
    Stage,
    TaskLine,
)
from local_judge.lab.task_construction.ranking import Approval, Ballot, Place, approvals, standings
from local_judge.lab.task_construction.settings import BuildConfig


@dataclass
class Build:
    """Results of the stages so far; decisions by task id."""

    personas: list[Persona] = field(default_factory=list[Persona])
    candidates: list[Candidate] = field(default_factory=list[Candidate])
    given_away: list[GivenAway] = field(default_factory=list[GivenAway])
    qualifications: dict[str, Qualification] = field(default_factory=dict[str, Qualification])
    baselines: dict[str, Baseline] = field(default_factory=dict[str, Baseline])
    assessments: dict[str, Assessment] = field(default_factory=dict[str, Assessment])
    likenesses: dict[str, Likeness] = field(default_factory=dict[str, Likeness])
    missing: list[Missing] = field(default_factory=list[Missing])

    def qualified(self, config: BuildConfig) -> list[Candidate]:
        """Return the tasks that passed the first filter."""
        found = self.qualifications
        return [one for one in self.candidates if one.id in found and qualified(found[one.id], config).kept]

    def necessary(self, config: BuildConfig) -> list[Candidate]:
        """Return the tasks that passed both filters."""
        found = self.assessments
        passed = self.qualified(config)
        return [one for one in passed if one.id in found and necessary(found[one.id], config).kept]

    def unique(self, config: BuildConfig) -> list[Candidate]:
        """Return the tasks that passed both filters and are not duplicates."""
        passed = self.necessary(config)
        if config.duplicates.method == "off":
            return passed
        found = self.likenesses
        return [one for one in passed if one.id in found and not found[one.id].same]


class DomainCounts(Frozen):
    """Number of tasks of one domain by stage."""

    domain: str
    expected: int
    """Sum of kept, dropped, failed and open."""
    made: int
    qualified: int
    necessary: int
    unique: int
    kept: int
    dropped: int
    failed: int
    open: int
    """Undecided tasks of a stopped build."""


class Condition(Frozen):
    """Number of texts that meet a condition of their prompt."""

    says: str
    """Condition with its limits."""
    met: int
    of: int


class Outcome(NamedTuple):
    """Tasks and counts to write and show."""

    kept: tuple[TaskLine, ...]
    """Kept tasks, in the order of the votes if there are any, otherwise in the order of generation."""
    audit: tuple[AuditRow, ...]
    """Tasks that are not kept, by stage, then in the order of generation."""
    counts: tuple[DomainCounts, ...]
    n_voters: int
    """Number of people who have ranked one or more of the tasks."""
    approvals: tuple[Approval, ...]
    """Distribution of people's approvals over the tasks that passed all filters; empty without any."""
    conditions: tuple[Condition, ...]
    """Conditions of personas and tasks made from domains; empty if there are none."""


def settle(build: Build, config: BuildConfig, ballots: Sequence[Ballot]) -> Outcome:
    """Decide on every task from the stored results."""
    audit: list[AuditRow] = [_failed(one, None) for one in build.missing if one.stage == "generate"]
    audit += map(_given_away, build.given_away)
    by_id = {one.about: one for one in build.missing if one.stage != "generate"}
    audit += [_failed(by_id[one.id], one) for one in build.candidates if one.id in by_id]
    unfailed = [one for one in build.candidates if one.id not in by_id]
    for one in unfailed:
        if one.id in build.qualifications:
            audit += _dropped(one, "qualify", qualified(build.qualifications[one.id], config))
    past = {one.id for one in build.qualified(config)}
    for one in unfailed:
        if one.id in past and one.id in build.assessments:
            audit += _dropped(one, "necessity", necessary(build.assessments[one.id], config))
    for one in build.necessary(config):
        like = build.likenesses.get(one.id)
        if like is not None and like.same:
            audit += _duplicate(one, like, config)
    unique = {one.id: one for one in build.unique(config) if one.id not in by_id}
    votes = [ballot.on({id: one.prompt for id, one in unique.items()}) for ballot in ballots]
    places = standings(votes, list(unique))
    voted = any(place.place is not None for place in places)
    cut = len(places) if config.keep is None or not voted else config.keep
    for place in places[cut:]:
        audit += _ranked_below(unique[place.id], place, cut)
    kept = tuple(_line(unique[place.id], place, votes) for place in places[:cut])
    order: tuple[Stage, ...] = get_args(Stage)
    audit.sort(key=lambda row: order.index(row.stage))
    return Outcome(
        kept,
        tuple(audit),
        tuple(_counts(build, config, kept, audit)),
        sum(bool(one.ranks) for one in votes),
        tuple(approvals(votes, list(unique))),
        tuple(_conditions(build, config)),
    )


def _conditions(build: Build, config: BuildConfig) -> Iterable[Condition]:
    backgrounds = [one.background for one in build.personas if one.replies]
    tasks = [one for one in build.candidates if one.generator == "personas"]
    for what, texts, (least, most) in (
        ("backgrounds", backgrounds, config.make.background_words),
        ("requests", [one.prompt for one in tasks], config.make.request_words),
    ):
        met = sum(least <= count_words(text) <= most for text in texts)
        if texts:
            yield Condition(says=f"{what} have {least} to {most} words", met=met, of=len(texts))
    if tasks:
        says = f"requests state a time (asked of {100 * config.make.time_bound:g} %)"
        yield Condition(says=says, met=sum(bool(one.period) for one in tasks), of=len(tasks))


def _counts(
    build: Build, config: BuildConfig, kept: Iterable[TaskLine], audit: Sequence[AuditRow]
) -> Iterable[DomainCounts]:
    domain_of = {one.id: one.domain for one in build.candidates}
    every = (one.domain for rows in (build.personas, build.candidates, audit) for one in rows)
    stages: Mapping[str, list[Candidate]] = {
        "made": build.candidates,
        "qualified": build.qualified(config),
        "necessary": build.necessary(config),
        "unique": build.unique(config),
    }
    staying = [domain_of[line.id] for line in kept]
    for domain in dict.fromkeys(every):
        numbers = {name: sum(one.domain == domain for one in rows) for name, rows in stages.items()}
        ended = {
            outcome: sum(row.n_tasks for row in audit if row.domain == domain and row.outcome == outcome)
            for outcome in ("dropped", "failed")
        }
        n_kept = staying.count(domain)
        not_made = sum(row.n_tasks for row in audit if row.domain == domain and row.stage == "generate")
        expected = numbers["made"] + not_made
        yield DomainCounts(
            domain=domain,
            expected=expected,
            kept=n_kept,
            open=expected - n_kept - ended["dropped"] - ended["failed"],
            **numbers,
            **ended,
        )


def _failed(missing: Missing, candidate: Candidate | None) -> AuditRow:
    failure = missing.failure
    return AuditRow(
        id=missing.about,
        domain=candidate.domain if candidate is not None else missing.domain,
        stage=missing.stage,
        outcome="failed",
        reasons=(failure.kind,),
        says=failure.detail,
        values={"attempts": failure.attempts},
        n_tasks=missing.n_tasks,
        prompt=candidate.prompt if candidate is not None else None,
    )


def _given_away(found: GivenAway) -> AuditRow:
    return AuditRow(
        id=found.id,
        domain=found.domain,
        stage="generate",
        outcome="dropped",
        reasons=("gives_answer_away",),
        says="every request that the judge wrote gives the answer away",
        values={"words": found.words, "replies": list(found.replies)},
        prompt=found.request,
    )


def _dropped(candidate: Candidate, stage: Stage, verdict: Verdict) -> list[AuditRow]:
    if verdict.kept:
        return []
    row = AuditRow(
        id=candidate.id,
        domain=candidate.domain,
        stage=stage,
        outcome="dropped",
        prompt=candidate.prompt,
        **verdict._asdict(),
    )
    return [row]


def _duplicate(candidate: Candidate, like: Likeness, config: BuildConfig) -> list[AuditRow]:
    limits = config.duplicates
    values: dict[str, object] = {
        "of": like.of,
        "similarity": like.similarity,
        "threshold": limits.at_least,
        "method": limits.method,
    }
    likeness = f"{limits.method} similarity {like.similarity:.3f}, the same from {limits.at_least:g}"
    says = f"says what {like.of} says: {likeness}"
    return _dropped(candidate, "duplicates", Verdict(("duplicate",), says, values))


def _ranked_below(candidate: Candidate, place: Place, cut: int) -> list[AuditRow]:
    values: dict[str, object] = {**place._asdict(), "keep": cut}
    del values["id"]
    if place.place is None:
        return _dropped(candidate, "ranking", Verdict(("not_ranked",), "no one ranked it", values))
    says = f"place {place.place} of those that people ranked, {cut} are kept"
    return _dropped(candidate, "ranking", Verdict(("ranked_below",), says, values))


def _line(candidate: Candidate, place: Place, votes: Sequence[Ballot]) -> TaskLine:
    judged = [one.approvals[candidate.id] for one in votes if candidate.id in one.approvals]
    return TaskLine(
        id=candidate.id,
        prompt=candidate.prompt,
        topic=candidate.domain or None,
        generator=candidate.generator,
        persona=candidate.persona,
        source=candidate.source,
        place=place.place,
        approvals=sum(judged) if judged else None,
        approvals_of=len(judged) or None,
    )
