"""Rules of a good checklist, as far as code can decide them (LiveResearchBench, appendix J).

Invariants: a finding names its rule, its item and the words at fault, so that it can be checked by eye; a rule that
could not be applied, because the request or the language is unknown, is named and does not count as kept. Rules on
wording cover English and Chinese.

    hard    an item that breaks it cannot be judged, or would be judged for something else
    soft    readers may judge an item that breaks it differently
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from indexes.text.language import detect_language
from local_judge.base.model import Frozen
from local_judge.tasks.alike import firsts
from local_judge.tasks.checklists import CHECKLIST_KIND
from local_judge.tasks.dates import leaves_open
from local_judge.tasks.load import bare, load_tasks
from local_judge.tasks.model import Checklist, ChecklistItem

FEWEST, MOST = 3, 20
"""Number of items of a checklist; the published ones have 6.8 on average."""

LONGEST = 600
"""Maximum number of characters of an item; a longer one asks for more than one thing."""

Check = Callable[[str, str], str | None]
"""Check of an item, given its task's request or an empty text: what is wrong with the item, or None."""


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
_BOTH = _any(
    r"\bas\s+well\s+as\b", r"[^,，、;；]+,\s[^,，、;；]+,?\s(?:and|or)\s\w+", "、[^、]+(?:、|和|及|与|以及)"
)
_ONE_AMONG = _any(
    r"\b(?:such\s+as|for\s+example|for\s+instance|e\.g\.|like|including|at\s+least|between|among|across|compar\w+)\b",
    "例如|比如|诸如|包括|至少|之间|比较|对比|等",
)
_BAD_IF_YES = _any(
    r"\b(?:do|does|did|is|are|has|have|can)n['’]t\b",
    r"\breport\s+(?:not|never|omits?|lacks?|fails?\s+to|ignores?|neglects?|overlooks?|leaves?\s+out|misses|miss)\b",
    r"\b(?:contain|have|has|include|make|show)s?\s+(?:any|some)\s+(?:\w+\s+)?"
    r"(?:contradiction|error|false|flaw|gap|inaccurac|mistake|omission|problem)",
    "(?:报告|文章|回答|是否)(?:中)?(?:没有|未(?!来)|缺少|缺乏|遗漏|忽略|忽视|漏掉|不(?:包含|包括|涉及|提及|说明|讨论))",
    "(?:存在|包含|含有|出现)(?:任何|一些|明显的?|事实)*(?:错误|遗漏|缺陷|矛盾|疏漏)",
)
_OTHERS = _any(
    r"\b(?:cit(?:e|es|ed|ing|ations?)|bibliograph\w*|references?\s+(?:list|section)|footnotes?|hyperlinks?|urls?)\b",
    r"\b(?:grammar\w*|spelling|typos?|punctuation|readab\w*|concise\w*|formatt\w*|headings?|writing\s+style|tone)\b",
    r"\b(?:well|clearly|logically)[- ](?:written|organi[sz]ed|structured|formatted)\b",
    r"\b(?:easy\s+to\s+(?:read|follow)|word\s+(?:count|limit)|internally\s+consistent|logical\s+flow)\b",
    r"\b[\d,]+\s+(?:words|pages)\b",
    "引用|参考文献|引文|脚注|超链接|语法|错别字|拼写|标点|文笔|行文|通顺|流畅|易读|可读性|排版|格式|字数|篇幅",
    "(?:条理|结构|层次)清[晰楚]|逻辑连贯|前后一致|语气",
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}")
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
_NOW = _any(
    r"\b(?:today|yesterday|tomorrow|nowadays|currently|at\s+present|present[- ]day|current\s+(?:date|year|month))\b",
    r"\b(?:as\s+of|until|till|up\s+to|by)\s+now\b",
    r"\b(?:this|last|next)\s+(?:year|month|week|quarter)\b",
    "今天|今日|昨天|今年|去年|明年|本月|上个?月|本年度|目前|当前|现在|现今|如今|迄今|至今|眼下",
)
_DEGREE = _any(
    r"\b(?:adequate|sufficient|appropriate|proper|thorough|comprehensive|insightful|meaningful|reasonable)(?:ly)?\b",
    r"\b(?:in[- ]depth|in\s+detail|detailed|high[- ]quality|clearly)\b",
    "充分|深入|全面|详细|详尽|恰当|适当|合理|清晰|高质量|到位",
)


def _shown(words: str) -> str:
    short = " ".join(words.split())
    return repr(short if len(short) <= 60 else short[:59] + "…")


def _words(pattern: re.Pattern[str], says: str, unless: re.Pattern[str] | None = None) -> Check:
    """Return a check that finds words of `pattern` in items without words of `unless`."""

    def check(item: str, request: str) -> str | None:
        found = pattern.search(item)
        if found is None or (unless is not None and unless.search(item)):
            return None
        return f"{says}: {_shown(found[0])}"

    return check


def _unasked(pattern: re.Pattern[str], says: str) -> Check:
    """Return a check that finds words of `pattern` that the request itself does not use."""

    def check(item: str, request: str) -> str | None:
        said = request.casefold()
        found = (match[0] for match in pattern.finditer(item) if match[0].casefold() not in said)
        word = next(found, None)
        return None if word is None else f"{says}: {_shown(word)}"

    return check


def _yes_or_no(item: str, request: str) -> str | None:
    found = _OPEN.search(item)
    if found and not _CHINESE_YES.search(item):
        return f"asks {_shown(found['word'] or found['chinese'])}, which neither yes nor no answers"
    if not (_ASKS.search(item) or _OF_THE_REPORT.search(item)):
        return "neither asks whether something is there nor says what the report does"
    return None


def _no_answer(item: str, request: str) -> str | None:
    known = {_figure(number) for number in _NUMBER.findall(request)}
    for number in _NUMBER.findall(_PLACEHOLDER.sub(" ", item)):
        if request and _figure(number) not in known:
            return f"has a figure that the request does not have: {number}"
    return None


def _figure(number: str) -> str:
    """Return a figure without thousands separators: `1,200` and `1200` are equal."""
    return re.sub(r",(?=\d{3}(?:\D|$))", "", number)


_depends_on_day = _unasked(_NOW, "depends on the day on which it is read")


def _open_dates(item: str, request: str) -> str | None:
    for placeholder in _PLACEHOLDER.findall(item):
        if not leaves_open(placeholder):
            return f"a placeholder that nothing fills: {placeholder}"
    found = None if leaves_open(item) else _depends_on_day(item, request)
    return found and f"{found}; write {{{{date}}}} or the like"


class RuleText(NamedTuple):
    """Rule in words, and its check if the wording of an item decides it."""

    hard: bool
    says: str
    check: Check | None = None


RULES: Mapping[str, RuleText] = {
    "yes-or-no": RuleText(True, "is answered by yes or no", _yes_or_no),
    "one-thing": RuleText(True, "asks for one thing", _words(_TWO, "asks for several things")),
    "positive": RuleText(
        True, "yes means that the report delivers", _words(_BAD_IF_YES, "yes would mean a fault")
    ),
    "in-scope": RuleText(
        True,
        "no matter of style, length, presentation, consistency or citations",
        _unasked(_OTHERS, "is judged elsewhere"),
    ),
    "no-answer": RuleText(True, "no figure that the request does not have"),
    "no-double": RuleText(True, "says what no other item says"),
    "stands-alone": RuleText(
        True,
        "says by itself what it is about",
        _words(_ELSEWHERE, "needs another item to be understood"),
    ),
    "open-dates": RuleText(True, "a day that is not fixed is a placeholder", _open_dates),
    "few-things": RuleText(
        False,
        "no list of which a report may deliver a part",
        _words(_BOTH, "a report may deliver a part of this list", unless=_ONE_AMONG),
    ),
    "decidable": RuleText(False, "no matter of degree", _unasked(_DEGREE, "a matter of degree")),
    "same-language": RuleText(False, "in the language of the request"),
    "number": RuleText(False, f"{FEWEST} to {MOST} items"),
}

_BY_WORDING = {name: rule.check for name, rule in RULES.items() if rule.check is not None}

_CHINESE = re.compile("[\u4e00-\u9fff]")


class Finding(Frozen):
    """Breach of a rule by a checklist or a plan."""

    rule: str
    item: str | None
    """Id of the item; None for the whole checklist or plan."""
    hard: bool
    reason: str


class Linted(Frozen):
    """Findings in one checklist or plan."""

    findings: tuple[Finding, ...]
    unchecked: dict[str, str]
    """Rules that could not be applied, with the reason."""

    def of(self, item: str) -> tuple[Finding, ...]:
        """Return the findings of one item."""
        return tuple(finding for finding in self.findings if finding.item == item)


def lint(checklist: Checklist, request: str | None) -> Linted:
    """Apply all rules to a checklist.

    Args:
        checklist: the checklist of a task.
        request: the task's request, with dates left open as in the items; None if it is unknown.
    """
    items, asked = checklist.items, request or ""
    unchecked: dict[str, str] = {}
    if not asked:
        unchecked |= {rule: "the request is not known" for rule in ("no-answer", "same-language")}
    words = _by_wording(items)
    if not words:
        unchecked |= {rule: "the items are neither English nor Chinese" for rule in _BY_WORDING}
    same = firsts(item.text for item in items)
    found: list[Finding] = []
    for position, item in enumerate(items):
        reasons = _by_text(item.text, asked, words)
        if same[position] != position:
            reasons["no-double"] = f"says what {items[same[position]].id} says"
        if asked and _is_chinese(asked) != _is_chinese(item.text):
            reasons["same-language"] = "is not in the language of the request"
        found += [_finding(rule, item.id, why) for rule in RULES if (why := reasons.get(rule)) is not None]
    if not FEWEST <= len(items) <= MOST:
        found.append(_finding("number", None, f"has {len(items)} items, should have {FEWEST} to {MOST}"))
    return Linted(findings=tuple(found), unchecked=unchecked)


def _by_text(text: str, asked: str, words: Mapping[str, Check]) -> dict[str, str | None]:
    """Return what is wrong with the text of one item, by rule."""
    if len(text) > LONGEST:
        return {"one-thing": f"is longer than {LONGEST} characters"}
    found = {rule: check(text, asked) for rule, check in words.items()}
    return {**found, "no-answer": _no_answer(text, asked)}


def lint_file(path: Path, tasks: Path | None = None) -> dict[str, Linted]:
    """Return the findings in a file of checklists by task id, without rejected checklists.

    Args:
        path: a file that `CHECKLIST_KIND.load` reads; of the dataset, the form that leaves dates open.
        tasks: file of tasks, for the requests of checklists without one.

    Raises:
        InputError: a file cannot be read or is invalid.
    """
    rows = CHECKLIST_KIND.load(path, open_dates=True)
    given = {} if tasks is None else load_tasks(tasks, open_dates=True)
    known = {bare(identity): task for identity, task in given.items()}
    found: dict[str, Linted] = {}
    for row in (entry.value for entry in rows.rows):
        task = known.get(bare(row.key))
        request = row.task or (task.prompt if task else None)
        if row.content is not None:
            found[row.key] = lint(row.content, request)
    return found


def _by_wording(items: Sequence[ChecklistItem]) -> Mapping[str, Check]:
    language = detect_language("\n".join(item.text for item in items))
    return _BY_WORDING if language in ("en", "zh", "und") else {}


def _is_chinese(text: str) -> bool:
    """Check whether a text has Chinese characters: English requests and items have none, whatever they name."""
    return _CHINESE.search(text) is not None


def _finding(rule: str, item: str | None, reason: str) -> Finding:
    return Finding(rule=rule, item=item, hard=RULES[rule].hard, reason=reason)
