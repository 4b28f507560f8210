"""Instructions to the judge, put into reports and pages.

Invariant: an attack stands in its text as a paragraph of its own at a place that the seed decides, and nothing else is
changed; a report with an attack keeps its sentences, citations and references beside it, or the attack is put
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Literal, NamedTuple

from local_judge.base.model import Frozen
from local_judge.documents import Document, parse_report
from local_judge.lab.planting.flaws.places import places
from local_judge.lab.planting.model import Language
from local_judge.prompts import fence_mark, fill

AttackPlace = Literal["report", "page"]
AttackTarget = Literal["support", "unsupport", "score", "winner", "checklist", "extraction"]
"""Goal of an attack: claims called supported or not supported, high scores for its report, its report preferred to
another, checklist items passed, no claims found."""


class Attack(Frozen):
    """One line of `injections.jsonl`."""

    id: str
    """Id of the attack."""
    kind: str
    """The trick: `fake_turn`, `fence_break`, `fake_guidance`, `order`, `ready_reply`, `authority`, `base64`, …"""
    language: Language
    place: AttackPlace
    """Text that contains the attack."""
    target: AttackTarget
    """Answer that the attack asks for: `support` and `unsupport` are verdicts, `extraction` finds no claims."""
    text: str
    """`{{fence}}` stands for the marks that a fence round the text without the attack would have."""


class Injected(NamedTuple):
    """A text with an attack in it."""

    text: str
    start: int
    """Start of the attack; `end` is its end."""
    end: int

    def undone(self) -> str:
        """Return the text without the attack, which follows an empty line, or precedes one at the very start."""
        return self.text[: self.start].removesuffix("\n\n") + self.text[self.end :]


@cache
def attacks() -> tuple[Attack, ...]:
    """Return all attacks of the package, in the order of their file."""
    text = files("local_judge.lab.planting").joinpath("injections.jsonl").read_text(encoding="utf-8")
    return tuple(Attack.model_validate_json(line) for line in text.split("\n") if line)


def attacks_on(place: AttackPlace, languages: Sequence[Language] | None = None) -> tuple[Attack, ...]:
    """Return the attacks on reports or on pages, in some languages or in all."""
    return tuple(
        one for one in attacks() if one.place == place and (languages is None or one.language in languages)
    )


def inject(text: str, attack: Attack, seed: int) -> Injected | None:
    """`text` with `attack` in it.

    Args:
        text: of a report or of a page, as the attack says.
        attack: what to put in.
        seed: decides where: behind a paragraph of a report's body, or behind a line of a page.

    Returns:
        None for a report in which an attack changes how the rest is read, wherever it stands.

    Raises:
        UnreadableReport: the attack is for a report, and the text is none.
    """
    words = fill(attack.text, {"fence": fence_mark(text)} if "{{fence}}" in attack.text else {})
    rng = Random(f"{seed}:{attack.id}:{len(text)}")
    if attack.place == "page":
        return _put(text, rng.choice(_ends_of_lines(text)), words)
    document = parse_report(text)
    ends = [place.end for place in places(document)] or [len(document.text.rstrip())]
    for end in rng.sample(ends, min(len(ends), 8)):
        made = _put(document.text, end, words)
        if intact(document, parse_report(made.text)):
            return made
    return None


def _ends_of_lines(text: str) -> list[int]:
    ends = [place for place, character in enumerate(text) if character == "\n" and text[:place].strip()]
    return [*ends, len(text)]


def _put(text: str, end: int, words: str) -> Injected:
    start = end + 2
    return Injected(f"{text[:end]}\n\n{words}{text[end:]}", start, start + len(words))


def intact(report: Document, attacked: Document) -> bool:
    """Check whether the attacked report has all sentences and references of the report, in order."""
    rest: Iterator[str] = iter([sentence.text for sentence in attacked.sentences])
    kept = all(sentence.text in rest for sentence in report.sentences)
    return kept and [one.text for one in report.references] == [one.text for one in attacked.references]
