"""Sources in the row of a report: the value of its key `sources`, in the shapes of search APIs.

    ["https://…"]                                       Perplexity, xAI: `citations`; gpt-researcher
    [{"url": "https://…", "title": "…"}]                OpenAI: `annotations`; Perplexity: `search_results`
    {"1": "https://…", "kim2024": {"url": "…"}}         marks of the text, and what they stand for
    {"groundingChunks": […], "groundingSupports": […]}  Gemini: `groundingMetadata`
    {"url_to_unified_index": {…}, "url_to_info": {…}}   STORM: `url_to_info.json`

Invariants: a value of another type is refused by its name; the key of a listed source is its position. OpenAI and
Gemini name the part of the text that a source belongs to: a link is inserted at its end, unless the text has one there.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, Self, cast
from urllib.parse import quote

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from local_judge.base.errors import InputError, brief, first_problem
from local_judge.base.rows import is_text
from local_judge.documents import Source

MAX_SOURCES = 10_000
"""Maximum number of sources and of places of a report; agents return some hundreds."""

_Text = Annotated[str, Field(min_length=1, max_length=4_096)]
_Index = Annotated[int, Field(ge=0)]
_Many = Field(max_length=MAX_SOURCES)


class SourcedReport(NamedTuple):
    """Text of a report, and the sources that accompany it."""

    text: str
    sources: tuple[Source, ...]


def read_sources(value: object, report: str, place: str) -> SourcedReport:
    """Return a report with the sources of its row.

    Args:
        value: value of the row's `sources`.
        report: the text.
        place: file and line of the row.

    Raises:
        InputError: the value, or a part of it, has another type or is too long, or names a part that the text lacks.
    """
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # a row of the Python interface
        raise InputError(f"{place}: sources: not JSON; give lists, objects and texts") from None
    if not is_text(text):
        raise InputError(f"{place}: sources: contains a lone surrogate, which cannot be written as UTF-8")
    keys = cast("dict[str, object]", value).keys() if isinstance(value, dict) else set[str]()
    try:
        if keys & {"groundingChunks", "grounding_chunks"}:
            return _Grounding.model_validate(value).read(report)
        if "url_to_unified_index" in keys:
            return _Storm.model_validate(value).read(report)
        shape = _Keyed if isinstance(value, dict) else _Listed
        return shape.model_validate({"sources": value}).read(report)
    except ValidationError as error:
        raise InputError(f"{place}: {first_problem(error, 'sources')}") from None
    except ValueError as error:
        raise InputError(f"{place}: {error}") from None


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class _Item(_Shape):
    """One source: an address, or an object with one."""

    url: _Text = Field(validation_alias=AliasChoices("url", "uri", "address"))
    title: _Text | None = None
    key: _Text | _Index | None = None
    start_index: _Index | None = None
    end_index: _Index | None = None

    @model_validator(mode="before")
    @classmethod
    def _unwrapped(cls, value: object) -> object:
        if not isinstance(value, dict):
            return {"url": value} if isinstance(value, str) else value
        fields = {key: one for key, one in cast("dict[str, object]", value).items() if one not in (None, "")}
        inner = fields.get("url_citation")  # of a chat completion
        return fields | cast("dict[str, object]", inner) if isinstance(inner, dict) else fields

    def source(self, key: str) -> Source:
        return Source(key=key if self.key is None else str(self.key), address=self.url, title=self.title)


class _Keyed(_Shape):
    sources: Annotated[dict[_Text, _Item], _Many]

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        address = next((key for key in self.sources if key.startswith(("http://", "https://"))), None)
        if address is not None:
            raise ValueError(
                f"sources: a key must be a mark, and its value the address (got {brief(address)})"
            )
        return self

    def read(self, report: str) -> SourcedReport:
        return SourcedReport(report, tuple(item.source(key) for key, item in self.sources.items()))


class _Listed(_Shape):
    sources: Annotated[list[_Item | None], _Many]

    @model_validator(mode="before")
    @classmethod
    def _without_files(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Return the list with None for each annotation of a file, which has no address."""
        sources: object = value["sources"]
        if not isinstance(sources, list):
            return value
        return {"sources": [None if _is_file(one) else one for one in cast("list[object]", sources)]}

    def read(self, report: str) -> SourcedReport:
        sources: list[Source] = []
        annotated: dict[str, Source] = {}
        places: list[tuple[int, str]] = []
        for number, item in enumerate(self.sources, 1):
            if item is None:
                continue
            if item.start_index is None or item.end_index is None:
                sources.append(item.source(str(number)))
                continue
            if not item.start_index <= item.end_index <= len(report):
                raise ValueError(f"sources.{number - 1}: no part of the report ends at {item.end_index}")
            source = annotated.setdefault(item.url, item.source(str(number)))
            if item.url not in report[item.start_index : item.end_index + 2]:
                places.append((item.end_index, _link(source)))
        return SourcedReport(_inserted(report, places), (*sources, *annotated.values()))


def _is_file(value: object) -> bool:
    kind = cast("dict[str, object]", value).get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind.endswith(("_citation", "_path")) and kind != "url_citation"


class _Chunk(_Shape):
    """Gemini's source; that of a map or a file has no address."""

    web: _Item | None = None
    context: _Item | None = Field(
        None, validation_alias=AliasChoices("retrievedContext", "retrieved_context")
    )


class _Segment(_Shape):
    """Part of the text, in bytes of UTF-8."""

    start: _Index | None = Field(None, validation_alias=AliasChoices("startIndex", "start_index"))
    end: _Index = Field(validation_alias=AliasChoices("endIndex", "end_index"))
    text: str | None = None


class _Support(_Shape):
    segment: _Segment
    chunks: Annotated[list[_Index], _Many] = Field(
        validation_alias=AliasChoices("groundingChunkIndices", "grounding_chunk_indices")
    )


class _Grounding(_Shape):
    chunks: Annotated[list[_Chunk], _Many] = Field(
        validation_alias=AliasChoices("groundingChunks", "grounding_chunks")
    )
    supports: Annotated[list[_Support], _Many] | None = Field(
        None, validation_alias=AliasChoices("groundingSupports", "grounding_supports")
    )

    def read(self, report: str) -> SourcedReport:
        items = [chunk.web or chunk.context for chunk in self.chunks]
        sources = {index: item.source(str(index + 1)) for index, item in enumerate(items) if item is not None}
        data = report.encode("utf-8", "surrogatepass")
        places: list[tuple[int, Source]] = []
        for number, support in enumerate(self.supports or ()):
            segment = support.segment
            part, after = data[segment.start or 0 : segment.end], data[segment.end : segment.end + 1]
            is_cut = segment.end > len(data) or b"\x80" <= after < b"\xc0"  # outside, or within a character
            if is_cut or (segment.text is not None and segment.text.encode() != part):
                raise ValueError(
                    f"sources.groundingSupports.{number}: its segment is not a part of the report"
                )
            places += [(segment.end, sources[index]) for index in support.chunks if index in sources]
        ends = {0: 0}  # bytes to characters
        for begin, end in pairwise(sorted({0, *(end for end, _ in places)})):
            ends[end] = ends[begin] + len(data[begin:end].decode("utf-8", "surrogatepass"))
        text = _inserted(report, [(ends[end], _link(source)) for end, source in places])
        return SourcedReport(text, tuple(sources.values()))


class _Titled(_Shape):
    title: str | None = None


class _Storm(_Shape):
    url_to_unified_index: Annotated[dict[_Text, _Index], _Many]
    url_to_info: dict[str, _Titled] = {}

    def read(self, report: str) -> SourcedReport:
        titles = {address: info.title for address, info in self.url_to_info.items()}
        return SourcedReport(
            report,
            tuple(
                Source(key=str(number), address=address, title=titles.get(address) or None)
                for address, number in self.url_to_unified_index.items()
            ),
        )


_ENDS_LINK = re.compile(r"[<>\\\s\x00-\x1f\x7f]")
"""Characters that end a link in Markdown, or escape its end."""


def _link(source: Source) -> str:
    address = _ENDS_LINK.sub(lambda match: quote(match[0]), source.address)
    return f"[{source.key}](<{address}>)"


def _inserted(text: str, places: list[tuple[int, str]]) -> str:
    """Return the text with a link at each place, in order."""
    parts: list[str] = []
    begin = 0
    for end, link in sorted(places, key=lambda place: place[0]):
        parts += [text[begin:end], link]
        begin = end
    return "".join([*parts, text[begin:]])
