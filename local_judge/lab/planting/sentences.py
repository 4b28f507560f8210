"""Sentences of pages that can be claims: whole, checkable, and understood without the ones before them.

Invariant: a sentence is a stretch of its page's text, in one line, free of markup; it has 6 to 60 words (10 to 120
characters in Chinese), holds a number, a name or a date, and neither opens with a word that points back nor has a
pronoun whose noun stands elsewhere. When in doubt it is left out: a page has many sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from local_judge.documents.sentences import split_sentences
from local_judge.lab.planting.model import Language


class Stretch(NamedTuple):
    """A sentence with its offsets in the page's text."""

    start: int
    end: int
    text: str


def stands_alone(sentence: str, language: Language) -> bool:
    """Whether a sentence can be a claim."""
    return bool(sentence) and _SUITABLE[language](sentence)


def standalone_sentences(text: str, language: Language) -> Iterator[Stretch]:
    """The sentences of `text` that can be claims, in order."""
    position = 0
    for line in text.split("\n"):
        if not _NO_PROSE.match(line):
            for start, end in split_sentences(line, (), language):
                start += len(_LIST_MARK.match(line[start:end])[0])  # type: ignore[index]  # matches always
                sentence = line[start:end]
                if stands_alone(sentence, language):
                    yield Stretch(position + start, position + end, sentence)
        position += len(line) + 1


_NO_PROSE = re.compile(r"\s*(?:[#|>]|```|$)")
_LIST_MARK = re.compile(r"(?:[-*+•] |\d{1,2}[.)] )?\s*")
_MARKUP = re.compile(r"[\[\]*`|<>{}_\\=~^]|https?:|www\.|\.\.\.|…|©|@")

_LEANING = re.compile(
    r"(?:It|Its|This|That|These|Those|There|They|Their|He|She|We|His|Her|But|And|Or|So|However|Also|Such|Both|Here|"
    r"Then|Another|Other|Others|Moreover|Furthermore|Instead|Meanwhile|Additionally|Nevertheless|Nonetheless|Thus|"
    r"Therefore|Hence|My|Our|Your|Later|Afterwards?|Subsequently|Consequently|Similarly|Likewise|Conversely|"
    r"Alternatively|Otherwise|Still|Yet|Nor|Neither|Either|Finally|Lastly|First|Second|Third|Firstly|Secondly|"
    r"Thirdly|Next|Soon|Eventually|Initially|Originally|Previously|Today|Now|Currently|Recently|Yesterday|Tomorrow|"
    r"Tonight|Indeed|Perhaps|Maybe|Please|Click|Read|See|Note|Update|Photo|Image|Source|Overall|Traditionally|"
    r"Historically|Nearby|Even if|All that|All of|Both of|Popularly|Because|Since|While|Though|Although|If|When|"
    r"In addition|For example|For instance|As a result|As such|As of|After (?:that|this)|At (?:the|this|that) time|"
    r"In (?:sum|short|many ways|brief|conclusion|summary|turn|contrast|particular|"
    r"fact|this|that|these|those|other|both|all|some|it|its|his|her|their)|"
    r"Of (?:these|those|the)|Among (?:these|those|them|the)|On the|Some of|One of|Many of|Most of|Each|Several|"
    r"By (?:then|this|that)|Since then|During (?:this|that|the|his|her|its|their)|According to the)\b"
)
_PRONOUN = re.compile(
    r"\b(?:he|she|they|we|I|you|it|hers|theirs|our|ours|your|my|mine|this|these|those|him|them|me|us|"
    r"the (?:latter|former|same|above|following)|however|such (?!as\b)|there|here|do so|did so|today|yesterday|"
    r"tomorrow|tonight|ago|last (?:week|month|year|night|season)|next (?:week|month|year|season))\b",
    re.I,
)
_POSSESSIVE = re.compile(r"\b(?:his|her|its|their|itself|himself|herself|themselves)\b")
_NO_OWNER = re.compile(
    r"(?:In|On|At|By|After|Before|During|From|With|As|For|Despite|Under|Following|According|Over|Until|Upon|Through|"
    r"Throughout|Between|Among|Like|Unlike|To|About|Around|Within|Beyond|Although|While)\b"
)
"""A sentence that opens with one of these may name its owner late or not at all."""
_UNNAMED = re.compile(
    r"\b[Tt]he (?:city|province|country|company|film|book|novel|team|region|state|town|area|island|river|lake|period|"
    r"war|species|group|album|band|game|series|show|event|report|study|agency|school|university|district|village|"
    r"movement|dynasty|empire|kingdom|nation|board|court|bill|law|case|device|firm|magazine|newspaper|story|car|model|"
    r"drug|virus|disease|planet|house|building|museum|church|bridge|king|emperor|president|couple|man|woman|first|"
    r"second|third|two|three|new|old|suspect|victim|officials?|researchers|scientists|authors?|league|sea|valley|song|"
    r"play|work|term|word|name|process|system|program|project|organi[sz]ation|party|government|army|tour|season)"
    r"(?:['’]s?)?(?=[.,;)]| (?:is|was|are|were|has|had|have|and|or|on|by|at|as|for|from|also|will|would|can|could|may|"
    r"said|says|after|before|during|with|began|became|since|until|when|while|into)\b)|contributed reporting"
)
"""`the city` says which only where something follows that tells."""
_WEEKDAY = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b")
_PARTICULAR = re.compile(r"\d|(?<=[a-z,;] )[A-Z]")
_NAME_OR_NUMBER = re.compile(r"[A-Z0-9]")
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|can|could|will|would|may|might|must|should|does|do|did|"
    r"said|says|became|becomes?|began|begins?|won|made|makes?|took|takes?|led|leads?|wrote|writes?|held|holds?|met|"
    r"rose|fell|found|built|grew|grows?|gave|gives?|came|comes?|went|goes|ran|runs?|saw|sees?|kept|left|brought|"
    r"sold|spent|lost|sent|stood|stands?|lies|lay|cost|costs|paid|got|gets|set|sets|spread|reached|reaches|rests?|"
    r"includes?|contains?|covers?|plays?|serves?|consists?|spans?|flows?|originates?|requires?|produces?|uses?|"
    r"means|refers?|allows?|provides?|depends?|represents?|causes?|occurs?|forms?|lives?|supplies|employs|borders|"
    r"[a-z]{2,}(?:[^aeiou]|[aeiu])ed)\b"
)
_DEFINITE = re.compile(r"The ((?:[\w’'-]+,? ){1,6})")
_ANCHOR = re.compile(r"[A-Z0-9]|\bof\b")
_QUOTING = re.compile(r'["“”‘?!«»]|(?<!\w)[\'’]|[\'’](?!\w)|:\s*$|;\s*$')
_NAMED = re.compile(
    r"(?<=[\w,;)] )(?!(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|January|February|March|April|June|July|"
    r"August|September|October|November|December)\b)[A-Z]|^\w+ \d{4}|\b\d{4}\b"
)
_LEAST_WORDS, _MOST_WORDS = 6, 60
_ENOUGH_WORDS = 10
"""A shorter sentence has to name somebody, some place, or a year."""
_LONGEST = 320


def _english(sentence: str) -> bool:
    words = sentence.count(" ") + 1
    return (
        _LEAST_WORDS <= words <= _MOST_WORDS
        and len(sentence) <= _LONGEST
        and (sentence[0].isupper() or sentence[0].isdigit())
        and re.search(r"(?:[a-z)\d%]|[A-Z]{2})\.$", sentence) is not None
        and sentence.count("(") == sentence.count(")")
        and _LEANING.match(sentence) is None
        and _PRONOUN.search(sentence) is None
        and not (_POSSESSIVE.search(sentence) and _NO_OWNER.match(sentence))
        and _WEEKDAY.search(sentence) is None
        and _UNNAMED.search(sentence) is None
        and _QUOTING.search(sentence) is None
        and _MARKUP.search(sentence) is None
        and _PARTICULAR.search(sentence) is not None
        and _VERB.search(sentence) is not None
        and (words >= _ENOUGH_WORDS or _NAMED.search(sentence) is not None)
        and _anchored(sentence)
    )


def _anchored(sentence: str) -> bool:
    """Whether an opening `The council …` says which council: a name, a number or an `of` follows soon."""
    found = _DEFINITE.match(sentence)
    if found is None:
        return True
    verb = _VERB.search(found[1])
    phrase = (found[1] if verb is None else found[1][: verb.start()]).partition(",")[0]
    return _ANCHOR.search(phrase) is not None


_LEANING_ZH = re.compile(
    r"[，、；：。）」”]|[他她它其该此这那但而且或则即亦也还又并再更均都皆仍却将被把从对以与和跟同据按为所]|因(?!为)|由(?!于)|"
    r"我|您|你|本|上述|以上|以下|如下|前者|后者|下面|上面|随后|随即|随着|同时|此外|另外|另一|其中|首先|其次|再次|最后|最终|"
    r"不过|不仅|不但|虽然|尽管|然而|因此|所以|于是|总之|总体|综上|例如|比如|譬如|特别|尤其|尤为|具体|目前|现在|如今|当前|"
    r"近年|近期|最近|今年|去年|明年|今天|昨天|昨日|当时|当年|当地|之后|之前|期间|至此|到|在|如果|若|只有|只要|除|相比|相较|"
    r"一方面|第[一二三四五六七八九十]|[一二三四五六七八九十]是|注|表|图|见|计划|预计|旨在|有望|占|约占|达到|包括|成为|位于|拥有|获得|实现|推动|提供|增长|同比|一致地|应|需|可|能|使|让|即|未来|已|未|经|必须|要|总|全年|全市|全县|全省|首飞|各|公司|平台|项目|研究组|小组|团队|机队|抽查|电池|数据|施工|\d{4}年的数据|实验结果|结果|\d{4}年共"
)
_PRONOUN_ZH = re.compile(
    r"[他她您你我它]|日前|日内|本[文报章节研项次人]|该[^国]|[这那](?!曲|霸|些年)|上述|前述|如下|以下|前者|后者|笔者|此[外类次时举]|其(?!他|它|中|余|实|次|间)|"
    r"今年|去年|昨天|昨日|今天|目前|同[期年比]|详见|参见|下[表图]|上[表图]"
)
_QUOTING_ZH = re.compile(r"[“”‘’「」『』？！?!\"']|：$")
_PARTICULAR_ZH = re.compile(r"\d|《|[A-Z]{2}|[省市县州国](?!家|内|际|民|产)|[年月日]")
_LEAST_ZH, _MOST_ZH = 12, 120


def _chinese(sentence: str) -> bool:
    han = len(re.findall(r"[\u4e00-\u9fff]", sentence))
    return (
        _LEAST_ZH <= len(sentence) <= _MOST_ZH
        and 2 * han >= len(sentence)
        and sentence.endswith("。")
        and "。" not in sentence[:-1]
        and "：" not in sentence
        and re.match(r"[\w《]", sentence) is not None
        and _LEANING_ZH.match(sentence) is None
        and _PRONOUN_ZH.search(sentence) is None
        and _QUOTING_ZH.search(sentence) is None
        and _MARKUP.search(sentence) is None
        and sentence.count("（") == sentence.count("）")
        and _PARTICULAR_ZH.search(sentence) is not None
    )


_SUITABLE: dict[Language, Callable[[str], bool]] = {"en": _english, "zh": _chinese}
