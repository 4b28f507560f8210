"""Readers of links and bare addresses at one position of a text.

Invariant: every look-ahead is bounded.
"""

from __future__ import annotations

import re

from local_judge.documents.mark_text import Found, Text

_LONGEST_ADDRESS = 4096
_DEEPEST_ADDRESS = 8

TAG = re.compile(r"<(/?[A-Za-z][A-Za-z0-9:-]{0,30})((?:\s[^<>]{0,4096})?)/?>")
_HREF = re.compile(r"""\shref\s?=\s?["']?(https?://[^\s"'<>]+)""", re.IGNORECASE)
_LINKED_NUMBER = re.compile(r"(?:<sup>)?\s?\[?\d{1,4}\]?\s?(?:</sup>)?</a>")
_AUTOLINK = re.compile(r"<(https?://[^\s<>|]{1,4096})(?:\|[^<>\n]{0,300})?>", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
# Within a bare address; square brackets are left to marks and markup, `\[1\]`, `x[1]`, except in its query, `?a[]=1`.
_ESCAPED = r"\\[!#-/:;=?@_~]"
_CHARACTERS = rf"(?:[^\s<>\"`{{}}|\\^“”‘’«»。，；：！？、（）【】《》「」『』［］\[\]?]|{_ESCAPED})"
_ADDRESS = re.compile(
    rf"(https?://|www\.)(?:(?<=//)\[[0-9a-f:.]{{2,45}}\]{_CHARACTERS}*|{_CHARACTERS}+)"
    rf"(?:\?(?:[?]|{_CHARACTERS}|\[{_CHARACTERS}*\])*)?",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(
    rf"(doi ?: ?10\.)\d{{4,9}}/(?:[^\s<>\"`{{}}|\\^“”。，；！？、（）【】]+|{_ESCAPED})+"
    r"|(arxiv ?: ?)(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?",
    re.IGNORECASE,
)
_FILE = r"(?!(?:md|py|rs|sh|pl|js|ts|so|zip|png|jpe?g|gif|svg|webp|pdf|html?|txt|csv|tsv|json|xml|docx?|xlsx?|exe)\b)"
HOST = rf"(?:[a-z0-9](?:[a-z0-9-]{{0,40}}[a-z0-9])?\.){{1,4}}{_FILE}[a-z]{{2,24}}"
"""Host of an address, in lower case; not the name of a file."""
_SCHEMELESS = re.compile(
    rf"(?<![\w@./:-])(?:{HOST}/[^\s|<>\[\]()\"]*"
    rf"|(?:(?<=[|,:;–—(])|(?<=[|.,:;\]–—(] )|(?m:^)){HOST}(?=[).]?\s*(?:\||$)|\s[-–—|]\s))"
)
"""Address without a scheme: a host with a path, or a host that fills a cell or ends a line."""
_HOST = re.compile(rf"(?<![\w@./:-]){HOST}$")
_PATH = re.compile(r"/[^\s|<>\[\]()\"“”，。；、（）]+")
_OPEN = re.compile(r"(?:https?://|www\.)[^\s<>|]*$")
_NEXT = re.compile(r"[\w./?&#=%~+:,;@!$'()*-]+")
_OF_ADDRESS = re.compile(r"[/?&#=%_~+]|\w\.\w|[a-z]-[a-z]|\d[a-z]|[a-z]\d")
_LONG_LINE = 60
_DESTINATION_END = re.compile(rf"{_ESCAPE.pattern}|[\s()]")
_TITLE = re.compile(r"[ \t]{1,8}(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}')[ \t]{0,8}")
_TRAILING = ".,;:!?'\"*_~\\"


def link(text: Text, start: int) -> Found | None:
    """Read a link in Markdown, `[text](address)`."""
    close = text.closing.get(start)
    if close is None or not text.flat.startswith("(", close + 1):
        return None
    target = destination(text.flat, close + 1)
    if target is None:
        return None
    return Found(target[1], target=target[0], shown=text.flat[start + 1 : close])


def anchor(text: Text, start: int) -> Found | None:
    """Read the opening tag of a link in HTML, `<a href="https://…">`, and the number that it links."""
    match = TAG.match(text.flat, start)
    if match is None or match.group(1).lower() != "a":
        return None
    href = _HREF.search(match.group(2))
    number = _LINKED_NUMBER.match(text.flat, match.end())
    return Found((number or match).end(), target=href.group(1)) if href is not None else None


def autolink(text: Text, start: int) -> Found | None:
    """Read an address in angle brackets, with its words in messages of chats: `<https://…|words>`."""
    match = _AUTOLINK.match(text.flat, start)
    return Found(match.end(), target=match.group(1)) if match is not None else None


def address(text: Text, start: int) -> Found | None:
    """Read a bare web address."""
    return _plain(_ADDRESS, text, start)


def hosted(text: Text, start: int) -> Found | None:
    """Read, with doubt, an address without a scheme, `town.example/page`, whose path begins at `start`."""
    host = _HOST.search(text.flat, max(text.floor, start - 100), start)
    path = _PATH.match(text.flat, start) if host is not None else None
    if host is None or path is None:
        return None
    written = _trimmed(host.group() + path.group())
    return Found(host.start() + len(written), target=f"https://{written}", certain=False, start=host.start())


def is_registrable(host: str) -> bool:
    """Check whether a host is below a public suffix, `lakes.energy`; loads the list of suffixes, which takes time."""
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None)(host).suffix != ""


def identifier(text: Text, start: int) -> Found | None:
    """Read a DOI or arXiv id that is introduced as such."""
    return _plain(_IDENTIFIER, text, start)


def unwrapped(text: str) -> str:
    """Return a text with the addresses joined that continue on the next line."""
    first, *others = text.split("\n")
    lines = [first]
    for line in others:
        begun, part = _OPEN.search(lines[-1]), line.strip()
        following = _NEXT.match(part)
        if begun and following and _goes_on(begun.group(), len(lines[-1]), following.group(), part):
            lines[-1] += part
        else:
            lines.append(line)
    return "\n".join(lines)


def _goes_on(begun: str, width: int, following: str, line: str) -> bool:
    """Check whether the first word of a line continues an address at the end of the line above."""
    if following.startswith(("http", "www.")):
        return False
    if begun.endswith(("\u00ad", "-", "_", "=", "?", "&", "%", "://")) or following[0] in "/?&#=%_":
        return True
    alone = following == line.rstrip(".,;)>]") or following == line
    if _OF_ADDRESS.search(following[:-1]) is None:
        return alone and not following[0].isupper() and (begun[-1] == "/" or width >= _LONG_LINE)
    return alone or begun[-1] in "/."


def schemeless(text: str) -> str | None:
    """Return the first address without a scheme, `town.example/page`, in an entry of a source list."""
    match = _SCHEMELESS.search(text)
    return f"https://{_trimmed(match.group())}" if match is not None else None


def _plain(pattern: re.Pattern[str], text: Text, start: int) -> Found | None:
    match = pattern.match(text.flat, start)
    if match is None:
        return None
    written = _trimmed(match.group())
    if len(written) <= len(match[match.lastindex or 1]):
        return None
    return Found(start + len(written), target=_unescaped(written))


def _unescaped(written: str) -> str:
    return _ESCAPE.sub(r"\1", written)


def _trimmed(address: str) -> str:
    """Remove trailing punctuation, and closing brackets that the address did not open."""
    end = len(address)
    surplus = {")": address.count(")") - address.count("("), "]": address.count("]") - address.count("[")}
    while end > 0:
        last = address[end - 1]
        if last in _TRAILING:
            end -= 1
        elif surplus.get(last, 0) > 0:
            surplus[last] -= 1
            end -= 1
        else:
            break
    return address[:end]


def destination(flat: str, start: int) -> tuple[str, int] | None:
    """Read `(address "title")`; return the address, without escapes, and the end of the bracket."""
    limit = min(len(flat), start + _LONGEST_ADDRESS)
    index = start + 1
    while index < limit and flat[index] in " \t\n":
        index += 1
    if index < limit and flat[index] == "<":
        end = flat.find(">", index, limit)
        closed = end > 0 and flat.startswith(")", end + 1)
        return (_unescaped(flat[index + 1 : end]), end + 2) if closed else None
    begin, depth = index, 0
    for match in _DESTINATION_END.finditer(flat, begin, limit):
        index, char = match.start(), match.group()
        if char[0] == "\\":
            continue
        if char == "(":
            depth += 1
            if depth > _DEEPEST_ADDRESS:
                return None
        elif char == ")" and depth:
            depth -= 1
        elif char == ")":
            return _unescaped(flat[begin:index]), index + 1
        else:
            title = _TITLE.match(flat, index)
            after = title.end() if title else index + 1
            return (_unescaped(flat[begin:index]), after + 1) if flat.startswith(")", after) else None
    return None
