"""Text around the report (chat wrapper, agent chatter, contents, next questions), and refusals in place of a report.

Invariant: nothing is removed; text that is not the report gets another role. A paragraph counts as chatter only if it
describes the writer's own searching, has no citation, and precedes the first cited paragraph.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from local_judge.documents.entries import is_title
from local_judge.documents.inline import HIDDEN, Mark
from local_judge.documents.markdown import RawBlock

_SEARCHING = (
    r"(?:search|look(?:ing)? (?:for|up|into)|gather|research|find|collect|explore|investigat|continue|start|begin"
    r"|check|verify|examine|dig|retriev|query|fetch|browse|read|learn|conduct|do (?:one|some|a)|get (?:more|some|the)"
    r"|need (?:more|to)|understand|provide|create|compile|prepare|write|analy[sz]e|synthesi[sz]e|present|review"
    r"|help you|break this|approach|address)"
)
_CHATTER = re.compile(
    rf"\b(?:let me|let's|i'll|i will|i'm going to|i need to|i should|i want to|i would like to|i have|"
    rf"i've|i can see|i see|i'd like to|allow me to)\b[^.!?\n]{{0,80}}?\b{_SEARCHING}"
    r"|\bneed (?:more|some) (?:specific |additional )?information\b|\bfor (?:my|our) (?:final|next|last) search\b"
    r"|\bbased on (?:my|the|all)[^.\n]{0,60}(?:search|research|gathered|collected|found)[^.\n]{0,80}\b(?:i|now)\b",
    re.IGNORECASE,
)
_CHATTER_HAN = re.compile(
    r"(?:让我们?|我将|我会|我需要|我还需要|我想|我来|我要|需要(?:进一步|再|更)|现在我?需?要?|接下来|最后,?，?我?|还需要|为了[^。\n]{2,60}我|根据我?"
    r"|基于|通过搜索|继续|再|首先)"
    r"[^。！？\n]{0,60}"
    r"(?:搜索|查找|查询|检索|查阅|调研|收集|搜集|获取|了解|寻找|整理|撰写|为您|为你|进行全面|深入分析|系统梳理|研究)"
    r"|^(?:继续)?(?:搜索|查找|检索)"
)
_FIRST_PERSON_HAN = re.compile(
    r"我|您|^(?:继续)?(?:搜索|查找|检索)|需要(?:进一步|再|更)|最后再?搜索|搜[索集]到"
)
_LONGEST_CHATTER = 700

_GEMINI = re.compile(r"\s*Conversation with Gemini\b")
_GEMINI_END = re.compile(
    r"Gemini can make mistakes, so double-check it(?:.{0,300}?Contents Export Create)?\s*", re.DOTALL
)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(?:markdown|md)[ \t]*\r?\n", re.IGNORECASE)
_FRONT_MATTER = re.compile(
    r"\s*(?P<rule>-{3}|\+{3})[ \t]*\r?\n(?=[ \t]*[\w\"'-]+[ \t]?[:=])"
    r"(?>(?!(?P=rule))(?:[ \t]*[\w\"'-]{1,60}[ \t]?[:=][^\n]*|[ \t]*[-#][^\n]*|[ \t]+[^\n]*|\r?)\n){1,100}+"
    r"(?P=rule)[ \t]*(?:\r?\n|$)"
)
_THOUGHT = re.compile(r"<think(?:ing)?>|(?P<close></think(?:ing)?>)[ \t]*\n")
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3}|~{3})", re.MULTILINE)
_UNSEEN = re.compile(
    rf"(?m:^[ \t]*)<(?P<name>think(?:ing)?)>|{HIDDEN.pattern.replace('name', 'hidden', 1)}", re.IGNORECASE
)
_REFUSAL = re.compile(
    r"(?:can ?not|could not|can't|unable to|not possible to|impossible to)\s+(?:\w+ ){0,3}?(?:be )?"
    r"(?:produc|complet|provid|deliver|generat|fulfil|creat|finali[sz]|verif|access|brows|perform|compil|assist)"
    r"|(?:i'm|i am) (?:sorry|unable)|\bas an ai\b"
    r"|(?:无法|不能)(?:完成|提供|生成|撰写|访问|浏览|执行|核实)|抱歉",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:research|data collection|execution|collection|work|evidence) plan\b|\bnext steps\b|\bproposed (?:approach|"
    r"outline|method)|\bto be (?:filled|produced|completed|collected)\b|\bonce (?:you|sources|approved)"
    r"|研究计划|执行计划|下一步",
    re.IGNORECASE,
)
_OPENING = 3000
_CONTENTS = re.compile(r"\s*(?:[\d.]{1,8}\s+)?\[[^\n]{1,200}\]\(#[^()\s]{0,300}\)[\s.…·|]{0,200}\d{0,4}\s*")
"""Line of a table of contents."""
_NEXT = re.compile(r"[^\n]{5,300}[?？؟][*_\s]*|[a-zß-öø-ÿ][\w'’-]*(?: [\w'’-]+){2,12}")
"""Question or search."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Range `text[start:end]` of the report within a chat or an export."""

    start: int
    end: int
    found: bool


def unwrap(text: str) -> Wrapper:
    """Find the report in an export of a conversation, or in a Markdown fence around all of it."""
    if _GEMINI.match(text):
        end = _GEMINI_END.search(text, 0, 20_000)
        if end is not None:
            return Wrapper(end.end(), len(text), True)
    fence = _FENCE.match(text)
    if fence is not None:
        close = text.rstrip()
        last = close.rfind("\n")
        if last >= fence.end() and close[last + 1 :].strip() == fence.group(1):
            return Wrapper(fence.end(), last, True)
    return Wrapper(0, len(text), False)


def hidden_ranges(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges of `text[start:end]` that readers do not see: front matter, thinking, and hidden elements.

    Elements within a fence or a line of a table are not among them.
    """
    ranges: list[tuple[int, int]] = []
    front = _FRONT_MATTER.match(text, start, end)
    at = front.end() if front is not None else start
    if front is not None:
        ranges.append((start, at))
    fences = [match.start() for match in _FENCE_LINE.finditer(text, start, end)]
    thought = _THOUGHT.search(text, at, end)
    if thought is not None and thought["close"] and bisect_left(fences, thought.start()) % 2 == 0:
        # The opening tag is often part of the prompt.
        ranges.append((at, thought.end()))
        at = thought.end()
    unclosed: set[str] = set()
    while (opening := _UNSEEN.search(text, at, end)) is not None:
        at = opening.end()
        closing = f"</{opening['name'] or opening['hidden']}>"
        close = text.find(closing, at, end) if closing not in unclosed else -1
        line = text.rfind("\n", 0, opening.start()) + 1
        if close < 0:
            unclosed.add(closing)
        elif bisect_left(fences, at) % 2 == 0 and not text[line : opening.start()].lstrip().startswith("|"):
            at = close + len(closing)
            ranges.append((opening.start(), at))
    return ranges


def find_chatter(blocks: Sequence[RawBlock], cited: Sequence[bool]) -> frozenset[int]:
    """Return the indexes of the blocks before the report: an agent's remarks, and text that the report repeats.

    Args:
        blocks: All blocks in order.
        cited: Whether each block has a citation.
    """
    zone = next((index for index, has in enumerate(cited) if has), len(blocks))
    chatter = [index for index in range(zone) if _is_chatter(blocks[index])]
    if not chatter:
        return frozenset()
    found = set(chatter)
    restart = _restart(blocks, chatter[-1])
    if restart is not None:
        found.update(range(restart))
    else:
        found.update(_empty_headings(blocks, found, chatter[-1]))
    return frozenset(found)


def find_navigation(
    blocks: Sequence[RawBlock], listed: frozenset[int], marks: Sequence[Sequence[Mark]]
) -> frozenset[int]:
    """Return the indexes of the blocks that lead to other text: tables of contents, and what a chat may be asked next.

    A table of contents has two lines or more, each a link within the report. Questions and searches are all that
    follows the last source list.

    Args:
        blocks: All blocks in order.
        listed: Indexes of the blocks of source lists.
        marks: Marks of each block.
    """

    def only(line: re.Pattern[str], index: int) -> bool:
        cites = any(mark.style is not None and not mark.target.startswith("#") for mark in marks[index])
        return not cites and all(map(line.fullmatch, blocks[index].piece.flat.split("\n")))

    places = {index for index in range(len(blocks)) if index not in listed and only(_CONTENTS, index)}
    found = {
        index
        for index in places
        if "\n" in blocks[index].piece.flat or not places.isdisjoint((index - 1, index + 1))
    }
    for index in sorted(found - {0}):
        if blocks[index - 1].kind == "paragraph" and is_title(blocks[index - 1].piece.flat):
            found.add(index - 1)
    tail = range(1 + max(listed, default=len(blocks)), len(blocks))
    after = [index for index in tail if blocks[index].kind != "heading"]
    if after and is_title(blocks[after[0]].piece.flat):
        del after[0]
    several = "\n" in "\n".join(blocks[index].piece.flat for index in after)
    return frozenset(found.union(tail) if several and all(only(_NEXT, index) for index in after) else found)


def _is_chatter(block: RawBlock) -> bool:
    flat = block.piece.flat
    if block.kind not in ("paragraph", "list_item", "quote") or len(flat) > _LONGEST_CHATTER:
        return False
    if _CHATTER.search(flat):
        return True
    return _CHATTER_HAN.search(flat) is not None and _FIRST_PERSON_HAN.search(flat) is not None


def _restart(blocks: Sequence[RawBlock], last: int) -> int | None:
    """Return the heading after the last remark, if it repeats an earlier heading or is a title."""
    after = next((index for index in range(last + 1, len(blocks)) if blocks[index].kind == "heading"), None)
    if after is None or any(blocks[index].kind != "heading" for index in range(last + 1, after)):
        return None
    before = [blocks[index] for index in range(last) if blocks[index].kind == "heading"]
    again = blocks[after]
    if again.level == 1 or any(_similar(again.piece.flat, heading.piece.flat) for heading in before):
        return after
    return None


def _similar(one: str, other: str) -> bool:
    one, other = one[:300].lower(), other[:300].lower()
    return SequenceMatcher(None, one, other, autojunk=False).ratio() > 0.6


def _empty_headings(blocks: Sequence[RawBlock], chatter: set[int], last: int) -> set[int]:
    """Return the headings of sections that contain only chatter."""
    found: set[int] = set()
    level = 0
    for index in range(min(last + 1, len(blocks) - 1), -1, -1):
        if blocks[index].kind == "heading":
            if level and index < last and level <= blocks[index].level:
                found.add(index)
            level = blocks[index].level
        elif index not in chatter:
            level = 0
    return found


def refusal_notes(body: str) -> tuple[str, ...]:
    """Return `refusal`, and `plan` with it, for a text that explains why there is no report."""
    opening = body[:_OPENING]
    if not _REFUSAL.search(opening):
        return ()
    return ("refusal", "plan") if _PLAN.search(opening) else ("refusal",)
