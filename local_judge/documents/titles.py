"""Titles under which reports list their sources.

Invariant: a title only makes a section a candidate; whether it is a list of references is decided by
what it holds. A `clear` title (`References`, `参考文献`) needs less of that than a `vague` one (`Sources`,
`来源`), which may also head a chapter on sources of energy.
"""

from __future__ import annotations

import re
from typing import Literal

Clarity = Literal["clear", "vague"]


def _titles(text: str) -> frozenset[str]:
    return frozenset(title.strip() for title in text.split("|"))


_CLEAR = _titles(
    """
    references | reference | reference list | list of references | bibliography | works cited |
    cited works | literature cited | references cited | cited references | cited sources | sources cited |
    citations | source list | list of sources | endnotes | footnotes | reference links | source links |
    source urls | reference urls | 参考文献 | 参考资料 | 参考来源 | 参考书目 | 参考链接 | 引用文献 |
    引用来源 | 引用资料 | 文献引用 | 参考 | 参考网址 | 參考文獻 | 參考資料 | 參考來源 | 引用文獻 |
    資料來源 | 资料来源 | 文献来源 | 尾注 | 脚注 | 参考文献列表 | 文献列表 | 引文 | 参考网站 | 引用出处 |
    参考文献与资料来源 | referencias | referencias bibliográficas | bibliografía | références |
    références bibliographiques | bibliographie | quellen | quellenverzeichnis | literaturverzeichnis |
    quellenangaben | einzelnachweise | riferimenti | riferimenti bibliografici | bibliografia |
    referências | referências bibliográficas | referenties | bronnen | bronvermelding | bibliografie |
    źródła | referenser | källor | kaynakça | kaynaklar | tài liệu tham khảo | daftar pustaka |
    список литературы | список источников | литература | источники | використані джерела |
    список використаних джерел | 出典 | 参照文献 | 引用元 | 参考サイト | 참고문헌 | 참고 문헌 |
    참고 자료 | 참고자료 | 출처 | المراجع | المصادر | संदर्भ
    """
)
_VAGUE = _titles(
    """
    sources | source | notes | literature | links | works consulted | sources consulted | sources used |
    source notes | evidence sources | data sources | information sources | further reading | web sources |
    数据来源 | 信息来源 | 来源 | 來源 | 引用 | 文献 | 注释 | 注 | 备注 | 链接 | 出处 | 参考阅读 |
    延伸阅读 | fuentes | sources et références | fonti | fontes | literatur | note | notas
    """
)
_PREFIX = re.compile(
    r"^(?:key|selected|primary|main|full|complete|all|external|official|additional|other|major|numbered|the|"
    r"主要|相关|部分|全部|完整|核心|重要|附录[:：]?)\s*"
)
_NUMBERING = re.compile(
    r"^(?:(?:chapter|section|appendix|part)\s+)?"
    r"(?:\d{1,2}(?:\.\d{1,2})*[.)、:：]?\s+|\d{1,2}[.、．]\s*|[ivx]{1,5}[.)]\s+|[a-z][.):]\s+|"
    r"[（(]?[一二三四五六七八九十]{1,3}[)）、.．]\s*|第[一二三四五六七八九十\d]{1,3}[章节部分]+[:：、]?\s*)"
)
_BRACKETED = re.compile(r"\s*[(（\[【][^()（）\[\]]{0,60}[)）\]】]$")
_JOINT = re.compile(r"\s*(?:\band\b|&|/|\+|,|和|与|及|以及|、)\s*")
_LONGEST = 60


def reference_title(line: str) -> Clarity | None:
    """Whether a line is a title of a list of references, and how clearly."""
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
