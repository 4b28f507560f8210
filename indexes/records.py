"""`pages.jsonl` of a snapshot: one record a page, in order of URL, texts apart.

Invariant: a record holds all that a `Page` holds but its text, and says where in the text file the text lies.
"""

from __future__ import annotations

from pydantic import ValidationError

from indexes.errors import NotASnapshot
from indexes.manifest import canonical
from indexes.model import Frozen, Page, SourceStatus


class PageRecord(Frozen):
    """One line of a snapshot's `pages.jsonl`."""

    url: str
    original_url: str
    aliases: tuple[str, ...]
    """Normalised URLs that were redirected from or to here."""
    status: SourceStatus
    reason: str
    title: str
    media_type: str
    fetched: str | None
    raw_digest: str
    raw_size: int
    text_digest: str
    offset: int
    """Of the text's first byte in the text file."""
    size: int
    """Bytes of the text in UTF-8."""
    chunks: tuple[tuple[int, int], ...]
    """Character offsets `[start, end)` into the text."""

    def page(self, text: str) -> Page:
        """This record with its text."""
        return Page(
            url=self.url,
            original_url=self.original_url,
            status=self.status,
            reason=self.reason,
            title=self.title,
            text=text,
            text_digest=self.text_digest,
            raw_digest=self.raw_digest,
            media_type=self.media_type,
            fetched=self.fetched,
        )


def render_records(records: list[PageRecord]) -> bytes:
    """The bytes of `pages.jsonl`."""
    return "".join(canonical(record.model_dump()) + "\n" for record in records).encode()


def parse_records(data: bytes, place: str) -> list[PageRecord]:
    """What `render_records` wrote. Raises NotASnapshot, which names `place` and the line."""
    records: list[PageRecord] = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            records.append(PageRecord.model_validate_json(line))
        except ValidationError as error:
            message = error.errors()[0]["msg"]
            raise NotASnapshot(f"{place}:{number}: {message}; import the pages again") from None
    return records
