"""Chinese sentences: numbers, dates, units, names, negations, directions, scopes and causes.

Invariant: only patterns after which the sentence is still good Chinese. Chinese puts no blanks between words, so that
a word is matched together with the characters that would make it a part of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from local_judge.lab.planting.alterations.alteration_context import HAN_NUMBERS, AlterationContext
from local_judge.lab.planting.alterations.name_lists import pairs
from local_judge.lab.planting.alterations.names import names_in
from local_judge.lab.planting.alterations.values import Side, other_number, other_year
from local_judge.lab.planting.model import Edit

_YEAR = re.compile(r"(?<![\d.,–~～—/-])(?:1[1-9]|20)\d\d(?=\s?年)(?!\s?年代)")
_MONTH = re.compile(r"(?<=年)\s?(1[0-2]|[1-9])\s?(?=月)(?!月[至到-])")
_NUMBER = re.compile(
    r"(?<![\w.,，–~～—:/-])(?<![一-鿿])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w.,–~～—:/-])|"
    r"(?<=[一-鿿])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![.,]\d|[A-Za-z–~～—:/-])"
)
_NO_QUANTITY = re.compile(r"\s?(?:成|年|月|日|号|时|点|届|期|版|级|至|到|－|和|、|或|环)")
_ORDINAL = re.compile(r"(?:第|[A-Za-z]|~|约为|系列|型号|版本|编号)\s?$|[A-Za-z]-?$")
_HAN_NUMBER = re.compile(
    r"(?<![一二两三四五六七八九十百千万第])([两三四五六七八九])(?=(?:大类|大|个|种|类|家|名|座|条|项|所|支|艘|台|倍|层|部分|方面|阶段))"
)
_AT_MOST = (
    r"(?:不到|不足|(?<!不)(?<!未)(?:低于|少于|小于)|至多|最多|(?:[不未没]|没有)(?:超过|高于|多于|大于)|"
    r"近|接近|将近)"
)
"""What stands before a bound from above; `_AT_LEAST`: from below."""
_AT_LEAST = (
    r"(?:(?<![不未没])(?<!没有)(?:超过|高于|多于|大于)|(?<![不未])超|逾|至少|最少|[不未](?:少于|低于|小于)|"
    r"突破|高达|多达)"
)
_BOUNDED = re.compile(rf"(?:{_AT_MOST}|{_AT_LEAST})[^，。；]{{0,8}}$")
_LESS = re.compile(rf"(?:{_AT_MOST}|以内|仅|只有)\s?(?:约)?$")
_LESS_BEHIND = re.compile(
    r"\s?[%％万亿千元人个家名吨米公里小时天年岁座]{0,4}[或及和]?(?:以下|以内|之内|左右以下)"
)
_GREATER = re.compile(rf"{_AT_LEAST}\s?(?:约|了)?$")
_GREATER_BEHIND = re.compile(r"\s?[%％万亿千元人个家名吨米公里小时天年岁座]{0,4}[或及和]?(?:以上|多|余)")
_RANGE = re.compile(r"(?<![从由])(?<![\d.,])\d[\d.,]*\s?[%％\u4e00-\u9fff]{0,3}(?:至|到|或|－)\s?$")
"""Before the end of a range: a wider one holds what a narrower one does. What rises from a value to another is none."""
_BETWEEN = re.compile(r"[^，。；]{0,8}之间")
_PERCENT = re.compile(r"\s?[%％]")
_BACKWARDS = re.compile(r"(?:自|从|自从|早在|截至|截止到?|(?<!不)早于|不晚于|不迟于|最迟)\s?$")
_ONWARDS = re.compile(r"(?:(?<!不)晚于|(?<!不)迟于|不早于|直到|直至)\s?$")
_DAY = r"\s?年(?:\d{1,2}月)?(?:\d{1,2}[日号])?[初中底末]?"
_SINCE = re.compile(_DAY + r"(?:起|以来|以前|之前|前|开始)")
_AFTER = re.compile(_DAY + r"(?:之后|以后|后)")
_SPAN = re.compile(_DAY + r"\s?(?:至|到|和|与)\s?\d|" + _DAY + r"\s?之?间")
_SPANNED = re.compile(r"\d\s?年[^，。；]{0,6}(?:至|到|和|与)\s?$")
"""What was begun in a span was begun in a longer one, and what went on in it went on in a shorter one."""
_UNITS = pairs(
    """
    亿元:万元 万元:亿元 亿美元:万美元 万美元:亿美元 亿吨:万吨 万吨:亿吨 万人:亿人 亿人:万人 亿次:万次 万次:亿次
    万亿元:亿元 公里:米 千米:米 千克:克 公斤:克 毫克:克 厘米:米 毫米:厘米 小时:天 分钟:小时 平方公里:平方米
    平方千米:平方米 公顷:平方米 立方米:升 吉瓦:兆瓦 兆瓦:千瓦 千瓦:兆瓦 美元:欧元 欧元:美元 ℃:℉ 个月:年 周:个月
    个百分点:倍 MW:kW kW:MW GW:MW GB:MB MB:GB
    """
)
_SIZES = {
    "亿元": 1e8, "万元": 1e4, "亿美元": 1e8, "万美元": 1e4, "亿吨": 1e8, "万吨": 1e4, "亿人": 1e8,
    "万人": 1e4, "亿次": 1e8, "万次": 1e4, "万亿元": 1e12, "公里": 1000, "千米": 1000, "米": 1, "千克": 1,
    "公斤": 1, "克": 0.001, "毫克": 1e-6, "厘米": 0.01, "毫米": 0.001, "小时": 1, "天": 24, "分钟": 0.02,
    "平方公里": 1e6, "平方千米": 1e6, "平方米": 1, "公顷": 1e4, "立方米": 1000, "升": 1, "吉瓦": 1e6,
    "兆瓦": 1e3, "千瓦": 1, "个月": 30, "年": 365, "周": 7, "MW": 1e3, "kW": 1, "GW": 1e6, "GB": 1e3,
    "MB": 1,
}  # fmt: skip
"""How large a unit is beside others of its kind."""
_MORE = re.compile(rf"{_AT_LEAST}\s?(?:约|了)?[\d.,]+\s?$")
_MORE_BEHIND = re.compile(r"[或及]?(?:以上|多|余)")
_UP_TO = re.compile(rf"{_AT_MOST}\s?(?:约)?[\d.,]+\s?$")
_UNIT = re.compile(
    r"(?<=\d)\s?("
    + "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
    + r")(?![/以内的半年])(?!(?<=人)[民均次])"
)

_NEGATIVE = re.compile(r"[不没无未非否勿莫]|难以|缺乏|避免|防止|并非|拒绝|除了|之外")
_NEGATABLE: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"(?<=[\u4e00-\u9fffA-Za-z0-9）》])(?<![不就只而于也还别但若可总凡或要算即正特其尤自便如都更既又才乃真老似像])是"
            r"(?!否|非|以|由|指|因|为了|在|从|对|通过|如何|什么|怎|最|一种趋势|目前|当前|其|，)"
        ),
        "不是",
    ),
    (re.compile(r"(?<=[\u4e00-\u9fff])(?:属于)"), "不属于"),
    (
        re.compile(
            r"(采用|使用|获得|通过|完成|达到|提出|成立|引入|推出|建立|改变|取得|发布|签署|举办|提高|降低|增加|减少|实现|设立|启动|"
            r"收购|开发|制定|扩大|缩短|开设|建成|接受|购买|投入)了(?!解)"
        ),
        r"没有\1",
    ),
    (re.compile(r"(?<=[\u4e00-\u9fff])可以(?!说)"), "不能"),
    (re.compile(r"(?<=[\u4e00-\u9fff])(?<![必所])需要(?![的，。])"), "不需要"),
    (re.compile(r"(?<=[\u4e00-\u9fff])能够"), "不能"),
    (re.compile(r"(?<=[\u4e00-\u9fff])允许"), "不允许"),
    (re.compile(r"(?<=[\u4e00-\u9fff])适用于"), "不适用于"),
    (re.compile(r"(?<=[\u4e00-\u9fff])包括(?![但])"), "不包括"),
)
_NEGATED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"没有(?=[\u4e00-\u9fff])(?!任何|一|关系)"), "有"),
    (re.compile(r"不是(?!很|特别)"), "是"),
    (re.compile(r"无法"), "能够"),
    (re.compile(r"(?<!也)不会(?!再)"), "会"),
    (re.compile(r"不包括"), "包括"),
    (re.compile(r"尚未(?=[\u4e00-\u9fff]{2})"), "已经"),
    (re.compile(r"不属于"), "属于"),
    (re.compile(r"不适用于"), "适用于"),
)
_ALL_NEGATIVES = re.compile(r"[不没无未非否]")

_OPPOSITES = pairs(
    """
    增加:减少 增长:下降 上升:下降 提高:降低 提升:下降 高于:低于 多于:少于 大于:小于 优于:劣于 最大:最小
    最高:最低 最早:最晚 最长:最短 最多:最少 之前:之后 以前:以后 早于:晚于 强于:弱于 扩大:缩小 加快:放缓
    上涨:下跌 升高:降低 缩短:延长 以北:以南 以东:以西 东部:西部 南部:北部 促进:抑制 增强:削弱 改善:恶化
    超过:低于 领先于:落后于 较高:较低 较大:较小 较多:较少 更高:更低 更大:更小 更多:更少 更快:更慢 更强:更弱
    盈利:亏损 下降:上升 降低:提高
    """
)
_DIRECTIONS = {other: one for one, other in reversed(_OPPOSITES.items())} | _OPPOSITES
_DIRECTION = re.compile(
    "|".join(sorted(_DIRECTIONS, key=len, reverse=True)) + r"(?![率点极空间动力程额限器])"
)
_COMPOUND = re.compile(r"[率点极空间动力程额限器度性]")

_WIDER: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<![大一全内外上下前后局])部分(?=[\u4e00-\u9fff]{2})(?![原地的是由组])"), "所有"),
    (re.compile(r"(?:^|(?<=，))一些(?=[\u4e00-\u9fff]{2})"), "所有"),
    (re.compile(r"(?<![众如])许多(?=[\u4e00-\u9fff]{2})"), "所有"),
    (re.compile(r"绝?大多数(?=[\u4e00-\u9fff]{2})"), "所有"),
    (re.compile(r"(?<![大少])多数(?=[\u4e00-\u9fff]{2})(?!派)"), "所有"),
    (re.compile(r"(?:^|(?<=，))大部分(?=[\u4e00-\u9fff]{2})"), "所有"),
    (re.compile(r"(?:通常|往往|有时)(?=[\u4e00-\u9fff])"), "总是"),
    (re.compile(r"主要(?=由|用于|依靠|依赖|来自|集中在|分布在|面向|针对)"), "仅仅"),
    (re.compile(r"几乎(?=所有|全部|完全)"), ""),
    (re.compile(r"可能(?=会|导致|带来|影响|引发|造成)"), "必然"),
)
_ONE_OF = re.compile(r"(最[^，。；、最]{2,16})之一(?=[。，；])")

_CAUSING = re.compile(
    r"(?<=[\u4e00-\u9fffA-Za-z0-9），])(?<![所会能以从而未没不正在均都可将还已更易])(?:导致|引发|造成|引起|促成|催生)了?(?![的者，。、力成]|损)"
)
_BROUGHT_ABOUT = re.compile(r"[由被因](?!此|而|素)[^，。]{1,20}$|不会$")
_BECAUSE = re.compile(r"^(由于|因为)([^，。；：]{4,40})，((?:所以|因此|因而)?)([^，。；：]{4,40})。$")
_THEREFORE = re.compile(r"^([^，。；：]{6,40})，(因此|因而|所以|从而导致)([^，。；：]{6,40})。$")
_POINTING = re.compile(r"[其它他她该此这那]|这些|那些|并|而|但|也|还|就|才")


def numbers(context: AlterationContext) -> Iterator[Edit]:
    """Quantities."""
    sentence = context.sentence
    for found in _NUMBER.finditer(sentence):
        before, behind = sentence[: found.start()], sentence[found.end() :]
        if found[0] in ("0", "1") or _NO_QUANTITY.match(behind) or _ORDINAL.search(before):
            continue
        if not re.match(r"\s?[%％\u4e00-\u9fffA-Za-z℃+]", behind):
            continue
        if _RANGE.search(before) or _BETWEEN.match(behind):
            continue
        side: Side = "down" if _LESS.search(before) or _LESS_BEHIND.match(behind) else "up"
        percent = _PERCENT.match(behind) is not None and float(found[0].replace(",", "")) <= 100
        bound = _GREATER.search(before) is not None or _GREATER_BEHIND.match(behind) is not None
        most = 99 if percent else float("inf")
        other = other_number(found[0], context.page.numbers, context.rng, side, most, turns=not bound)
        if other is not None:
            yield context.edit("number", found.start(), found.end(), other)
    for found in _HAN_NUMBER.finditer(sentence):
        old = HAN_NUMBERS[found[1]]
        free = [
            word for word, value in HAN_NUMBERS.items()
            if word not in "二十" and value > old and value not in context.page.numbers
        ]  # fmt: skip
        if free:
            yield context.edit("number", found.start(), found.end(), context.rng.choice(free))


def dates(context: AlterationContext) -> Iterator[Edit]:
    """Years and months; the order of a sentence's years stays."""
    sentence, page, rng = context.sentence, context.page, context.rng
    years = [int(found[0]) for found in re.finditer(r"(?<!\d)(?:1[1-9]|20)\d\d(?!\d)", sentence)]
    for found in _YEAR.finditer(sentence):
        year = int(found[0])
        low = max((one for one in years if one < year), default=0)
        high = min((one for one in years if one > year), default=9999)
        before, behind = sentence[: found.start()], sentence[found.end() :]
        if _SPAN.match(behind) or _SPANNED.search(before):
            continue
        back = _BACKWARDS.search(before) or _SINCE.match(behind)
        onwards = _ONWARDS.search(before) or _AFTER.match(behind)
        side: Side | None = "down" if back else "up" if onwards else None
        other = other_year(year, page.numbers, rng, side, low, high)
        if other is not None and not page.has(other):
            yield context.edit("date", found.start(), found.end(), other)
    for found in _MONTH.finditer(sentence):
        months = [str(month) for month in range(1, 13) if not re.search(rf"(?<!\d)0?{month}\s?月", page.text)]
        if re.search(r"29日|30日|31日", sentence):
            months = [month for month in months if month in ("1", "3", "5", "7", "8", "10", "12")]
        if months:
            yield context.edit("date", found.start(1), found.end(1), rng.choice(months))


def is_bound(sentence: str, edit: Edit) -> bool:
    """As in `english`: whether the value that an edit changes is a bound."""
    before, behind = sentence[: edit.start], sentence[edit.start + len(edit.before) :]
    if edit.kind == "date":
        return any(one.search(before) for one in (_BACKWARDS, _ONWARDS)) or any(
            one.match(behind) for one in (_SINCE, _AFTER)
        )
    said = _BOUNDED.search(before) or _LESS_BEHIND.match(behind) or _GREATER_BEHIND.match(behind)
    return edit.kind in ("number", "unit") and said is not None


def units(context: AlterationContext) -> Iterator[Edit]:
    """Units of measure, powers of ten thousand, currencies."""
    for found in _UNIT.finditer(context.sentence):
        grows = _SIZES.get(_UNITS[found[1]], 1.0) > _SIZES.get(found[1], 1.0)
        before, behind = context.sentence[: found.start()], context.sentence[found.end() :]
        if re.search(r"[(（][^)）]{0,12}$", before):
            continue  # a conversion
        if (_MORE.search(before) or _MORE_BEHIND.match(behind)) and not grows:
            continue
        if (_UP_TO.search(before) or _LESS_BEHIND.match(behind)) and grows:
            continue
        yield context.edit("unit", found.start(1), found.end(1), _UNITS[found[1]])


def names(context: AlterationContext) -> Iterator[Edit]:
    """Names of countries, provinces and cities."""
    for name in names_in(context.sentence, context.language):
        other = context.names.other(name, context.page.folded, context.rng)
        if other is not None and context.sentence.count(name.text) == 1:
            yield context.edit("name", name.start, name.end, other)


def negations(context: AlterationContext) -> Iterator[Edit]:
    """A negation put in, or the only one taken out."""
    sentence = context.sentence
    if not _NEGATIVE.search(sentence):
        for pattern, after in _NEGATABLE:
            places = list(pattern.finditer(sentence))
            if len(places) == 1:
                yield context.edit("negation", places[0].start(), places[0].end(), places[0].expand(after))
    elif len(_ALL_NEGATIVES.findall(sentence)) == 1:
        for pattern, after in _NEGATED:
            for found in pattern.finditer(sentence):
                yield context.edit("negation", found.start(), found.end(), after)


def directions(context: AlterationContext) -> Iterator[Edit]:
    """Comparisons, trends and points of the compass turned round."""
    sentence = context.sentence
    found = list(_DIRECTION.finditer(sentence))
    # Of two words of direction, one turned round may leave a sentence that contradicts itself.
    if len(found) == 1 and not _COMPOUND.match(sentence, found[0].end()):
        yield context.edit("direction", found[0].start(), found[0].end(), _DIRECTIONS[found[0][0]])


def scopes(context: AlterationContext) -> Iterator[Edit]:
    """What holds of some said of all, of one among several said of it alone."""
    sentence = context.sentence
    if _NEGATIVE.search(sentence):
        return
    for pattern, wider in _WIDER:
        places = list(pattern.finditer(sentence))
        if len(places) == 1:
            yield context.edit("scope", places[0].start(), places[0].end(), wider)
    found = _ONE_OF.search(sentence)
    if found is not None:
        yield context.edit("scope", found.end(1), found.end(), "")


def causes(context: AlterationContext) -> Iterator[Edit]:
    """Cause and effect changed round, where each is one plain stretch."""
    sentence = context.sentence
    places = list(_CAUSING.finditer(sentence))
    if len(places) == 1 and not _BROUGHT_ABOUT.search(sentence[: places[0].start()]):
        yield context.edit("causal", places[0].start(), places[0].end(), "源于")
    found = _BECAUSE.match(sentence)
    if found is not None and not (_POINTING.search(found[2]) or _POINTING.search(found[4])):
        after = f"{found[1]}{found[4]}，{found[3]}{found[2]}"
        yield context.edit("causal", 0, len(sentence) - 1, after)
    found = _THEREFORE.match(sentence)
    if found is not None and not (_POINTING.search(found[1]) or _POINTING.search(found[3])):
        yield context.edit("causal", 0, len(sentence) - 1, f"{found[3]}，{found[2]}{found[1]}")
