"""Pages that stand in front of pages, and pages that only speak of them."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from indexes.text.decode import decode
from indexes.text.facts import read_facts
from indexes.text.walls import arrival, recognise

from .site import PROSE, Web, article, redirect, reply

PAGES = Path(__file__).resolve().parents[3] / "../shared/data/pages"


def page(title: str, body: str, head: str = "") -> bytes:
    return f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>".encode()


NOT_FREE = (
    '<script type="application/ld+json">{"@type": "NewsArticle", "isAccessibleForFree": "False"}</script>'
)
WALLS = [
    (
        page("Just a moment...", '<script src="/cdn-cgi/challenge-platform/h/b/x.js"></script>'),
        "Cloudflare challenge",
    ),
    (
        page("Attention Required! | Cloudflare", "<h1>Sorry, you have been blocked</h1>"),
        "Cloudflare challenge",
    ),
    (page("example.test", "<script>window._cf_chl_opt={cvId:'3'}</script>"), "Cloudflare challenge"),
    (
        page(
            "Access Denied",
            "You don't have permission. Reference&#32;&#35;18.4 https://errors.edgesuite.net/18.4",
        ),
        "Akamai refusal",
    ),
    (page("", '<iframe src="/_sec/verify?provider=interstitial"></iframe>'), "Akamai challenge"),
    (page("site", "<script src='https://ct.captcha-delivery.com/c.js'></script>"), "DataDome captcha"),
    (
        page("site", "<script>var dd={'rt':'c','host':'geo.captcha-delivery.com'}</script>"),
        "DataDome captcha",
    ),
    (
        page("Denied", "<script>window._pxAppId='P';a.src='/P/captcha/captcha.js'</script>"),
        "PerimeterX captcha",
    ),
    (
        page("Access to this page has been denied", '<div id="px-captcha"></div>Press & Hold'),
        "PerimeterX captcha",
    ),
    (page("", '<script src="/_Incapsula_Resource?SWJIYLWA=7"></script>'), "Imperva challenge"),
    (page("", '<script src="https://a.token.awswaf.com/a/challenge.js"></script>'), "AWS WAF challenge"),
    (
        page("DDoS-Guard", "<p>Checking your browser</p><a href=https://ddos-guard.net>x</a>"),
        "DDoS-Guard challenge",
    ),
    (
        page("Oh noes!", '<script id="anubis_challenge" type="application/json">{}</script>'),
        "Anubis challenge",
    ),
    (page("Robot check", "<p>Please verify you are a human</p><div class=g-recaptcha></div>"), "a captcha"),
    (page("百度安全验证", "<p>请完成验证</p><script src=/captcha.js></script>"), "a captcha"),
    (page("Shop", "<noscript>Please enable JavaScript</noscript><div id=app></div>"), "asks for JavaScript"),
    (page("X", "<p>JavaScript is not available. Switch to a supported browser.</p>"), "asks for JavaScript"),
    (page("Seite nicht gefunden - Stadt", "<p>Zur Startseite</p>"), "a soft 404"),
    (page("Stadt", "<h1>Oops</h1><p>The page you requested could not be found.</p>"), "a soft 404"),
    (page("404 | Stadt", f"<ul>{'<li>Rathaus und Verwaltung</li>' * 30}</ul><p>Oops</p>"), "a soft 404"),
    (page("Bevor Sie zu Google weitergehen", "<p>Alle akzeptieren</p>"), "a consent form"),
    (
        page("DPG Media Privacy Gate", "<p>We use cookies to measure how you read our news.</p>"),
        "a consent form",
    ),
    (page("", "<p>Checking your browser before accessing a.test.</p>"), "a bot check"),
    (
        page(
            "https://www.google.com/search",
            "<p>Our systems have detected unusual traffic from your computer network.</p><p>Solving the above CAPTCHA"
            " will let you continue to use our services.<br>This traffic may have been sent by malicious software, a"
            " plug-in, or a script.</p>",
        ),
        "a captcha",
    ),
    (page("News", f"<p>{PROSE * 3}</p>", NOT_FREE), "a paywall (it calls itself not free and shows 25"),
]


@pytest.mark.parametrize(("body", "name"), WALLS)
@pytest.mark.parametrize("status", ["200 OK", "403 Forbidden", "503 Service Unavailable"])
async def test_walls_are_recognised(web: Web, body: bytes, name: str, status: str) -> None:
    web.site.routes["a.test/"] = reply(body, status)
    found = await web.capture("a.test/", attempts=1)
    assert found.outcome == "blocked"
    assert name in found.reason
    assert found.reason.startswith("" if status == "200 OK" else f"HTTP {status}: ")
    assert found.exchanges[-1].body == body


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("cf-mitigated: challenge", "Cloudflare challenge"),
        ("x-amzn-waf-action: captcha", "AWS WAF challenge"),
    ],
)
async def test_a_header_says_it_alone(web: Web, field: str, name: str) -> None:
    web.site.routes["a.test/"] = reply(article(), "202 Accepted", field)
    found = await web.capture("a.test/")
    assert (found.outcome, found.reason) == ("blocked", f"a{'n' if name[0] == 'A' else ''} {name}")


@pytest.mark.parametrize("body", [body for body, _ in WALLS if b"ld+json" not in body])
async def test_an_article_about_a_wall_is_none(web: Web, body: bytes) -> None:
    """The same marks in a page with text."""
    web.site.routes["a.test/"] = reply(body.replace(b"<body>", f"<body><p>{PROSE * 30}</p>".encode()))
    assert (await web.capture("a.test/")).outcome == "page"


@pytest.mark.parametrize(
    "body",
    [
        page("News", f"<p>{PROSE * 30}</p>", NOT_FREE),  # not free, and shown all the same
        page("News", f"<p>{PROSE * 3}</p>", NOT_FREE.replace("False", "True")),
        page(
            "Paper", f"<p>{PROSE * 3}</p>", NOT_FREE + '<meta name="citation_title" content="Ice">'
        ),  # an abstract
        page("Access denied: a history", "<p>Short.</p>"),
        page("Route 404", "<p>A road in the county, of 12 km.</p>"),
        page("JavaScript", "<p>A language whose programs browsers run.</p><script></script>"),
        page("Just a moment", "<p>A poem.</p>"),
        page("404 Media wins an award", "<p>Short.</p>"),
        page("404 BC - Wikipedia", "<p>Athens surrendered to Sparta.</p>"),
        page("Cookie consent", "<p>Cookie consent is what the law of 2009 asks of sites in Europe.</p>"),
        page("Page not found: why links rot", f"<div>{PROSE}</div>"),
        page("Library", "<p>The content of the library no longer exists.</p>"),
        page("Roads", "<p>Police saw unusual traffic on I-80.</p><form><div class=g-recaptcha></div></form>"),
        page("Bots", '<p>Pages load captchas from <a href="https://captcha-delivery.com">there</a>.</p>'),
        page("Ice", f'<p>{PROSE}</p><script src="https://a.sdk.awswaf.com/challenge.js"></script>'),
        page(
            "Ice",
            "<p>The lake froze late in that year of war.</p><noscript>Please enable JavaScript</noscript>",
        ),
        page("Contact", "<form><div class=g-recaptcha></div><input type=email></form>"),
        page("Members", "<form action=/login><input type=password></form><p>Welcome.</p>"),
    ],
)
async def test_what_is_only_suspected_passes(web: Web, body: bytes) -> None:
    web.site.routes["a.test/"] = reply(body)
    assert (await web.capture("a.test/")).outcome == "page"


async def test_a_redirect_to_a_log_in_form(web: Web) -> None:
    form = page("Sign in", "<form><input name=user><input type=password name=pw></form>")
    web.site.routes["a.test/story"] = redirect("/account/login?next=/story")
    web.site.routes["a.test/account/login?next=/story"] = reply(form)
    found = await web.capture("a.test/story")
    assert (found.outcome, found.reason) == ("blocked", "a log-in form")
    # Who cites the form itself gets it.
    web.site.routes["a.test/login"] = reply(form)
    assert (await web.capture("a.test/login")).outcome == "page"


def test_a_redirect_to_a_consent_form() -> None:
    shown = page("Before you continue", f"<p>{PROSE * 30}</p>").decode()
    facts = read_facts(shown)
    consent, cited = "https://consent.google.com/m?continue=x", "https://www.google.com/maps"
    assert recognise(arrival(consent, cited, ()), shown, facts) == "a consent form"
    assert recognise(arrival(consent, consent, ()), shown, facts) is None


@pytest.mark.skipif(not PAGES.is_dir(), reason="the real pages are not here")
def test_no_real_page_is_called_a_wall_that_is_none() -> None:
    """Of 120 pages two are: both say of themselves that they are not free, and show 359 and 534 characters.

    The main text that people marked in those two has 369 and 536 characters: the teaser is all there was.
    """
    called: dict[str, str] = {}
    for line in (PAGES / "pages.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        source = decode(gzip.decompress((PAGES / row["file"]).read_bytes()))
        wall = recognise(arrival(row["url"], row["url"], ()), source, read_facts(source))
        if wall is not None:
            called[row["url"].split("/")[-1][:12]] = wall
            assert len(row["text"]) < 600
    assert {place: re.findall("a paywall|[0-9]+", wall) for place, wall in called.items()} == {
        "is-football-": ["a paywall", "534"],
        "google-stadi": ["a paywall", "359"],
    }
