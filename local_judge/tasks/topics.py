"""What tasks are about: the 22 topics that DeepResearch Bench sorts its tasks into.

Invariants: a topic is always one of the 22; what a task's own file says of it is shown to no judge and kept beside the
judge's answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, create_model

from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fill
from local_judge.rows import read_models
from local_judge.tasks.drafting import Drafts, Reply, request_block, shared_prompt, template
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
"""Names as in the benchmark's `query.jsonl`; the descriptions are our own."""

REPLY_TOKENS = 200

_MENU: Any = Literal[tuple(TOPICS)]


class TopicReply(Reply):
    """The reason comes first, so that the topic follows from it."""

    rationale: Annotated[str, Field(max_length=300)]
    topic: str


_REPLY: type[TopicReply] = create_model("TopicReply", __base__=TopicReply, topic=(_MENU, ...))


class AnswerRow(TaskRow):
    """What a judge says of a task; a file of such rows may be read as tasks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    prompt: str
    rationale: str
    judge: EngineIdentity
    replies: tuple[str, ...]
    """Ledger keys."""

    @property
    def key(self) -> str:
        """The task's id."""
        return self.id

    @property
    def request(self) -> str:
        """The task's request."""
        return self.prompt


class TopicRow(AnswerRow):
    """One line of what `tasks classify` writes."""

    topic: str
    given: str | None = None
    """The topic that the task's file gives it."""


def topic_file(path: Path) -> RowFile[TopicRow]:
    """A file of topics that several commands may write at the same time."""
    return RowFile(path, lambda path: list(read_models(path, TopicRow)), by_request=False)


def topic_prompt(task: Task) -> Prompt:
    """The prompt that asks for a task's topic."""
    topics = "\n".join(f"{name}: {says}" for name, says in TOPICS.items())
    return shared_prompt("request", request_block(task), fill(template("topic"), {"topics": topics}))


async def classify(task: Task, judge: Judge) -> TopicRow | Failure:
    """The topic of a task, as `judge` sees it.

    Raises:
        LedgerError: a reply could not be stored.
    """
    answer = await judge.ask(topic_prompt(task), _REPLY, max_tokens=REPLY_TOKENS)
    if isinstance(answer, Failure):
        return answer
    return TopicRow(
        id=task.id,
        prompt=task.prompt,
        topic=answer.value.topic,
        given=task.topic,
        rationale=answer.value.rationale,
        judge=await judge.engine.identity(),
        replies=answer.replies,
    )


TOPIC_DRAFTS = Drafts(classify)
