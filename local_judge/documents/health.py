"""Health of a parsed report: how much of its citations and of its source list was read.

Invariant: the result depends on the document alone. A report that was read in part has a problem, so that it never
looks like a report that cites nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Literal, NamedTuple, cast

from local_judge.base.model import Frozen
from local_judge.documents.author_years import names_work
from local_judge.documents.citation_keys import canonical, known
from local_judge.documents.citation_styles import STYLES
from local_judge.documents.entries import is_bare, key_of
from local_judge.documents.model import BESIDE, Citation, Document
from local_judge.documents.raised_digits import UNIT, opens_word
from local_judge.documents.titles import reference_title
from local_judge.documents.uncertain import NAMING, NUMBERED
from local_judge.documents.words import count_words

ProblemKind = Literal[
    "uncited_list", "dangling_marks", "marks_without_address", "unread_marks", "entries_in_text"
]
"""`uncited_list`: a source list that the text hardly cites. `dangling_marks`: marks that name no entry of a list.
`marks_without_address`: marks of entries without an address. `unread_marks`: text that repeats like marks, and is read
as none. `entries_in_text`: last statements that look like entries of a list."""

LEAST_CITED = 0.2
"""Minimum share of a list's entries that are cited, and of marks per entry, in a list whose marks were read. Of 120
published reports with a list, all whose marks were read are above it in one of the two."""
FEWEST = 3
"""Minimum number of entries of an uncited list beside citations, of unread marks of one shape, and of entries in the
text."""
LONGEST_ENTRY = 25
"""Maximum number of words beside the address of a statement that looks like an entry."""


class Problem(Frozen):
    """One kind of what was not read in a report."""

    kind: ProblemKind
    n: int
    """Number of marks or entries."""
    of: int = 0
    """Number of all marks, or of all entries; 0 for `entries_in_text`."""


class ReportHealth(Frozen):
    """Counts of what was read of a report's citations and source list, and of what was not."""

    language: str
    """ISO 639-1 code of the main language, `und` if unknown."""
    n_sentences: int
    marks: dict[str, int]
    """Citations by style; `[1, 3]` is two."""
    n_resolved: int
    """Citations that lead to an address."""
    dangling: dict[str, int]
    """Citations without an entry, by style."""
    n_without_address: int
    """Citations of entries without an address."""
    n_entries: int
    """Entries of source lists, without uncited sources beside the text unless nothing is cited."""
    n_uncited: int
    """Entries that no citation names."""
    unread: dict[str, int]
    """Text that repeats like marks and is read as none, by shape."""
    n_entries_in_text: int
    """Statements at the end that look like entries of a list."""
    problems: tuple[Problem, ...] = ()


def n_unread_citations(problems: Sequence[Problem]) -> int:
    """Return the number of citations with an unknown source: one for each mark or entry that a problem counts.

    An unread mark and an uncited entry may be the same citation, so that of these two the larger number counts.
    """
    n = {problem.kind: problem.n for problem in problems}
    unmatched = max(n.pop("unread_marks", 0), n.pop("uncited_list", 0))
    return unmatched + sum(n.values())


def check_health(document: Document) -> ReportHealth:
    """Return what of a report's citations and source list was read; computed once for a report."""
    return _check(cast("Hashable", document))  # pyright does not see that `Frozen` models are hashable


@lru_cache(maxsize=64)
def _check(document: Document) -> ReportHealth:
    citations = document.citations
    dangling = Counter(one.style for one in citations if one.state == "dangling")
    unread = _unread_marks(document)
    n_cited = sum(entry.state == "cited" for entry in document.references)
    # A list beside the text often has all sources that an agent opened: only if nothing is cited, the rest counts.
    listed = [
        one for one in document.references if one.section != BESIDE or one.state == "cited" or not n_cited
    ]
    health = ReportHealth(
        language=document.language,
        n_sentences=len(document.sentences),
        marks=dict(sorted(Counter(one.style for one in citations).items())),
        n_resolved=sum(one.state == "resolved" for one in citations),
        dangling=dict(sorted(dangling.items())),
        n_without_address=sum(one.state == "no_url" for one in citations),
        n_entries=len(listed),
        n_uncited=len(listed) - n_cited,
        unread=dict(sorted(unread.items())),
        n_entries_in_text=_entries_in_text(document),
    )
    to_entries = sum(one.reference is not None for one in citations)
    return health.model_copy(update={"problems": tuple(_problems(health, to_entries))})


def _problems(health: ReportHealth, to_entries: int) -> Iterator[Problem]:
    n_marks, n_unread = sum(health.marks.values()), sum(health.unread.values())
    enough = LEAST_CITED * health.n_entries
    hardly_cited = health.n_entries - health.n_uncited < enough and to_entries < enough
    # A short list beside other citations may be further reading; that of a text without any is its source list.
    if hardly_cited and (health.n_entries >= FEWEST or not n_marks):
        yield Problem(kind="uncited_list", n=health.n_uncited, of=health.n_entries)
    if health.dangling:
        yield Problem(kind="dangling_marks", n=sum(health.dangling.values()), of=n_marks)
    if health.n_without_address:
        yield Problem(kind="marks_without_address", n=health.n_without_address, of=n_marks)
    if n_unread:
        yield Problem(kind="unread_marks", n=n_unread, of=n_marks + n_unread)
    if health.n_entries_in_text:
        yield Problem(kind="entries_in_text", n=health.n_entries_in_text)


_HIDDEN = re.compile(
    r"`[^`\n]+`|!\[[^\]\n]*\](?:\([^)\n]*\)|\[[^\]\n]*\])|https?://\S+|\\\(.+?\\\)|\\\[.+?\\\]", re.DOTALL
)
"""Code, images, addresses and formulas, in which nothing is a mark."""
_NAMED = {
    "bracket": re.compile(
        r"[\[【〔［⟦](?P<name>(?:[^\d\s\[\]()][^\d\[\]()\n]{0,13})?)(?!(?:1\d|20)\d\d[a-z]?\W)(?P<key>\d{1,18})"
        r"(?P<more>(?:(?:[\s,;&–-]|and){1,3}(?P=name)\d{1,18}){0,20})(?:[,:†‡][^\[\]【】\n]{0,60})?[\]】〕］⟧](?![(:\[])"
    ),
    "element": re.compile(
        r"<(?P<name>[a-z_:-]{0,20}(?:cite|citation|source|ref|render)[a-z_:-]{0,20})\s(?P<key>[^<>]{1,400})>(?P<more>)"
    ),
}
"""Marks that name a key. A form of a mark occurs several times, with several keys."""
_CITING_NAME = re.compile(
    r"(?<![^\W_])(?:cit(?:e|a|ation)|source|src|ref(?:erence)?|web(?:page|site)?|doc(?:ument)?|search|turn|url|link|bib"
    r"|note|fn|chunk|passage|snippet|evidence|result|quote)s?(?![^\W_])",
    re.IGNORECASE,
)
_ENDS_SENTENCE = re.compile(r"[*_\"”’)]{0,3}\s?(?:[.!?。！？]|$)")
_MID_SENTENCE = re.compile(rf"(?<![^\W\d_])(?:[^\W\d_]{{1,2}}|{NUMBERED})\s$", re.IGNORECASE)
"""Short words and prepositions, whose object follows: `led by [Name 1].`"""
_BLANK = "\N{OBJECT REPLACEMENT CHARACTER}"
_AFTER = rf"(?=[.,;:!?。，；：！？、{_BLANK}]|\s*$|\s+[^\W\d_a-z])"
_MORE = r"(?:[\s,;&–-]{1,3}\d{1,3}(?!\d)){0,20}"
_OPEN, _CLOSE = r"[(（{«‹⟨<]{1,2}", r"[)）}»›⟩>]{1,2}"
_NUMBERED = {
    "round": re.compile(
        rf"(?<=[\w.。”\"{_BLANK}])\s?{_OPEN}(?:(?P<word>[A-Za-z]{{2,10}})[ .:#]{{0,2}})?"
        rf"(\d{{1,3}}{_MORE}){_CLOSE}{_AFTER}"
    ),
    "raised": re.compile(
        rf"(?:<sup>\s?\[?|\^\{{?\[?)(\d{{1,3}}(?!\d){_MORE})(?:\]?(?:\s?</sup>|\}}?\^?\$?))|([⁰¹²³⁴-⁹]{{1,3}})"
    ),
    "circled": re.compile(rf"(?<=[\w.。”])(?:([①-⑳])|※(\d{{1,3}})){_AFTER}"),
    "symbol": re.compile(rf"(?<=[\w.。”\"])\s?[†‡*#§¶^@]{{1,2}}(\d{{1,3}}){_AFTER}"),
    "glued": re.compile(r"(?<=[^\W\d_])[.!?。][”\"’)]?(\d{1,3})(?=\s|$)"),
}
"""Numbers where marks stand. Those of sources begin at 1 and mostly rise, or are keys of the list."""
_LABELLED = re.compile(rf"{_OPEN}(?=[^\d\s])([^()（）{{}}«»<>\n]{{1,60}}){_CLOSE}")
"""Brackets with a word: `(n. 3)`."""
_BRACKET = re.compile(r"[\[(（{]([^\[\]()（）{}\n]{4,300})[)）}\]]")
_DOUBTFUL = {
    shape: re.compile(f"(?:{before})$")
    for shape, before in {
        "round": r"\d|(?<![^\W_])[A-Za-z]{1,2}"
        rf"|(?:(?<![^\W\d_])(?i:{NAMING})\.?|§)\s?(?:(?:\d[\w.–-]*|[IVX]+)\s?)?",
        "raised": rf"\d|(?<![^\W_])[^\W\d_]\$?|(?i:{UNIT.pattern})",
        "circled": r"(?!)",
        "symbol": r"\d|(?<![^\W_])[A-Za-z]{1,2}|(?i:no|top|rank(?:s|ed)?)\s",
        "glued": rf"(?<![^\W_])(?:(?i:{NUMBERED})|[A-Za-z]{{1,2}}|[A-Z]{{3,5}})",
    }.items()
}
"""Text before numbers of no source: `Article 5(1)`, `SU(2)`, `x^2`, `no.1`, `ISO.1`."""
_NUMBERING = re.compile(rf"(?!nn?\.)(?:{NUMBERED})(?![^\W\d_])", re.IGNORECASE)
_BY_ADDRESS = frozenset(name for name, style in STYLES.items() if style.lookup == "address")


def _unread_marks(document: Document) -> Counter[str]:
    """Count the marks of no known style by shape."""
    named: dict[tuple[str, str], list[_Keyed]] = {}
    numbered: dict[str, list[_Numbered]] = {}
    found = Counter[str]()
    labels = frozenset(entry.key for entry in document.references if entry.key is not None)
    by_author = _cites_by_author(document)
    for text in _texts_without_citations(document):
        for shape, pattern in _NAMED.items():
            for match in pattern.finditer(text):
                named.setdefault((shape, match["name"].lower()), []).append(_keyed(text, match))
        for shape, pattern in _NUMBERED.items():
            for match in pattern.finditer(text):
                numbered.setdefault(shape, []).append(_read_numbered(shape, text, match, labels))
        found["labelled"] += sum(_names_entry(content, labels) for content in _LABELLED.findall(text))
        if by_author:
            found["author_year"] += sum(map(names_work, _BRACKET.findall(text)))
    found["cell"] = sum(known(cell, labels) != () for cell in _source_cells(document))
    for (shape, name), keyed in named.items():
        several = len(keyed) >= FEWEST and len({mark.keys[0] for mark in keyed}) > 1
        if several and (shape == "element" or _names_sources(name) or _are_cited(name, keyed)):
            found[shape] += len(keyed)
    for shape, marks in numbered.items():
        found[shape] += _n_of_sources(shape, marks)
    return +found


def _n_of_sources(shape: str, marks: Sequence[_Numbered]) -> int:
    """Return how many numbers of one shape are marks."""
    sure = [mark.number for mark in marks if not mark.doubtful]
    every = [mark.number for mark in marks]
    listed = [mark.number for mark in marks if mark.listed]
    if _are_running(sure):
        return len(sure)
    if 2 * len(sure) > len(every) and _are_running(every):
        return len(every)
    return len(listed) if len(set(listed)) > (shape in ("glued", "symbol")) else 0


def _source_cells(document: Document) -> Iterator[str]:
    """Yield the cells below the titles of sources: `2` below `Source`."""
    columns: set[int] = set()
    for block in document.blocks:
        cells = [cell.strip() for cell in block.text.strip("| ").split("|")]
        if block.kind == "table_header":
            columns = {index for index, cell in enumerate(cells) if _is_title_of_sources(cell)}
        elif block.kind == "table_row" and block.role == "body":
            yield from (cell for index, cell in enumerate(cells) if index in columns)


def _is_title_of_sources(cell: str) -> bool:
    named = canonical(f"{cell} 1") == "1" and not _NUMBERING.match(cell)
    return named or reference_title(cell) is not None


def _cites_by_author(document: Document) -> bool:
    """Check whether the marks are names with years, apart from addresses."""
    styles = {one.style for one in document.citations if one.style not in _BY_ADDRESS}
    return styles == {"author_year"}


def _names_entry(content: str, labels: frozenset[str]) -> bool:
    """Check whether the text of a bracket is a word with the key of an entry: `n. 3`, but not `Table 3`."""
    return known(content, labels) != () and not _NUMBERING.match(content)


class _Keyed(NamedTuple):
    """Mark that names keys."""

    keys: tuple[str, ...]
    ends_sentence: bool


class _Numbered(NamedTuple):
    """Number where a mark stands."""

    number: int
    doubtful: bool
    """True where other numbers than those of sources stand as well."""
    listed: bool
    """True for the key of an entry at the end of a sentence, if it is not doubtful."""


def _keyed(text: str, match: re.Match[str]) -> _Keyed:
    keys = (match["key"], *re.findall(r"\d+", match["more"]))
    return _Keyed(keys, _ends_sentence(text, match.start(), match.end()))


def _ends_sentence(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 40) : start]
    if _ENDS_SENTENCE.match(text, end) is not None and not _MID_SENTENCE.search(before):
        return True
    return before[-1:] in tuple(".!?。！？")


def _names_sources(name: str) -> bool:
    return _CITING_NAME.search(name) is not None or canonical(f"{name}1") == "1" != f"{name}1"


def _are_cited(name: str, marks: Sequence[_Keyed]) -> bool:
    """Check whether marks of a name that says nothing end sentences, and their keys ascend as those of sources do."""
    keys = list(dict.fromkeys(int(key) for mark in marks if mark.ends_sentence for key in mark.keys))
    return len(keys) >= FEWEST and (name != "" or 0 not in keys) and _ascend(keys)


def _read_numbered(shape: str, text: str, match: re.Match[str], labels: frozenset[str]) -> _Numbered:
    opening = match.end() - len(match.group().lstrip())
    word = match.groupdict().get("word") or ""
    if shape == "raised":
        doubtful = opens_word(text, match.start(), match.end())
    else:
        doubtful = re.fullmatch(NUMBERED, word, re.IGNORECASE) is not None
    doubtful = doubtful or _DOUBTFUL[shape].search(text[max(0, opening - 40) : opening]) is not None
    ends = shape == "glued" or (not word and _ends_sentence(text, opening, match.end()))
    written = unicodedata.normalize("NFKC", match[match.lastindex or 0])
    listed = ends and not doubtful and known(written, labels) != ()
    return _Numbered(int(re.split(r"\D", written)[0]), doubtful, listed)


def _texts_without_citations(document: Document) -> Iterator[str]:
    """Yield the sentences with blanks for their citations, and without code, images, addresses and formulas."""
    for sentence in document.sentences:
        parts: list[str] = []
        at, end = sentence.span.start, sentence.span.end
        for span in (document.citation(name).span for name in sentence.citations):
            if at <= span.start < end:
                parts += (document.text[at : span.start], _BLANK)
                at = span.end
        yield _HIDDEN.sub(_BLANK, "".join(parts) + document.text[at:end])


def _are_running(numbers: Sequence[int]) -> bool:
    """Check whether numbers are those of a list of sources in the order of the text, with gaps and repetitions."""
    distinct = list(dict.fromkeys(numbers))
    return (
        len(distinct) >= FEWEST
        and min(distinct) == 1
        and max(distinct) <= 3 * len(distinct)
        and _ascend(distinct)
    )


def _ascend(distinct: Sequence[int]) -> bool:
    return sum(first < second for first, second in pairwise(distinct)) >= 0.8 * (len(distinct) - 1)


def _entries_in_text(document: Document) -> int:
    """Return the number of addresses in the last statements of the last section, if these look like entries of a list.

    Each of them is a title with an address, or begins with a key, and has no mark that names an entry. The statements
    before them cite in another way, or the same addresses.
    """
    words: dict[int, int] = {}
    cited: dict[int, list[Citation]] = {}
    for sentence in document.sentences:
        words[sentence.block] = words.get(sentence.block, 0) + count_words(sentence.text)
        cited.setdefault(sentence.block, []).extend(map(document.citation, sentence.citations))

    section = document.blocks[max(words)].section if words else ()

    def addresses(block: int) -> list[str]:
        return [one.url or one.key for one in cited[block] if one.style in _BY_ADDRESS]

    def is_entry(block: int) -> bool:
        found = addresses(block)
        marks = (one for one in cited[block] if one.style not in _BY_ADDRESS)
        return (
            document.blocks[block].section == section
            and words[block] <= LONGEST_ENTRY * len(found)
            and len(found) > 0
            and all(one.reference is None for one in marks)
            and (is_bare(document.blocks[block].text) or key_of(document.blocks[block].text)[0] is not None)
        )

    last = set(takewhile(is_entry, reversed(words)))
    body = [block for block in words if block not in last]
    listed = {url for block in last for url in addresses(block)}
    before = {url for block in body for url in addresses(block)}
    return len(listed) if body and len(listed) >= FEWEST and (not before or listed <= before) else 0
