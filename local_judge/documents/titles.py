"""Titles of reference sections.

Invariant: a title is a hint; the content of a section decides whether it is a list of references. Lists of entries
with keys and addresses need none (`lists`). For others, a `clear` title (`References`, `参考文献`) needs less evidence
than a `vague` one (`Sources`, `来源`), which may also be the title of a chapter on sources of energy.
"""

from __future__ import annotations

import re
from typing import Literal

from local_judge.base.files import word_list

Clarity = Literal["clear", "vague"]


_CLEAR = word_list("local_judge.documents", "reference_titles_clear")
_VAGUE = word_list("local_judge.documents", "reference_titles_vague")
_PREFIX = re.compile(
    r"^(?:key|selected|primary|main|full|complete|all|external|official|additional|other|major|numbered|the|"
    r"主要|相关|部分|全部|完整|核心|重要|附录[:：]?)\s*"
)
_NUMBERING = re.compile(
    r"^(?:(?:chapter|section|appendix|part)\s+)?"
    r"(?:\d{1,2}(?:\.\d{1,2})*[.)、:：]?\s+|\d{1,2}[.、．]\s*|[ivx]{1,5}[.)]\s+|[a-z][.):]\s+|"
    r"[（(]?[一二三四五六七八九十]{1,3}[)）、.．]\s*|第[一二三四五六七八九十\d]{1,3}[章节部分]+[:：、]?\s*)"
)
_BRACKETED = re.compile(r"\s*(?:[(（\[【][^()（）\[\]]{0,60}[)）\]】]|\{[^{}]{0,40}\})$")
_JOINT = re.compile(r"\s*(?:\band\b|&|/|\+|,|和|与|及|以及|、)\s*")
_LONGEST = 60


def reference_title(line: str) -> Clarity | None:
    """Return how clearly a line is the title of a list of references; None if it is not."""
    line = line.strip()
    if not line or len(line) > _LONGEST:
        return None
    title = re.sub(r"[*_#`~]", "", line).strip().lower()
    title = re.sub(r"^[^\w(（]+|[\s:：.。—–-]+$", "", title)
    title = _NUMBERING.sub("", title)
    title = _BRACKETED.sub("", title).strip(" :：")
    return _clarity(title) or _clarity(_PREFIX.sub("", title))


def _clarity(title: str) -> Clarity | None:
    if title in _CLEAR:
        return "clear"
    if title in _VAGUE:
        return "vague"
    parts = [part for part in _JOINT.split(title) if part]
    if len(parts) > 1 and all(part in _CLEAR or part in _VAGUE for part in parts):
        return "clear" if any(part in _CLEAR for part in parts) else "vague"
    return None
