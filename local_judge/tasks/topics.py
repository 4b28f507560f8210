"""Topics of tasks, and whether a task needs deep research, as a judge decides (DeepResearch Bench).

Invariants: a judge's topic is always one of the 22; the topic in a task's own file is never shown to a judge, and is
kept beside the judge's answer. Every task that was decided on has a row, kept or dropped, with the reason. In counts,
tasks without a topic are counted apart and are in no share; a topic that is not one of the 22 keeps its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import ConfigDict, Field, create_model

from local_judge.base.rows import read_jsonl
from local_judge.prompts import Prompt, fill, shared_prompt
from local_judge.stats.agreement.chance import cohen_kappa
from local_judge.stats.estimate import Estimate
from local_judge.tasks.drafting import Draft, Drafts, Reply, request_block, template
from local_judge.tasks.load import load_tasks
from local_judge.tasks.model import Task
from local_judge.tasks.rowfile import RowFile, TaskRow
from serving.types import EngineIdentity

TOPICS: Mapping[str, str] = {
    "Science & Technology": "natural sciences, mathematics, engineering, the environment, and research in them",
    "Finance & Business": "companies, markets, investment, taxes, marketing, management, the economy",
    "Software Development": "writing programs, algorithms, machine learning as a craft, data bases, operations",
    "Education & Jobs": "schools, universities, teaching, careers, hiring, work",
    "Health": "diseases, treatments, medicine, nutrition for health, mental health",
    "Literature": "books, authors, poetry, literary criticism, language as an art",
    "History": "the past: events, people, archaeology, genealogy",
    "Hardware": "computers, phones, chips, robots and other devices, to buy, build or repair",
    "Industrial": "manufacturing, mining, agriculture, construction, energy supply, materials in trade",
    "Art & Design": "painting, architecture, photography, graphic and product design",
    "Games": "video games, board games, gambling, playing them and making them",
    "Crime & Law": "offences, courts, statutes, contracts, legal rights and procedures",
    "Entertainment": "film, television, music, celebrities, shows",
    "Sports & Fitness": "sports, athletes, matches, training of the body",
    "Software": "using programs, apps and services of the internet",
    "Transportation": "cars, trains, ships, aircraft, roads, traffic and its planning",
    "Religion": "faiths, scriptures, churches, practices of belief",
    "Home & Hobbies": "house, garden, pets, crafts, repairs at home, collecting",
    "Travel": "places to visit, hotels, itineraries",
    "Food & Dining": "cooking, recipes, drinks, restaurants",
    "Fashion & Beauty": "clothes, jewellery, cosmetics",
    "Social Life": "family, relationships, communities, customs, society and how people live together",
}
"""Names of the topics as in the benchmark's `query.jsonl`, with our own descriptions."""

TOPIC_TOKENS = 200
NEED_TOKENS = 300

_MENU: Any = Literal[tuple(TOPICS)]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class TopicReply(Reply):
    """Topic of a task; the reason comes first, so that the topic follows from it."""

    rationale: Annotated[str, Field(max_length=300)]
    topic: str


_TOPIC_REPLY: type[TopicReply] = create_model("TopicReply", __base__=TopicReply, topic=(_MENU, ...))


class NeedReply(Reply):
    """Decision about a task; the reason comes first, so that the decision follows from it."""

    rationale: Annotated[str, Field(max_length=500)]
    needs_deep_research: bool
    confidence: Confidence


class AnswerRow(TaskRow):
    """A judge's answer about a task; a file of such rows can also be read as tasks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Id of the task."""
    prompt: str
    """Request of the task."""
    rationale: str
    """Reason given by the judge."""
    judge: EngineIdentity
    """Identity of the judge."""
    replies: tuple[str, ...]
    """Ledger keys of the judge's replies."""

    @property
    def key(self) -> str:
        """Id of the task."""
        return self.id

    @property
    def request(self) -> str:
        """Request of the task."""
        return self.prompt


class TopicRow(AnswerRow):
    """One line of the output of `tasks draft topic`."""

    topic: str
    """Topic according to the judge."""
    given: str | None = None
    """Topic in the task's own file."""


class NeedRow(AnswerRow):
    """One line of the output of `tasks draft need`; read as tasks, only rows that were kept count."""

    topic: str | None = None
    """Topic in the task's own file."""
    kept: bool
    """True if the task needs deep research according to the judge."""
    confidence: Confidence
    """Confidence that the judge states."""


def topic_file(path: Path) -> RowFile[TopicRow]:
    """Return a file of topics that several commands may write concurrently."""
    return RowFile(path, TopicRow, by_request=False)


def need_file(path: Path) -> RowFile[NeedRow]:
    """Return a file of decisions that several commands may write concurrently."""
    return RowFile(path, NeedRow, by_request=False)


def topic_prompt(task: Task) -> Prompt:
    """Return the prompt that asks for a task's topic."""
    topics = "\n".join(f"{name}: {says}" for name, says in TOPICS.items())
    return shared_prompt("request", request_block(task), fill(template("topic"), {"topics": topics}))


def need_prompt(task: Task) -> Prompt:
    """Return the prompt that asks whether a task needs deep research."""
    return shared_prompt("request", request_block(task), template("need"))


async def classify(draft: Draft) -> TopicRow:
    """Ask a judge for the topic of a task. Raises NoDraft."""
    task = draft.task
    answer = await draft.ask(topic_prompt(task), _TOPIC_REPLY, TOPIC_TOKENS)
    found = {"topic": answer.topic, "given": task.topic, "rationale": answer.rationale}
    return TopicRow(id=task.id, prompt=task.prompt, **found, **await draft.origin())


async def decide_need(draft: Draft) -> NeedRow:
    """Ask a judge whether a task needs deep research. Raises NoDraft."""
    task = draft.task
    answer = await draft.ask(need_prompt(task), NeedReply, NEED_TOKENS)
    return NeedRow(
        id=task.id,
        prompt=task.prompt,
        topic=task.topic,
        kept=answer.needs_deep_research,
        confidence=answer.confidence,
        rationale=answer.rationale,
        **await draft.origin(),
    )


TOPIC_DRAFTS = Drafts(classify)
NEED_DRAFTS = Drafts(decide_need)


class TopicCounts(NamedTuple):
    """Distribution of the tasks of one file over topics."""

    path: Path
    counts: dict[str, int]
    """Number of tasks by topic: the 22 in their order, then others by name."""
    n_without: int
    """Tasks without a topic."""

    @property
    def n(self) -> int:
        """Number of tasks with a topic."""
        return sum(self.counts.values())

    def share(self, topic: str) -> float | None:
        """Return a topic's share of the tasks with a topic; None if there are none."""
        return self.counts.get(topic, 0) / self.n if self.n else None


class TopicAgreement(NamedTuple):
    """Agreement of a judge's topics with given ones."""

    n: int
    """Tasks with both topics."""
    n_same: int
    kappa: Estimate
    """Cohen's kappa, unweighted."""
    differ: Sequence[tuple[str, str, str]]
    """Id, given topic and judge's topic of each task in which they differ, in the file's order."""

    @property
    def accuracy(self) -> float:
        """Share of equal topics: `n_same / n`."""
        return self.n_same / self.n


def count_topics(path: Path) -> TopicCounts:
    """Count the topics in a file of tasks, such as the output of `tasks draft topic`. Raises InputError."""
    topics = [task.topic for task in load_tasks(path).values()]
    found = Counter(topic for topic in topics if topic is not None)
    others = sorted(set(found) - set(TOPICS))
    return TopicCounts(path, {name: found[name] for name in (*TOPICS, *others)}, topics.count(None))


def total_variation(one: Mapping[str, int], other: Mapping[str, int]) -> float | None:
    """Return the total variation distance of two distributions given by counts; None if one of them is empty.

    Formula: 1/2 * sum over names of |p - q|, with p and q the shares. 0: equal; 1: no name in common. It is the share
    of one distribution that would have to move to another name to make both equal.
    """
    n, m = sum(one.values()), sum(other.values())
    if not (n and m):
        return None
    names = {*one, *other}  # a sum of fractions does not depend on the order
    gaps = (abs(Fraction(one.get(name, 0), n) - Fraction(other.get(name, 0), m)) for name in names)
    return float(sum(gaps, Fraction(0)) / 2)


def agreement_with_given(path: Path) -> TopicAgreement | None:
    """Return the agreement of topics from `tasks draft topic` with given ones; None without any. Raises InputError."""
    both = [
        (str(row.get("id")), str(row["given"]), str(row["topic"]))
        for _, row in (read_jsonl(path) if path.is_file() and path.suffix.lower() != ".csv" else ())
        if row.get("given") and row.get("topic")
    ]
    if not both:
        return None
    names = list(dict.fromkeys(name for _, given, judged in both for name in (given, judged)))
    kappa = cohen_kappa(
        [names.index(given) for _, given, _ in both],
        [names.index(judged) for _, _, judged in both],
        "unweighted",
    )
    differ = [row for row in both if row[1] != row[2]]
    return TopicAgreement(len(both), len(both) - len(differ), kappa, differ)
