"""Rules of a good checklist item that its wording alone decides, in English and in Chinese.

Invariant: a rule finds fault only with words that it can name, so that each finding can be checked by eye; what needs
an understanding of the request is no rule here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from local_judge.tasks.dates import leaves_open

Rule = Callable[[str, str], str | None]
"""Of an item and of its task's request, empty where that is not known: what is wrong, or None."""


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_ASKS = _any(
    r"[?？]\s*$",
    r"^(?:does|do|did|is|are|was|were|has|have|had|can|could|will|would|should)\b",
    "是否|有没有|有无|能否|可否|是不是|吗$",
)
_OPEN = _any(
    r"^(?:(?:in|for|to|at|by|from|of|on|with|under)\s+)?(?P<word>what|which|whose|whom|who|when|where|why|how)\b"
    r"(?!.*,\s*(?:does|do|did|is|are|has|have|can)\b).*[?？]$",
    "(?P<chinese>什么|哪些|哪个|哪几|哪里|多少|如何|为何|怎样|怎么|谁|何时).*[?？]$",
)
_CHINESE_YES = re.compile("是否|有没有|有无|能否|可否|是不是|吗[?？]?$")
_OF_THE_REPORT = _any(r"^(?:the|this)\s+(?:report|answer|text)\b", "^(?:该|本)?(?:报告|文章|回答)")


def yes_or_no(item: str, request: str) -> str | None:
    """An item is a question that yes or no answers, or a statement about the report."""
    found = _OPEN.search(item)
    if found and not _CHINESE_YES.search(item):
        return f"asks {_shown(found['word'] or found['chinese'])}, which neither yes nor no answers"
    if not (_ASKS.search(item) or _OF_THE_REPORT.search(item)):
        return "neither asks whether something is there nor says what the report does"
    return None


_VERBS = (
    "analy[sz]e|assess|compare|describe|discuss|evaluate|explain|give|identify|include|provide|quantify|recommend|"
    "suggest|summari[sz]e"
)
_VERBS_AND_NOUNS = "cover|list|name|outline|present|rank|report|state"
_TWO = _any(
    r"[?？].*[?？]",
    r"[;；]",
    r"\band\s+(?:also|does|do|did|is|are|was|were|has|have|can|will|whether|if\s+(?:it|they|so))\b",
    rf"\band\s+(?:{_VERBS})\b",
    rf"\band\s+(?:{_VERBS_AND_NOUNS})\s+(?:the|a|an|all|any|its|their|how|why|whether|at)\b",
    "是否.*是否",
    "(?:并|并且|同时|且)(?:也)?(?:说明|分析|比较|对比|列出|给出|提供|讨论|解释|评估|指出|总结|提出|介绍)",
)


def one_thing(item: str, request: str) -> str | None:
    """An item asks for one thing."""
    found = _TWO.search(item)
    return f"asks for several things: {_shown(found[0])}" if found else None


_BOTH = _any(
    r"\bas\s+well\s+as\b", r"[^,，、;；]+,\s[^,，、;；]+,?\s(?:and|or)\s\w+", "、[^、]+(?:、|和|及|与|以及)"
)
_ONE_AMONG = _any(
    r"\b(?:such\s+as|for\s+example|for\s+instance|e\.g\.|like|including|at\s+least|between|among|across|compar\w+)\b",
    "例如|比如|诸如|包括|至少|之间|比较|对比|等",
)


def few_things(item: str, request: str) -> str | None:
    """What an item asks for is not a list of which a report may deliver a part."""
    found = _BOTH.search(item)
    if found is None or _ONE_AMONG.search(item):
        return None
    return f"a report may deliver a part of this list: {_shown(found[0])}"


_BAD_IF_YES = _any(
    r"\b(?:do|does|did|is|are|has|have|can)n['’]t\b",
    r"\breport\s+(?:not|never|omits?|lacks?|fails?\s+to|ignores?|neglects?|overlooks?|leaves?\s+out|misses|miss)\b",
    r"\b(?:contain|have|has|include|make|show)s?\s+(?:any|some)\s+(?:\w+\s+)?"
    r"(?:contradiction|error|false|flaw|gap|inaccurac|mistake|omission|problem)",
    "(?:报告|文章|回答|是否)(?:中)?(?:没有|未(?!来)|缺少|缺乏|遗漏|忽略|忽视|漏掉|不(?:包含|包括|涉及|提及|说明|讨论))",
    "(?:存在|包含|含有|出现)(?:任何|一些|明显的?|事实)*(?:错误|遗漏|缺陷|矛盾|疏漏)",
)


def positive(item: str, request: str) -> str | None:
    """Yes means that the report delivers."""
    found = _BAD_IF_YES.search(item)
    return f"yes would mean a fault: {_shown(found[0])}" if found else None


_OTHERS = _any(
    r"\b(?:cit(?:e|es|ed|ing|ations?)|bibliograph\w*|references?\s+(?:list|section)|footnotes?|hyperlinks?|urls?)\b",
    r"\b(?:grammar\w*|spelling|typos?|punctuation|readab\w*|concise\w*|formatt\w*|headings?|writing\s+style|tone)\b",
    r"\b(?:well|clearly|logically)[- ](?:written|organi[sz]ed|structured|formatted)\b",
    r"\b(?:easy\s+to\s+(?:read|follow)|word\s+(?:count|limit)|internally\s+consistent|logical\s+flow)\b",
    r"\b[\d,]+\s+(?:words|pages)\b",
    "引用|参考文献|引文|脚注|超链接|语法|错别字|拼写|标点|文笔|行文|通顺|流畅|易读|可读性|排版|格式|字数|篇幅",
    "(?:条理|结构|层次)清[晰楚]|逻辑连贯|前后一致|语气",
)


def in_scope(item: str, request: str) -> str | None:
    """An item is no matter of style, length, presentation, consistency or citations, which are judged elsewhere."""
    word = _unasked(_OTHERS, item, request)
    return f"is judged elsewhere: {word}" if word else None


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}")


def no_answer(item: str, request: str) -> str | None:
    """An item has no figure that the request does not have. Undecided without the request."""
    if not request:
        return None
    known = {_figure(number) for number in _NUMBER.findall(request)}
    for number in _NUMBER.findall(_PLACEHOLDER.sub(" ", item)):
        if _figure(number) not in known:
            return f"has a figure that the request does not have: {number}"
    return None


def _figure(number: str) -> str:
    """A figure without separators of thousands: `1,200` and `1200` are the same."""
    return re.sub(r",(?=\d{3}(?:\D|$))", "", number)


_ELSEWHERE = _any(
    r"\bthe\s+(?:above|aforementioned|foregoing|former|latter)\b",
    r"\b(?:above|preceding|previous|following)\s+(?:item|point|question|requirement|criterion)s?\b",
    r"\b(?:as\s+)?(?:mentioned|described|stated|listed)\s+(?:above|before|earlier)\b",
    r"\b(?:item|question|point)\s+q?\d+\b",
    r"^(?:and|also|then|does|do|did|has|have|had|can|will|are|were)\s+(?:it|they|he|she|these|those)\b",
    r"^(?:does|did|has|can|will)\s+(?:this|that)\b(?!\s+(?:report|answer|text|document|analysis|review|paper))",
    "上述|前述|前[一几][项条点]|上一[项条点]|同上|如上|后者|前者|以上(?:各|几|内容|要求|问题)",
    "^(?:它|它们|这些|那些|该项)",
)


def stands_alone(item: str, request: str) -> str | None:
    """An item says by itself what it is about."""
    found = _ELSEWHERE.search(item)
    return f"needs another item to be understood: {_shown(found[0])}" if found else None


_NOW = _any(
    r"\b(?:today|yesterday|tomorrow|nowadays|currently|at\s+present|present[- ]day|current\s+(?:date|year|month))\b",
    r"\b(?:as\s+of|until|till|up\s+to|by)\s+now\b",
    r"\b(?:this|last|next)\s+(?:year|month|week|quarter)\b",
    "今天|今日|昨天|今年|去年|明年|本月|上个?月|本年度|目前|当前|现在|现今|如今|迄今|至今|眼下",
)


def open_dates(item: str, request: str) -> str | None:
    """A day that is not fixed is left open by a placeholder that a run fills."""
    for placeholder in _PLACEHOLDER.findall(item):
        if not leaves_open(placeholder):
            return f"a placeholder that nothing fills: {placeholder}"
    word = None if leaves_open(item) else _unasked(_NOW, item, request)
    return f"depends on the day on which it is read: {word}; write {{{{date}}}} or the like" if word else None


_DEGREE = _any(
    r"\b(?:adequate|sufficient|appropriate|proper|thorough|comprehensive|insightful|meaningful|reasonable)(?:ly)?\b",
    r"\b(?:in[- ]depth|in\s+detail|detailed|high[- ]quality|clearly)\b",
    "充分|深入|全面|详细|详尽|恰当|适当|合理|清晰|高质量|到位",
)


def decidable(item: str, request: str) -> str | None:
    """Two readers would decide an item alike: it asks for no degree."""
    word = _unasked(_DEGREE, item, request)
    return f"a matter of degree: {word}" if word else None


def _unasked(pattern: re.Pattern[str], item: str, request: str) -> str | None:
    """The first match that the request does not use itself: what it is about is for it to say."""
    said = request.casefold()
    found = (match[0] for match in pattern.finditer(item) if match[0].casefold() not in said)
    word = next(found, None)
    return _shown(word) if word is not None else None


def _shown(words: str) -> str:
    short = " ".join(words.split())
    return repr(short if len(short) <= 60 else short[:59] + "…")
