"""Dates of a page's publication and of its last change, as the page states them.

Invariant: a date is a function of the page, its URL, the time of fetching and the versions recorded in the manifest.
The wall clock does not enter it. It is never outside `EARLIEST` to `LATEST`, nor is a publication later than the fetch.

The date of HTML comes from the URL (`/2019/11/19/`), else from the page's metadata and markup, as htmldate reads them.
Its last change is the latest of all that the page states: schema.org's `dateModified`, `<meta>`, and words such as
"last edited on 24 February 2020". A PDF says when it was made and changed. Dates are as written there, in whatever time
zone that was.

htmldate's extensive search is off: of 120 real pages it dates one more than the 119 that have a date without it, by
guessing from the text, and none of the 32 whose URL gives the day better (with the URL hidden: 25 to the day and 31 to
within a day, both ways). It is also the part that asks a parser which fills in what is missing from today's date.
"""

from __future__ import annotations

import importlib
import logging
import re
import warnings
from collections import deque
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any

EARLIEST = date(1995, 1, 1)
LATEST = date(2099, 12, 31)
"""The bound where the time of fetching is not known: a fixed one, so that no result changes with the day."""

logging.getLogger("htmldate").setLevel(logging.CRITICAL)  # what it cannot read is no news

warnings.filterwarnings("ignore", module="dateutil")

_htmldate: Any = importlib.import_module("htmldate")  # its trees have no types
_extractors: Any = importlib.import_module("htmldate.extractors")
# "2019-11" would become a day of November 2019 that depends on today's; the first is what htmldate itself takes for
# all other ways to write a month.
_extractors.dateutil_parse = partial(_extractors.dateutil_parse, default=datetime(2000, 1, 1))  # noqa: DTZ001

_NO_PAGE: Any = importlib.import_module("lxml.html").fromstring("<html><body></body></html>")
_CHANGED_META = frozenset(
    {
        "article:modified_time",
        "og:article:modified_time",
        "og:updated_time",
        "og:modified_time",
        "last-modified",
    }
    | {"lastmod", "last_modified", "modified", "datemodified", "date_modified", "dateupdated", "updated_time"}
    | {"dcterms.modified", "dc.modified", "dc.date.modified", "revised"}
)
_CHANGED_JSON = re.compile(r'"dateModified"\s*:\s*"([^"]{4,40})"')
_CHANGED_WORDS = re.compile(
    r"(?:last|most recently) (?:edited|modified|updated|changed|revised)\b"
    r"|\n[ \t]{0,9}updated\b|last update\b"
    r"|zuletzt (?:bearbeitet|geändert|aktualisiert)|wurde zuletzt|letzte (?:änderung|aktualisierung)"
    r"|dernière (?:modification|mise à jour)|última (?:edición|actualización|modificación|atualização|edição)"
    r"|por última vez|pela última vez|ultim[ao] (?:modifica|aggiornamento)|modificata per l'ultima volta"
    r"|(?:voor het )?laatst (?:bewerkt|bijgewerkt|gewijzigd)|последн(?:ее|яя) (?:изменение|редактирование|обновление)"
    r"|最后(?:修订|编辑|更新)|最後(?:修訂|編輯|更新)|最終更新|更新(?:时间|日期|於|于)",
    re.IGNORECASE,
)
_HAN_DATE = re.compile(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日")
_YEAR = re.compile(r"(?<![0-9])(?:199|20[0-9])[0-9](?![0-9])")
_MOST_YEARS = 5_000
"""Years near which the words are looked for, the last of a page: its foot says when it was changed."""
_BEFORE_YEAR, _BEHIND_YEAR = 100, 10
"""Characters in which the words and the rest of the date stand. Years are few, which saves time."""
_PDF_DATE = re.compile(r"\s*(?:D:)?(\d{4})(\d{2})(\d{2})")


def latest_date(fetched: str | None) -> date:
    """The day of the fetch in UTC, `LATEST` where it is not known.

    Args:
        fetched: ISO 8601 time, UTC unless it says otherwise.

    Raises:
        ValueError: it is none.
    """
    if fetched is None:
        return LATEST
    at = datetime.fromisoformat(fetched)
    return min(LATEST, (at if at.tzinfo is None else at.astimezone(UTC)).date())


def date_in_url(url: str) -> str | None:
    """The date that `published_in_html` takes from an address before it looks at the page."""
    return _find_date(_NO_PAGE, url)


def _find_date(tree: Any, url: str | None) -> str | None:
    return _htmldate.find_date(
        tree,
        extensive_search=False,
        original_date=True,
        url=url,
        min_date=datetime.combine(EARLIEST, time.min),
        max_date=datetime.combine(LATEST, time.max),
    )


def published_in_html(tree: Any, url: str | None, latest: date) -> str | None:
    """The date of an HTML page as `YYYY-MM-DD`, None where it has none that holds.

    Args:
        tree: the page as lxml parsed it; it is not changed.
        url: of the page; where it is None, the page's own canonical link stands for it.
        latest: see `latest_date`.
    """
    found = _find_date(tree, url)
    # The library, told of the fetch, would cut a day too late down to its month, which is a date that no one wrote.
    return found if found is not None and found <= latest.isoformat() else None


def changed_in_html(tree: Any) -> str | None:
    """Return the latest day, as `YYYY-MM-DD`, of which an HTML page says that it was changed; None if it says none.

    Args:
        tree: the page as lxml parsed it; it is not changed.
    """
    stated: list[str] = []
    for script in tree.iter("script"):
        if "json" in (script.get("type") or ""):
            stated += _CHANGED_JSON.findall(script.text or "")
    for element in tree.xpath("//meta[@content] | //*[@itemprop='dateModified']"):
        names = {(element.get(name) or "").lower() for name in ("name", "property", "itemprop", "http-equiv")}
        if names & _CHANGED_META:
            stated.append(element.get("content") or element.get("datetime") or element.text_content())
    text = "\n" + "\n".join(tree.xpath("//body//text()[not(parent::script or parent::style)]"))
    for year in deque(_YEAR.finditer(text), maxlen=_MOST_YEARS):
        near = text[max(0, year.start() - _BEFORE_YEAR) : year.end() + _BEHIND_YEAR]
        if ends := [words.end() for words in _CHANGED_WORDS.finditer(near)]:
            stated.append(near[ends[-1] :])
    return max(filter(None, map(_day, stated)), default=None)


def _day(stated: str) -> str | None:
    if han := _HAN_DATE.search(stated):
        stated = "-".join(part.zfill(2) for part in han.groups())
    earliest, latest = (datetime.combine(day, time.min) for day in (EARLIEST, LATEST))
    return _extractors.custom_parse(" ".join(stated.split()), "%Y-%m-%d", earliest, latest)


def day_in_pdf(stated: str, latest: date = LATEST) -> str | None:
    """The day of a date in a PDF's information (`D:20191119...`), None where that does not hold."""
    match = _PDF_DATE.match(stated)
    if match is None:
        return None
    try:
        found = date(*map(int, match.groups()))
    except ValueError:
        return None
    return found.isoformat() if EARLIEST <= found <= latest else None
