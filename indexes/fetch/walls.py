"""Pages that stand in front of pages: challenges of bot filters, captchas, paywalls, log-in and consent forms.

Invariant: a page is called a wall only by a mark of its maker together with little text, so that an article about
captchas is none; the answer names the mark. What is only suspected passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from indexes.archive.model import Headers
from indexes.fetch.markup import Markup

_WALL_TEXT = 1_500
"""Characters that a reader sees; challenge pages show some hundreds, with their navigation."""
_TEASER = 1_000
"""Characters in paragraphs; what a paywall leaves of an article."""


@dataclass(frozen=True)
class Seen:
    """Input of a recogniser."""

    url: str
    first_url: str
    """Before redirects."""
    headers: dict[str, str]
    """Names in lower case; repeated fields joined by a comma."""
    source: str
    """The beginning of the decoded body as characters; marks are ASCII."""
    markup: Markup


def _mark(pattern: str) -> Callable[[Seen], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda seen: compiled.search(seen.source) is not None


def _words(pattern: str) -> Callable[[Seen], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda seen: compiled.search(f"{seen.markup.title} {seen.markup.text}") is not None


def _field(name: str, pattern: str) -> Callable[[Seen], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda seen: compiled.search(seen.headers.get(name, "")) is not None


def _title(pattern: str) -> Callable[[Seen], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda seen: compiled.match(seen.markup.title) is not None


def _host(pattern: str) -> Callable[[Seen], bool]:
    compiled = re.compile(pattern)
    return lambda seen: compiled.fullmatch(urlsplit(seen.url).hostname or "") is not None


def _both(*tests: Callable[[Seen], bool]) -> Callable[[Seen], bool]:
    return lambda seen: all(test(seen) for test in tests)


_HUMAN = (
    r"(?:verify|confirm|prove|check(?:ing)?)[^.<>]{0,40}\b(?:human|not a (?:ro)?bot)\b|are you a (?:robot|human)"
    r"|i.m not a robot|unusual traffic|pardon our interruption|please complete the (?:security check|captcha)"
    r"|安全验证|人机验证|请完成验证|滑动验证|请输入验证码"
)

# A header of this kind says it for the whole answer, however much text comes with it.
_BY_HEADER: tuple[tuple[str, Callable[[Seen], bool]], ...] = (
    ("a Cloudflare challenge", _field("cf-mitigated", r"challenge")),
    ("an AWS WAF challenge", _field("x-amzn-waf-action", r"challenge|captcha")),
)
_BY_MARK: tuple[tuple[str, Callable[[Seen], bool]], ...] = (
    ("a Cloudflare challenge", _both(_title(r"just a moment|attention required!"), _mark(r"cloudflare|/cdn-cgi/"))),
    ("a Cloudflare challenge", _mark(r"_cf_chl_opt|cf-browser-verification|id=[\"']cf-(?:challenge|error-details)")),
    ("an Akamai refusal", _both(_title(r"access denied"), _mark(r"edgesuite\.net|reference\s*(?:&#32;)?(?:&#35;|#)"))),
    ("an Akamai challenge", _mark(r"/_sec/verify\?provider=|sec-if-cpt-container|bm-verify=")),
    ("a DataDome captcha", _mark(r"captcha-delivery\.com")),
    ("a PerimeterX captcha", _mark(r"id=[\"']px-captcha")),
    ("a PerimeterX captcha", _both(_mark(r"_pxAppId"), _mark(r"captcha"))),
    ("an Imperva challenge", _mark(r"_Incapsula_Resource|Incapsula incident ID")),
    ("an AWS WAF challenge", _mark(r"AwsWafIntegration|\.awswaf\.com/")),
    ("a Sucuri challenge", _mark(r"sucuri_cloudproxy_js|Sucuri WebSite Firewall - Access Denied")),
    ("a DDoS-Guard challenge", _both(_title(r"ddos-guard"), _mark(r"ddos-guard"))),
    ("an Anubis challenge", _mark(r"id=[\"']anubis_challenge")),
    ("a captcha", _both(_mark(r"g-recaptcha|h-captcha|hcaptcha\.com|cf-turnstile|geetest|captcha"), _words(_HUMAN))),
)  # fmt: skip
_CONSENT = _host(
    r"consent\.(?:google|youtube|yahoo)\.[a-z.]+|guce\.[a-z]+\.com|collector-[0-9]+\.guce\.[a-z]+\.com"
)
_LOG_IN = re.compile(
    r"(?:^|[/._-])(?:log-?in|log-?on|sign-?in|signon|sso|authenticate)(?:$|[/._?-])", re.IGNORECASE
)


def recognise(url: str, first_url: str, headers: Headers, source: str, markup: Markup) -> str | None:
    """Return the kind of wall that a page is, in words; None if it is not certainly one."""
    fields: dict[str, str] = {}
    for name, text in headers:
        key = name.lower()
        fields[key] = f"{fields[key]}, {text}" if key in fields else text
    seen = Seen(url, first_url, fields, source, markup)
    for name, test in _BY_HEADER:
        if test(seen):
            return name
    if markup.n_text <= _WALL_TEXT:
        for name, test in _BY_MARK:
            if test(seen):
                return name
        if _sent_to_log_in(seen):
            return "a log-in form"
    if _CONSENT(seen) and urlsplit(first_url).hostname != urlsplit(url).hostname:
        return "a consent form"
    # An abstract is no teaser: the pages of journals call the paper not free and show what they show.
    if markup.free is False and markup.n_prose < _TEASER and not markup.meta("citation_title"):
        return f"a paywall (it calls itself not free and shows {markup.n_prose:,} characters of text)"
    return None


def _sent_to_log_in(seen: Seen) -> bool:
    """Check whether a redirect led from another address to a form that asks for a password."""
    here, before = urlsplit(seen.url), urlsplit(seen.first_url)
    if not seen.markup.asks_password or (here.hostname, here.path) == (before.hostname, before.path):
        return False
    names = _LOG_IN.search(here.path) or (here.hostname or "").startswith(
        ("login.", "signin.", "sso.", "auth.")
    )
    return bool(names) and not _LOG_IN.search(before.path)
