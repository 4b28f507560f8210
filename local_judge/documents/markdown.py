"""Markdown parser that returns a flat list of blocks with their positions in the source.

Invariant: `piece.flat[i]` of a block is `text[piece.source(i)]`; no meaningful character of the report is dropped, and
nothing is added.

markdown-it-py finds the block structure. It reports lines, not characters, so that each content line is located as the
tail of its source line: containers (`>`, list markers, indentation) only remove characters at its start. `inline`
parses inline markup, since the library's inline tokens have no positions.

Four CommonMark rules are disabled because reports do not follow them: indented code (mostly the continuation of a list;
`_CODE` tells the rest), link reference definitions (entries of a reference list, which would disappear), underlined
headings of prose (a rule below a paragraph), and raw HTML blocks that include the Markdown after them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from local_judge.documents.model import BlockKind, Span

_NEWLINE = re.compile(r"\r\n?|\n")
_SPACE = re.compile(r"\s+")
_PROSE_END = re.compile(r"[.!?。！？:：\]）)]\s*$")
_EMPTY_LINE = re.compile(r"\r?\n[ \t]*\r?\n")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_CITED_FENCE = re.compile(r"^([ \t>]*(?:`{3,}|~{3,}))[ \t]+((?:\[\d[^\[\]\n]*\][ \t]*)+)$", re.MULTILINE)
_MOST_UNCLOSED = 3
_HTML = re.compile(r"</?[A-Za-z][A-Za-z0-9-]{0,30}(?=[\s/>])|<!--")
_INDENT = re.compile(r" {4}|\t| {1,3}\t|\s*$")
_CODE = re.compile(
    r"(?![\[(<|\\]|.*https?:|.*[.!?。！？][)\"”’*_]*(?: ?\[[^\[\]]*\])*$)"
    r"(?:[}\])]|\$ |.*?(?:= ?[^\s=]|[A-Za-z0-9_]\([^()]*\)|[{}]$|->))"
)
"""Start of a line with a sign of code that does not end as a sentence does."""
_LONGEST_CODE = 160
_LETTER = re.compile(r"[^\W\d_]")
_LONGEST_UNDERLINED_HEADING = 120
_DEEPEST = 60
"""Maximum depth of nested lists and quotes; the library omits deeper ones, which become paragraphs here."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one block without its containers' markers: lines of the source, joined by newlines."""

    flat: str
    starts: tuple[int, ...]
    """Offset of each line in `flat`."""
    origins: tuple[int, ...]
    """Offset of each of these lines in the source."""

    def source(self, index: int) -> int:
        """Return the source offset of `flat[index]`."""
        line = bisect_right(self.starts, index) - 1
        return self.origins[line] + index - self.starts[line]

    def span(self, start: int, end: int) -> Span:
        """Return the source range of `flat[start:end]`, which must not be empty."""
        return Span(start=self.source(start), end=self.source(end - 1) + 1)

    def cut(self, start: int, end: int) -> Piece:
        """Return the piece for `flat[start:end]`."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, max(start, end - 1)) - 1
        starts = [max(self.starts[i], start) for i in range(first, last + 1)]
        origins = [
            self.origins[i] + s - self.starts[i] for i, s in zip(range(first, last + 1), starts, strict=True)
        ]
        return Piece(self.flat[start:end], tuple(s - start for s in starts), tuple(origins))


@dataclass(frozen=True, slots=True)
class RawBlock:
    """Block without a role."""

    kind: BlockKind
    piece: Piece
    level: int = 0
    marker: str = ""
    """Number of an ordered list's item as written, else empty."""


def squeezed(text: str) -> str:
    """Replace each run of white space by one space, and strip the ends."""
    return _SPACE.sub(" ", text).strip()


def parse_blocks(text: str, start: int = 0, end: int | None = None) -> list[RawBlock]:
    """Return the blocks of `text[start:end]`, in reading order, with offsets into `text`."""
    stop = len(text) if end is None else end
    blocks = _Walk(text, start, stop).blocks()
    for _ in range(_MOST_UNCLOSED):
        if not blocks or not _is_unclosed(blocks[-1]):
            break
        # An unclosed fence would turn the rest of the report into code: it ends at its first empty line.
        code = blocks.pop()
        body = _EMPTY_LINE.search(code.piece.flat)
        kept = len(code.piece.flat) if body is None else body.start()
        blocks.append(RawBlock("code", code.piece.cut(0, kept)))
        if body is None:
            break
        blocks.extend(_Walk(text, code.piece.source(body.end()), stop).blocks())
    return blocks


def _is_unclosed(block: RawBlock) -> bool:
    if block.kind != "code":
        return False
    first, _, rest = block.piece.flat.partition("\n")
    fence = _FENCE.match(first)
    last = rest.rpartition("\n")[2].strip(" \t>")
    return fence is not None and not (last and set(last) == {fence[1][0]} and len(last) >= len(fence[1]))


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST})
    parser.enable("table").disable(["code", "reference", "html_block"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


_PARSER = _parser()


class _Walk:
    """One pass over the library's tokens."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        part = text[start:end]
        # "``` [21]" cites the code above it; the library would read it as a new block or as code.
        self._tails = {match.start(2) + start: match.end(2) + start for match in _CITED_FENCE.finditer(part)}
        self._tokens = _PARSER.parse(_CITED_FENCE.sub(r"\1", part))
        self._lines: list[tuple[int, int]] = []
        position = 0
        for match in _NEWLINE.finditer(part):
            self._lines.append((start + position, start + match.start()))
            position = match.end()
        self._lines.append((start + position, end))
        self._lists = 0
        self._quotes = 0
        self._marker = ""
        self._covered: set[int] = set()

    def blocks(self) -> list[RawBlock]:
        found = list(self._found())
        left = list(self._left_out())
        return sorted(found + left, key=lambda block: block.piece.origins[0]) if left else found

    def _left_out(self) -> Iterator[RawBlock]:
        for number, (start, end) in enumerate(self._lines):
            line = self._text[start:end]
            if number not in self._covered and _LETTER.search(line):
                at = len(line) - len(line.lstrip())
                yield RawBlock("paragraph", Piece(line.strip(), (0,), (start + at,)))

    def _found(self) -> Iterator[RawBlock]:
        index = 0
        while index < len(self._tokens):
            token = self._tokens[index]
            if token.map and token.type in ("inline", "fence", "tr_open"):
                self._covered.update(range(*token.map))
            if token.type == "tr_open":
                index, row = self._row(index)
                yield row
                continue
            yield from self._block(token, index)
            index += 1

    def _block(self, token: Token, index: int) -> Iterator[RawBlock]:
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._lists += 1
            case "bullet_list_close" | "ordered_list_close":
                self._lists -= 1
            case "blockquote_open":
                self._quotes += 1
            case "blockquote_close":
                self._quotes -= 1
            case "list_item_open":
                self._marker = token.info
            case "fence":
                yield from self._code(token)
            case "inline":
                yield from self._inline(token, self._tokens[index - 1])
            case _:
                pass

    def _inline(self, token: Token, opening: Token) -> Iterator[RawBlock]:
        piece = self._piece(token)
        if piece is None:
            return
        if opening.type == "heading_open" and not _underlined_prose(opening, token):
            yield RawBlock("heading", piece, int(opening.tag[1]))
            return
        marker, self._marker = self._marker, ""
        if self._quotes:
            yield RawBlock("quote", piece, 0, marker)
        elif self._lists:
            yield RawBlock("list_item", piece, self._lists, marker)
        elif _HTML.match(token.content):
            yield RawBlock("html", piece)
        else:
            yield RawBlock("code" if self._is_code(token, piece) else "paragraph", piece)

    def _is_code(self, token: Token, piece: Piece) -> bool:
        """Check whether a paragraph is indented code: reports also indent lists, entries and first lines."""
        assert token.map is not None
        if not all(_INDENT.match(self._text, *line) for line in self._lines[slice(*token.map)]):
            return False
        lines = [line.rstrip() for line in piece.flat.split("\n")]
        signs = sum(len(line) <= _LONGEST_CODE and _CODE.match(line) is not None for line in lines)
        return 2 * signs >= len(lines)

    def _piece(self, token: Token) -> Piece | None:
        """Locate each line of an inline token as the tail of its source line."""
        assert token.map is not None
        first = token.map[0]
        parts: list[str] = []
        starts: list[int] = []
        origins: list[int] = []
        length = 0
        contents = token.content.split("\n")
        # A line of ideographic spaces begins a paragraph, but the library strips it from the content.
        while first + len(contents) < token.map[1] and not self._holds(first, contents[0]):
            first += 1
        for number, content in enumerate(contents):
            start, end = self._lines[first + number]
            line = self._text[start:end]
            wanted = content.strip()
            at = len(line.rstrip()) - len(wanted)
            if at < 0 or not line.startswith(
                wanted, at
            ):  # a heading's closing #s, a tab that counted as spaces
                at = max(line.find(wanted), 0)
            # Trailing spaces stay: two of them are a hard line break.
            kept = line[at:] if wanted and line[at:].rstrip() == wanted else wanted
            if not kept and not parts:
                continue
            starts.append(length)
            origins.append(start + at)
            parts.append(kept)
            length += len(kept) + 1
        flat = "\n".join(parts).rstrip()
        return Piece(flat, tuple(starts), tuple(origins)) if flat else None

    def _holds(self, line: int, content: str) -> bool:
        start, end = self._lines[line]
        return content.strip() in self._text[start:end]

    def _code(self, token: Token) -> Iterator[RawBlock]:
        assert token.map is not None
        first, last = token.map
        start, line_end = self._lines[first]
        start += len(self._text[start:line_end]) - len(self._text[start:line_end].lstrip())
        line_start, end = self._lines[min(last, len(self._lines)) - 1]
        tail = next((at for at in self._tails if line_start < at < end), end)
        flat = self._text[start:tail].rstrip()
        yield RawBlock("code", Piece(flat, (0,), (start,)))
        if tail < end:
            yield RawBlock("paragraph", Piece(self._text[tail:end].rstrip(), (0,), (tail,)))

    def _row(self, index: int) -> tuple[int, RawBlock]:
        """Return the index after a table's row, and the row: its source line without outer white space."""
        token = self._tokens[index]
        assert token.map is not None
        start, end = self._lines[token.map[0]]
        header = False
        while self._tokens[index].type != "tr_close":
            header = header or self._tokens[index].type == "th_open"
            index += 1
        line = self._text[start:end]
        bar = line.find("|")
        lead = len(line) - len(line.lstrip(" \t>"))
        at = min(lead, bar) if bar >= 0 else lead
        flat = line[at:].rstrip()
        kind: BlockKind = "table_header" if header else "table_row"
        return index + 1, RawBlock(kind, Piece(flat, (0,), (start + at,)))


def _underlined_prose(opening: Token, token: Token) -> bool:
    """Check whether an underlined heading is a paragraph above a horizontal rule."""
    if opening.markup not in ("-", "="):
        return False
    content = token.content
    return "\n" in content or len(content) > _LONGEST_UNDERLINED_HEADING or bool(_PROSE_END.search(content))


def heading_path(blocks: Sequence[RawBlock]) -> list[tuple[int, ...]]:
    """Return for each block the indexes of the headings of its sections, outermost first."""
    paths: list[tuple[int, ...]] = []
    stack: list[int] = []
    for index, block in enumerate(blocks):
        heading = block.kind == "heading"
        while heading and stack and blocks[stack[-1]].level >= block.level:
            stack.pop()
        paths.append(tuple(stack))
        if heading:
            stack.append(index)
    return paths
