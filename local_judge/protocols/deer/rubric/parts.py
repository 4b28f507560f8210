"""Introduction, body and conclusion of a report, found by its headings.

Invariant: a part is named only where its heading says so in so many words and it stands where that part belongs: an
introduction before the first section of the body, a conclusion after the last. A summary at the front, an overview of
the field or a closing list of advice may serve as one or the other, which is for a reader to say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from local_judge.documents.model import Block, Document
from local_judge.documents.titles import reference_title
from local_judge.documents.words import WordCounter

MIN_LEAD_WORDS = 40
"""From here on, text between the title and the first section is taken for an introduction; a by-line or a remark on
the document has fewer."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the three parts, as found."""

    place: str
    """Where, for people: `"1. Introduction" (L4)`."""
    words: int


@dataclass(frozen=True, slots=True)
class Parts:
    """The three parts of a report."""

    introduction: Part
    body: Part
    conclusion: Part


@dataclass(frozen=True, slots=True)
class _Section:
    heading: Block
    title: str
    """Of the heading, without its number and in lower case."""
    words: int

    @property
    def place(self) -> str:
        return f'"{" ".join(self.heading.text.split())[:60]}" (L{self.heading.index + 1})'


_NUMBERING = re.compile(
    r"^(?:(?:chapter|section|part)\s+(?:\d{1,2}|[ivx]{1,5})\b\s*[.:：、—–-]?\s*"
    r"|\d{1,2}(?:\.\d{1,2})*\s*[.)）、:：．]?\s*"
    r"|[ivx]{1,5}\s*[.)）、:：]\s*"
    r"|[a-z]\s*[.)）]\s*"
    r"|[（(]?[一二三四五六七八九十]{1,3}\s*[)）、.．:：]\s*"
    r"|第[一二三四五六七八九十\d]{1,3}[章节節部分篇]{1,2}\s*[:：、.]?\s*)"
)
_BRACKETED = re.compile(r"\s*[(（\[【][^()（）\[\]【】]{0,80}[)）\]】]$")
_MORE = r"(?:\s*[:：—–]\s*.+|\s+-\s+.+|\s*(?:\band\b|&|/|,|与|和|及|以及|、|與)\s*.+)?"
"""What may follow a name: a colon or a dash with a subtitle, or a second name (`Conclusion and outlook`)."""

_INTRODUCTION = re.compile(
    rf"(?:introduction|introductory (?:remarks|note)|引言|前言|导言|導言|导论|導論|绪论|緒論|绪言|緒言|序言"
    rf"|(?:研究|调研|調研|调查|調查|报告|報告)背景|背景(?:介绍|介紹)){_MORE}"
    r"|background and (?:introduction|purpose|objectives?|aims?|motivation)"
    r"|背景\s*[与和及與]\s*(?:目的|意义|意義|目标|目標)"
)
_CONCLUSION = re.compile(
    rf"(?:(?:overall |final |general |main |key )?conclusions?|concluding (?:remarks|thoughts|observations)"
    rf"|closing (?:remarks|thoughts)|final (?:remarks|thoughts)"
    rf"|(?:研究|全文|报告|報告|最终|最終|主要|基本)?(?:结论|結論|总结|總結|小结|小結|结语|結語|结束语|結束語)){_MORE}"
    r"|(?:overall |final )?summary(?:\s*(?:and|&)\s*(?:conclusions?|outlook|implications|recommendations))?"
)
_FRONT = re.compile(
    r"(?:executive (?:summary|overview)|abstract|summary|key (?:findings|takeaways|points)|highlights|keywords"
    r"|tl;?dr|(?:table of )?contents|(?:执行|内容|报告|執行|內容|報告)?(?:摘要|提要|概要)|目录|目錄|关键词|關鍵詞"
    r"|核心观点|核心觀點)\b.*"
)
_END = re.compile(
    r"(?:appendi(?:x|ces)|annex(?:es)?|acknowledge?ments?|glossary|abbreviations|disclaimers?|limitations|notes?"
    r"|methodolog(?:y|ical)|recommendations?|next steps|future (?:work|research|directions|outlook)|outlook)\b.*"
    r"|(?:附录|附錄|附件|致谢|致謝|术语|術語|免责|免責|声明|聲明|局限|建议|建議|展望|未来展望|后续|後續|说明|說明).*"
)
_REMARK = re.compile(
    r"\W*(?:notes?|disclaimer|date|author|prepared|version|abstract|(?:executive )?summary|keywords|table of contents"
    r"|tl;?dr|作者|日期|注|说明|說明|声明|聲明|摘要|关键词|關鍵詞|目录|目錄)\b",
    re.IGNORECASE,
)


def find_parts(document: Document) -> Parts | None:
    """The three parts; None unless headings leave no doubt where each of them is."""
    counter = WordCounter(document)
    lead, sections = _sections(document, counter)
    start = next((n for n, section in enumerate(sections) if section.words and not _is_front(section)), None)
    end = _conclusion(sections)
    if start is None or end is None:
        return None
    if _INTRODUCTION.fullmatch(sections[start].title):
        introduction = Part(sections[start].place, sections[start].words)
        first = start + 1
    else:
        words = counter.total(lead)
        if not _introduces(lead, words):
            return None
        introduction = Part(f"text before the first section (L{lead[0].index + 1})", words)
        first = start
    body = [section for section in sections[first:end] if section.words]
    words = sum(section.words for section in body)
    if not body or words < introduction.words:
        # The body hides in what is called the introduction, or precedes the first section.
        return None
    return Parts(
        introduction=introduction,
        body=Part(f"{len(body)} section{'s' if len(body) > 1 else ''} from {body[0].place}", words),
        conclusion=Part(sections[end].place, sections[end].words),
    )


def _sections(document: Document, counter: WordCounter) -> tuple[list[Block], list[_Section]]:
    """The blocks before the first section, and the sections: the shallowest level with more than one heading."""
    blocks = [block for block in document.blocks if block.role == "body"]
    levels = Counter(block.level for block in blocks if block.kind == "heading")
    level = min((level for level, count in levels.items() if count > 1), default=0)
    starts = [n for n, block in enumerate(blocks) if block.kind == "heading" and block.level == level]
    if not starts:
        return [], []
    ends = [*starts[1:], len(blocks)]
    sections = [
        _Section(blocks[start], _bare(blocks[start].text), counter.total(blocks[start:end]))
        for start, end in zip(starts, ends, strict=True)
    ]
    return [block for block in blocks[: starts[0]] if block.kind != "heading"], sections


def _bare(heading: str) -> str:
    title = re.sub(r"[*_#`~]", "", " ".join(heading.split())).lower()
    title = re.sub(r"^[^\w(（]+", "", title)
    title = _NUMBERING.sub("", title, count=1)
    return _BRACKETED.sub("", title).strip(" .:：。")


def _is_front(section: _Section) -> bool:
    return _FRONT.fullmatch(section.title) is not None


def _conclusion(sections: Sequence[_Section]) -> int | None:
    """The number of the section that concludes; None if what follows it is more than end matter.

    It may be without a word: where nothing but sources follows, the report breaks off there.
    """
    last = next(
        (n for n in range(len(sections) - 1, 0, -1) if _CONCLUSION.fullmatch(sections[n].title)), None
    )
    if last is None:
        return None
    after = sections[last + 1 :]
    if any(section.words and not _is_end(section) for section in after):
        return None
    if not sections[last].words and any(not reference_title(section.heading.text) for section in after):
        return None
    return last


def _is_end(section: _Section) -> bool:
    return _END.fullmatch(section.title) is not None or reference_title(section.heading.text) is not None


def _introduces(lead: Sequence[Block], words: int) -> bool:
    return (
        words >= MIN_LEAD_WORDS
        and all(block.kind == "paragraph" for block in lead)
        and not any(_REMARK.match(block.text) for block in lead)
        and not lead[-1].text.rstrip().endswith((":", "："))
    )
