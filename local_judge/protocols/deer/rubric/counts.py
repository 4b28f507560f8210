"""Items of the rubric that a count decides instead of a judge.

Invariant: a count speaks only where the text leaves no doubt, and says what it counted; wherever a reader might see
it otherwise (no heading names a conclusion; the report is made of lists) the answer is None, and a judge is asked.

The published rubric asks for parts and paragraphs that are long enough and gives no numbers. These are ours:

- `MIN_WORDS` of a part. An introduction has five things to say (topic, problem, importance, scope, what follows), a
  conclusion about as many; at 20 words a sentence that is 100 words. A body of 500 words is the least in which two or
  three questions can be answered with their evidence.
- Below `MIN_PARAGRAPH_WORDS` there is room for one or two sentences: a statement without its support. Above
  `MAX_PARAGRAPH_WORDS`, most of a printed page, a reader no longer sees where one point ends.
- `MIN_PARAGRAPHS`: with fewer, the share tells of single paragraphs and not of the report.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.documents.model import Block, Document, Frozen
from local_judge.documents.words import WordCounter
from local_judge.protocols.deer.rubric.model import CountRule
from local_judge.protocols.deer.rubric.parts import Part, find_parts

MIN_WORDS = {"introduction": 100, "body": 500, "conclusion": 100}
MIN_PARAGRAPH_WORDS = 40
MAX_PARAGRAPH_WORDS = 250
MIN_PARAGRAPHS = 5
UNSPACED = frozenset({"km", "lo", "my", "th"})
"""Languages that set no spaces between words and no limit to a word, so that none can be counted."""


class Counted(Frozen):
    """What a count says of one item."""

    score: int
    """From 1 to the scale."""
    rationale: str
    """The figures, in one line."""


def count(rule: CountRule, document: Document, scale: int) -> Counted | None:
    """The score that a rule gives, or None where it cannot tell.

    Formula: 1 + floor((scale - 1) * share + 1/2), where `share` is

    - `parts_present`: of introduction, body and conclusion, how many hold any text;
    - `part_lengths`: the mean over the three of min(1, words / `MIN_WORDS`);
    - `paragraph_lengths`: of the paragraphs, how many have `MIN_PARAGRAPH_WORDS` to `MAX_PARAGRAPH_WORDS` words.

    Args:
        rule: which one.
        document: the report.
        scale: the highest score; the lowest is 1.
    """
    if rule == "paragraph_lengths":
        return _paragraph_lengths(document, scale)
    parts = find_parts(document)
    if parts is None:
        return None
    found = {"introduction": parts.introduction, "body": parts.body, "conclusion": parts.conclusion}
    if rule == "parts_present":
        told = [f"{name}: {_present(part)}" for name, part in found.items()]
        return _counted(sum(part.words > 0 for part in found.values()), len(found), scale, told)
    told = [f"{name}: {part.words} of {MIN_WORDS[name]} words, {part.place}" for name, part in found.items()]
    # In whole numbers: every minimum divides the product of them all.
    product = MIN_WORDS["introduction"] * MIN_WORDS["body"] * MIN_WORDS["conclusion"]
    reached = sum(
        min(part.words, MIN_WORDS[name]) * product // MIN_WORDS[name] for name, part in found.items()
    )
    return _counted(reached, len(found) * product, scale, told)


def _present(part: Part) -> str:
    return f"{part.place}, {part.words} words" if part.words else f"{part.place}, without text"


def _paragraph_lengths(document: Document, scale: int) -> Counted | None:
    if document.language in UNSPACED:
        return None
    counter = WordCounter(document)
    blocks = [block for block in document.blocks if block.role == "body"]
    paragraphs = [counter.block(block) for block in _paragraphs(blocks)]
    if len(paragraphs) < MIN_PARAGRAPHS or 2 * sum(paragraphs) < counter.total(blocks):
        return None  # lists or tables carry the report, and a reader may take their entries for paragraphs
    short = sum(words < MIN_PARAGRAPH_WORDS for words in paragraphs)
    long = sum(words > MAX_PARAGRAPH_WORDS for words in paragraphs)
    good = len(paragraphs) - short - long
    told = [
        f"{good} of {len(paragraphs)} paragraphs have {MIN_PARAGRAPH_WORDS} to {MAX_PARAGRAPH_WORDS} words",
        f"shorter: {short}",
        f"longer: {long}",
    ]
    return _counted(good, len(paragraphs), scale, told)


def _paragraphs(blocks: Sequence[Block]) -> list[Block]:
    """Paragraphs that stand for themselves: not the line that leads into a list, a table or a listing."""
    after = [*(block.kind for block in blocks[1:]), "heading"]
    return [
        block
        for block, follows in zip(blocks, after, strict=True)
        if block.kind == "paragraph"
        and not (follows not in ("paragraph", "heading") and block.text.rstrip(" *_").endswith((":", "：")))
    ]


def _counted(reached: int, of: int, scale: int, told: Sequence[str]) -> Counted:
    # 1 + floor((scale - 1) * reached / of + 1/2), exact.
    return Counted(score=1 + (2 * (scale - 1) * reached + of) // (2 * of), rationale="; ".join(told))
