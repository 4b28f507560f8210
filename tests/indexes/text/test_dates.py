"""When a page was published."""

from __future__ import annotations

import gzip
import json
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import trafilatura

from indexes.text.dates import LATEST, changed_in_html, day_in_pdf, latest_date, published_in_html

PAGES = Path(__file__).resolve().parents[3] / "../shared/data/pages"


def page(head: str, body: str = "") -> Any:
    return trafilatura.load_html(f"<html><head>{head}</head><body><p>Some words.</p>{body}</body></html>")


@pytest.mark.parametrize(
    ("head", "url", "found"),
    [
        ('<meta property="article:published_time" content="2019-11-19T08:30:00Z">', None, "2019-11-19"),
        # The URL goes first, and stands in the page where it is not given.
        ('<meta name="date" content="2019-11-20">', "https://a.example/2019/11/19/news", "2019-11-19"),
        ('<link rel="canonical" href="https://a.example/2019/11/19/news">', None, "2019-11-19"),
        # Publication, not the last change.
        (
            '<meta property="article:modified_time" content="2021-03-04">'
            '<meta property="article:published_time" content="2019-11-19">',
            None,
            "2019-11-19",
        ),
        (
            '<script type="application/ld+json">{"datePublished": "2018-02-03T00:00:00"}</script>',
            None,
            "2018-02-03",
        ),
        # A month alone is its first day, and not today's day of that month.
        ('<meta name="date" content="2019-11">', None, "2019-11-01"),
        ("", "https://a.example/news", None),
        # After the fetch (and not its month instead), and before there was a web.
        ('<meta name="date" content="2020-01-02">', None, None),
        ('<meta name="date" content="1970-01-01">', None, None),
    ],
)
def test_dates_of_html(head: str, url: str | None, found: str | None) -> None:
    assert published_in_html(page(head), url, date(2020, 1, 1)) == found


@pytest.mark.parametrize(
    ("head", "body", "found"),
    [
        (
            '<script type="application/ld+json">{"dateModified": "2020-02-24T05:06:07Z"}</script>',
            "",
            "2020-02-24",
        ),
        ('<meta property="og:updated_time" content="2021-03-04">', "", "2021-03-04"),
        ("", '<time itemprop="dateModified" datetime="2021-03-04T10:00">today</time>', "2021-03-04"),
        ("", "<p>This page was last edited on 23 April 2019, at 12:21 (UTC).</p>", "2019-04-23"),
        ("", "<p>Diese Seite wurde zuletzt am 24. Februar 2020 um 10:11 Uhr bearbeitet.</p>", "2020-02-24"),
        ("", "<p>本页面最后修订于2020年2月24日 (星期一) 10:11</p>", "2020-02-24"),
        ("", "<span>Updated: </span><time>March 3, 2020</time>", "2020-03-03"),
        (
            "",
            "<p>Last updated 1 May 2019.</p><p>Last updated 2 May 2020.</p>",
            "2020-05-02",
        ),  # the latest counts
        ('<meta name="date" content="2020-02-24">', "<p>It was opened on 23 April 2019.</p>", None),
        ("", "<p>Last updated an hour ago.</p>", None),
    ],
)
def test_the_last_change_that_a_page_states(head: str, body: str, found: str | None) -> None:
    assert changed_in_html(page(head, body)) == found


@pytest.mark.parametrize("said", ["3 days ago", "yesterday", "March 5", "19 November", "08:30"])
def test_what_only_today_could_complete_is_no_date(said: str) -> None:
    body = f'<time class="date">{said}</time><span class="published">{said}</span>'
    assert published_in_html(page(f'<meta name="date" content="{said}">', body), None, LATEST) is None


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("D:20191119083000+01'00'", "2019-11-19"),
        ("D:20191119", "2019-11-19"),
        ("20191119083000Z", "2019-11-19"),
        ("D:201911", None),
        ("D:20191319083000", None),
        ("D:20200102", None),  # after the fetch
        ("D:16010101000000", None),  # what some writers put for "unknown"
        ("Tue Nov 19 08:30:00 2019", None),
        ("", None),
    ],
)
def test_dates_of_pdf(made: str, found: str | None) -> None:
    assert day_in_pdf(made, date(2020, 1, 1)) == found


def test_the_bound_is_the_day_of_the_fetch_in_utc() -> None:
    assert latest_date("2019-11-19") == date(2019, 11, 19)
    assert latest_date("2019-11-19T23:30:00Z") == date(2019, 11, 19)
    assert latest_date("2019-11-19T23:30:00-05:00") == date(2019, 11, 20)
    assert latest_date(None) == LATEST
    with pytest.raises(ValueError, match="soon"):
        latest_date("soon")


@pytest.mark.skipif(not PAGES.is_dir(), reason="the real pages are not here")
def test_real_pages_against_the_dates_in_their_urls() -> None:
    """With every address taken out of the page: all 27 get a date, 22 the very day, 26 within a day of it.

    The newspapers' own metadata are in UTC, hence the days beside; the one farther off names its template's date.
    """
    found: list[int] = []
    for line in (PAGES / "pages.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        match = re.search(r"/(20\d\d)/(\d\d)/(\d\d)/", row["url"])
        if match is None:
            continue
        tree: Any = trafilatura.load_html(gzip.decompress((PAGES / row["file"]).read_bytes()))
        for address in tree.xpath('//link[@rel="canonical"] | //meta[@property="og:url" or @name="og:url"]'):
            address.getparent().remove(address)
        said = published_in_html(tree, None, LATEST)
        assert said is not None
        wanted = date(*map(int, match.groups()))
        assert published_in_html(tree, row["url"], LATEST) == wanted.isoformat()
        assert published_in_html(tree, row["url"], wanted - timedelta(days=1)) != wanted.isoformat()
        found.append(abs((date.fromisoformat(said) - wanted).days))
    print(f"{len(found)} with a date in the URL, {found.count(0)} to the day")
    assert len(found) >= 25
    assert found.count(0) >= 0.75 * len(found)
    assert sum(days <= 1 for days in found) >= 0.95 * len(found)
