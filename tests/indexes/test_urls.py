import json
import random
import re
from pathlib import Path

import pytest

from indexes.urls import UrlError, identifier_url, normalise_url, shown_url

REPORTS = Path(__file__).resolve().parents[2] / "../shared/data/reports"


@pytest.mark.parametrize(
    ("written", "normalised"),
    [
        ("HTTP://WWW.Example.COM:80/a", "https://example.com/a"),
        ("https://example.com:443/", "https://example.com"),
        ("https://example.com:8443/x", "https://example.com:8443/x"),
        ("https://example.com./a/", "https://example.com/a"),
        ("www.example.com/a", "https://example.com/a"),
        ("https://www.com/", "https://www.com"),
        ("https://example.com/a/../b/./c", "https://example.com/b/c"),
        ("https://example.com/A?B=C", "https://example.com/A?B=C"),
        ("https://example.com/?utm_source=openai", "https://example.com"),
        ("https://example.com/p?id=3&utm_source=x&fbclid=y&ref=z", "https://example.com/p?id=3&ref=z"),
        ("https://example.com/p?b=2&a=1", "https://example.com/p?a=1&b=2"),
        ("https://example.com/p?q=z&b&q=a", "https://example.com/p?b&q=z&q=a"),  # two of one name are a list
        ("https://example.com/p%C3%A4\u200bth?a=\u2060%E2%80%8b1\ufeff", "https://example.com/p%C3%A4th?a=1"),
        ("https://fa.wikipedia.org/a\u200cb", "https://fa.wikipedia.org/a%E2%80%8Cb"),  # a letter of the name
        ("https://en.m.wikipedia.org/wiki/Canton", "https://en.wikipedia.org/wiki/Canton"),
        ("https://m.example.org/a", "https://m.example.org/a"),
        ("https://www.youtube.com/watch?v=abc&t=83s", "https://youtube.com/watch?v=abc"),
        ("https://youtu.be/abc?t=83", "https://youtu.be/abc"),
        ("https://example.com/thread?t=83", "https://example.com/thread?t=83"),
        ("https://example.com/p#part", "https://example.com/p"),
        ("https://example.com/p#:~:text=some%20words", "https://example.com/p"),
        ("https://example.com/#!/route", "https://example.com#!/route"),
        ("https://example.com/app#/route:~:text=x", "https://example.com/app#/route"),
        ("https://example.com/%7euser/%e4%b8%ad", "https://example.com/~user/%E4%B8%AD"),
        ("https://zh.wikipedia.org/zh-hans/中產階級", "https://zh.wikipedia.org/zh-hans/%E4%B8%AD%E7%94%A2%E9%9A%8E%E7%B4%9A"),
        ("https://bücher.example/ä b", "https://xn--bcher-kva.example/%C3%A4%20b"),
        ("https://en.wikipedia.org/wiki/Scale_(music)", "https://en.wikipedia.org/wiki/Scale_(music)"),
        ("http://[2001:DB8::1]/x", "https://[2001:db8::1]/x"),
    ],
)  # fmt: skip
def test_trivially_different_forms_are_one(written: str, normalised: str) -> None:
    assert normalise_url(written) == normalised
    assert normalise_url(normalised) == normalised


@pytest.mark.parametrize(
    "written",
    [
        "https://doi.org/10.1000/AbC%2fx",
        "http://dx.doi.org/10.1000/abc%2FX",
        "https://www.doi.org/10.1000/ABC%2Fx/",
    ],
)
def test_doi_addresses_are_one(written: str) -> None:
    assert normalise_url(written) == "https://doi.org/10.1000/abc%2Fx"


@pytest.mark.parametrize(
    "written",
    [
        "http://arxiv.org/abs/2001.08361",
        "https://www.arxiv.org/pdf/2001.08361",
        "https://arxiv.org/pdf/2001.08361.pdf",
        "https://export.arxiv.org/html/2001.08361",
        "https://doi.org/10.48550/arXiv.2001.08361",
    ],
)
def test_arxiv_addresses_are_one_but_versions_stay_apart(written: str) -> None:
    assert normalise_url(written) == "https://arxiv.org/abs/2001.08361"
    assert normalise_url("https://arxiv.org/pdf/2001.08361v2.pdf") == "https://arxiv.org/abs/2001.08361v2"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("doi:10.1000/XYZ", "https://doi.org/10.1000/xyz"),
        ("DOI: 10.1002/(SICI)1097<1::AID>3#2", "https://doi.org/10.1002/(sici)1097%3C1::aid%3E3%232"),
        ("arXiv:2001.08361v3", "https://arxiv.org/abs/2001.08361v3"),
        ("arXiv: hep-th/9901001", "https://arxiv.org/abs/hep-th/9901001"),
        ("https://doi.org/10.1/x", None),
        ("10.1000/xyz", None),
    ],
)
def test_identifiers(text: str, url: str | None) -> None:
    assert identifier_url(text) == url


@pytest.mark.parametrize(
    "written",
    [
        "", "example.com", "ftp://example.com", "mailto:a@b.example", "javascript:alert(1)", "https://", "https:///x",
        "http://user:secret@example.com", "https://exa mple.com", "https://a..b", "http://[::1", "http://x:99999/",
        "https://-/", "file:///etc/passwd", "https://" + "www." * 64 + "example.com",
    ],
)  # fmt: skip
def test_what_is_no_web_address_is_refused_in_one_line(written: str) -> None:
    with pytest.raises(UrlError) as caught:
        normalise_url(written)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_normalising_twice_changes_nothing() -> None:
    draw = random.Random(20)
    alphabet = ["a", "B", "/", "/", ".", "..", "%2F", "%2e", "%zz", "%", "?", "&", "=", "#", "#!", ":~:", "é", "中", " ",  # noqa: E501
                "+", "(", ")", ";", "utm_x=1", "//", "\\", "\u202e", "doi.org/10.1/A", "\u200b",
                "%E2", "%80", "%8B", "%EF%bb", "%BF", "&a=", "&B", "t=1"]  # fmt: skip
    hosts = [
        "example.com",
        "WWW.Example.com",
        "www.www.example.com",
        "arxiv.org",
        "doi.org",
        "bücher.example",
        "a_b.example",
    ]
    for _ in range(5000):
        url = f"http://{draw.choice(hosts)}/" + "".join(draw.choices(alphabet, k=draw.randrange(12)))
        once = normalise_url(url)
        assert normalise_url(once) == once, url
        assert once.isascii()
        assert " " not in once


@pytest.mark.skipif(not REPORTS.exists(), reason="the shared reports are not here")
def test_addresses_of_real_reports() -> None:
    # 30 zh and 30 en reports; each line of their lists is `[n] address - title`.
    rows = [json.loads(line) for line in (REPORTS / "drb/raw.jsonl").read_text(encoding="utf-8").splitlines()]
    written = [url for row in rows for url in re.findall(r"(?m)^\[\d+\]\s*(https?://\S+)", row["article"])]
    normalised = [normalise_url(url) for url in written]
    assert len(written) > 900
    assert all(normalise_url(url) == url for url in normalised)
    # Within a report no two entries fall together: its sources were distinct before and stay so.
    for row in rows:
        urls = re.findall(r"(?m)^\[\d+\]\s*(https?://\S+)", row["article"])
        assert len({normalise_url(url) for url in urls}) == len(set(urls)), row["id"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:secret@example.org/a", "https://…@example.org/a"),
        ("https://secret@example.org", "https://…@example.org"),
        ("https://user:se@cret@example.org", "https://…@example.org"),
        ("https://user:se/cret@example.org/", "https://…@example.org/"),
        ("https://user:" + "secret" * 100 + "@example.org/", "https://…@example.org/"),
        ("https://medium.com/@user/post", "https://medium.com/@user/post"),
        ("https://example.org:8080/@user", "https://example.org:8080/@user"),
        ("https://example.org/" + "a" * 200, "https://example.org/" + "a" * 97 + "..."),
    ],
)
def test_no_password_is_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown
    for given in (url, url.replace("https", "ftp")):
        try:
            normalise_url(given)
        except UrlError as error:
            assert "cret" not in str(error)
