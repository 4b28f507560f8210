"""Report tasks with guidance from questions with one answer (the tasks of DEER).

Invariants: the judge that writes the request sees the question and not its answer. A request in which code finds the
answer is dropped; an answer that cannot be searched for is marked so, and never counts as absent. The judge that writes
the guidance sees both, and the guidance is a draft until a person accepts it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from indexes.text.language import detect_language
from local_judge.base.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.lab.task_construction.asking import laid_out, request, template
from local_judge.lab.task_construction.model import Candidate, GivenAway, Missing, not_made, task_id
from local_judge.lab.task_construction.settings import BuildConfig
from local_judge.lab.task_construction.sources import Item
from local_judge.prompts import Prompt, fence, fill
from local_judge.tasks.alike import firsts
from local_judge.tasks.drafting import Reply, language_name, limited, one_line

TOKENS_PER_POINT = 120
RUN = 5
"""Number of consecutive words of a longer answer that give it away."""

Checked = Literal["absent", "in_the_question", "not_checkable", "given_away"]

_WORD = re.compile(r"\d+(?:\.\d+)?|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]+")
"""A number, a character of a script without blanks between words, or a word."""


class Points(Reply):
    """Reply of the judge; the length of the list is set for each request."""

    points: Sequence[str]


class Look(NamedTuple):
    """Result of a search for the answer in a request."""

    found: Checked
    words: str = ""
    """Words of the answer that occur in the request."""


async def reformulate(item: Item, config: BuildConfig, judge: Judge) -> Candidate | GivenAway | Missing:
    """Return the report task of an item, with points of guidance.

    A request that gives the answer away is asked for again with the words that do, up to the judge's `reasks`.

    Raises:
        LedgerError: A reply could not be stored.
    """
    domain = item.domain or item.category

    def fault(text: str) -> str | None:
        words = look(text, item.question, item.answer).words
        return f"It gives the answer away with these words: {words}." if words else None

    written = await request(judge, lambda faulty: request_prompt(item, faulty), fault)
    if isinstance(written, Failure):
        return not_made(written, item.id, domain)
    looked = look(written.request, item.question, item.answer)
    if looked.found == "given_away":
        return GivenAway(
            id=item.id, domain=domain, request=written.request, words=looked.words, replies=written.replies
        )
    limits = config.reformulate
    point = Annotated[str, Field(min_length=10, max_length=400)]
    advised = await judge.ask(
        guidance_prompt(item, written.request, config),
        limited(Points, point, limits.points, limits.least),
        max_tokens=limits.points * TOKENS_PER_POINT,
    )
    if isinstance(advised, Failure):
        return not_made(advised, item.id, domain)
    points = _different(advised.value.points)
    if len(points) < limits.least:
        detail = f"reply {advised.replies[-1][:12]}: {len(points)} different points, needs {limits.least}"
        return not_made(Failure(kind="incomplete", detail=detail), item.id, domain)
    return Candidate(
        id=task_id(item.id, written.request),
        prompt=written.request,
        domain=domain,
        generator="reformulate",
        source=item.id,
        guidance=points,
        answer_check=looked.found,
        replies=(*written.replies, *advised.replies),
    )


def request_prompt(item: Item, faulty: str) -> Prompt:
    """Return the prompt that asks for the report task, given the fault of the last request."""
    values = {"faulty": faulty, "language": _language(item)}
    return laid_out(fence(item.question, "Question:"), fill(template("reformulate"), values))


def guidance_prompt(item: Item, written: str, config: BuildConfig) -> Prompt:
    """Return the prompt that asks for points of guidance."""
    values = {
        "request": fence(written, "Request:"),
        "least": str(config.reformulate.least),
        "most": str(config.reformulate.points),
        "language": _language(item),
    }
    shared = [fence(item.question, "Question:"), fence(item.answer, "Its answer:")]
    if item.rationale.strip():
        shared.append(fence(item.rationale.strip(), "Why it is right:"))
    return laid_out("\n\n".join(shared), fill(template("guidance"), values))


def _language(item: Item) -> str:
    return language_name(detect_language(item.question))


def _different(points: Sequence[str]) -> tuple[str, ...]:
    tidy = [line for line in map(one_line, points) if any(map(str.isalnum, line))]
    same = firsts(tidy)
    return tuple(line for position, line in enumerate(tidy) if same[position] == position)


def look(request: str, question: str, answer: str) -> Look:
    """Search `request` for the answer, or `RUN` consecutive words of it, that the question does not contain.

    The letter of an option stands for the option's text, which may be in the question and not in the request. Words are
    compared without case, and numbers without thousands separators. An answer without a word, or a letter without an
    option, cannot be searched for.
    """
    option = _option(question, answer)
    wanted = words(option if option is not None else answer)
    if not wanted or (option is None and len(answer.strip().strip(".()")) == 1 and wanted[0].isalpha()):
        return Look("not_checkable")
    there, known = words(request), words(question)
    width = min(RUN, len(wanted))
    runs = [wanted[start : start + width] for start in range(len(wanted) - width + 1)]
    unknown = [run for run in runs if option is not None or not _holds(known, run)]
    for run in unknown:
        if _holds(there, run):
            return Look("given_away", " ".join(run))
    return Look("absent" if unknown else "in_the_question")


def words(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text in lower case."""
    # Blanks inside a number are removed before NFKC turns them into ordinary ones.
    whole = re.sub(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))", "", text)
    folded = unicodedata.normalize("NFKC", whole).casefold()
    joined = re.sub(r"(?<=\d)[,'\u2019](?=\d{3}(?!\d))", "", folded)
    return tuple(_WORD.findall(joined))


def _option(question: str, answer: str) -> str | None:
    letter = re.fullmatch(r"\(?([A-Z])[.)]?", answer.strip())
    if letter is None:
        return None
    found = re.search(rf"^\s*\(?{letter[1]}[.):]\s*(\S.*)$", question, re.MULTILINE)
    return found[1].strip() if found is not None else None


def _holds(text: tuple[str, ...], run: tuple[str, ...]) -> bool:
    return any(text[start : start + len(run)] == run for start in range(len(text) - len(run) + 1))
