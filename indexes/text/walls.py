"""Pages in place of pages: challenges, captchas, paywalls, forms, requests for JavaScript, soft 404s.

Invariant: a page is called a wall only if it is nothing else: a mark of its maker or words to the reader, little text,
and hardly a sentence that speaks of anything but the reader and the page. So an article about captchas, however short,
is none. The answer names the mark. What is only suspected passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from indexes.archive.model import Headers
from indexes.text.facts import Facts

WALL_TEXT = 1_500
"""Characters that a reader sees; challenge pages show some hundreds, with their navigation. A page with more text is
not only an error message, a captcha or a form."""
_WORDS_TEXT = 500
"""Characters of a page that is called a wall for its words alone."""
_SCRIPT_TEXT = 200
"""Characters that a page shows before its scripts write it."""
_TOLD = 80
"""Characters in sentences that tell something; a wall has a footer, an article has more."""
_TEASER = 1_000
"""Characters in paragraphs; what a paywall leaves of an article."""
SCRIPTS = "a page that asks for JavaScript"
"""The wall that falls where scripts are run."""


class Arrival(NamedTuple):
    """Statements of address and header fields about a page: one of few values, whatever the page."""

    challenge: str = ""
    """Challenge that a header field names; it holds for the whole answer, however much text comes with it."""
    consent: bool = False
    """A redirect led from another host to a consent form."""
    log_in: bool = False
    """A redirect led from another address to that of a log-in form."""


UNKNOWN = Arrival()
"""Arrival of a page that came without address and header fields."""


class Seen(NamedTuple):
    """Input of a recogniser."""

    source: str
    """The (beginning of the) page's characters."""
    facts: Facts


def _mark(pattern: str) -> Callable[[Seen], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda seen: compiled.search(seen.source) is not None


def _spoken(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of what a page says; what it quotes it only speaks of."""
    return re.compile(rf"(?<![\"“„«])(?:{pattern})", re.IGNORECASE)


def _words(pattern: str, limit: int = WALL_TEXT) -> Callable[[Seen], bool]:
    compiled = _spoken(pattern)
    return lambda seen: (
        seen.facts.n_text <= limit
        and compiled.search(f"{seen.facts.title} {seen.facts.text}".replace("’", "'")) is not None
    )


def _title(pattern: str) -> Callable[[Seen], bool]:
    compiled = _spoken(pattern)
    return lambda seen: compiled.search(seen.facts.title) is not None


def _both(*tests: Callable[[Seen], bool]) -> Callable[[Seen], bool]:
    return lambda seen: all(test(seen) for test in tests)


def _count_article_characters(facts: Facts) -> int:
    """Count the characters in sentences without a word to the reader: they tell something, as articles do."""
    return sum(len(sentence) for sentence in facts.sentences if not _ADDRESS.search(sentence))


def _tells_nothing(seen: Seen) -> bool:
    return _count_article_characters(seen.facts) == 0


def _tells_something(facts: Facts) -> bool:
    """Check whether a page tells more than a footer does, and more than it says to the reader."""
    count = _count_article_characters(facts)
    return count >= max(_TOLD, sum(map(len, facts.sentences)) - count)


_ADDRESS = re.compile(
    r"\b(?:you|your|yours|we|our|us|please|sorry|(?:this|the requested) (?:web)?(?:page|site|server|url|app)"
    r"|wir|uns|ihnen|ihre[mnrs]?|bitte|leider|vous|votre|vos|nous|notre|veuillez|désolée?s?|usted|nuestr[oa]s?"
    r"|lo sentimos|desculpe|spiacenti|вы|вас|ваш|пожалуйста|извините)\b|[您你]|我们|请|ください|申し訳",
    re.IGNORECASE,
)
"""Words to the reader, of the page or its site."""
_ASKED = (
    r"are you a (?:robot|human)\?|unusual traffic from your|pardon our interruption"
    r"|please complete the (?:security check|captcha)|请输入验证码"
)
_HUMAN = (
    rf"(?:verify|confirm|prove|check)(?:ing)? (?:that |if |whether )?you(?: a|')re (?:really )?(?:a )?"
    rf"(?:human|not a (?:ro)?bot)\b|i.m not a robot|安全验证|人机验证|请完成验证|滑动验证|{_ASKED}"
)
_CHECK = (
    r"checking (?:your browser before|if the site connection is secure)|enable javascript and cookies to continue"
    r"|verify(?:ing)? (?:that )?you(?: a|')re (?:a )?(?:human|not a (?:ro)?bot)\b"
    r"|review the security of your connection|performing security verification"
    rf"|(?:请完成|进行)(?:安全|人机)?验证|{_ASKED}"
)
_NEEDS_SCRIPTS = (
    r"(?:please|you(?:'ll)? (?:need|have) to|must) (?:enable|activate|turn on|allow|use) java ?script"
    r"|\b(?:enable|activate|turn on|allow) java ?script (?:to|in (?:this|your) browser)\b"
    r"|this (?:web)?(?:page|site|app|application) (?:requires|needs) java ?script|without java ?script enabled"
    r"|java ?script is (?:currently )?(?:disabled|required|not enabled|not available|turned off)"
    r"(?= ?[.!]|$| in (?:this|your) browser| (?:to|for) (?:use|view|run|this))|java ?script (?:must|has to) be enabled"
    r"|bitte (?:aktivieren sie )?java ?script|java ?script を有効|java ?script ist deaktiviert"
    r"|java ?script est désactivé|(?:veuillez|vous devez) activer (?:le )?java ?script"
    r"|(?:por favor,?|debe|necesita) (?:habilit|activ)[a-zé]+ (?:el )?java ?script|включит[еь] java ?script"
    r"|请(?:启用|啟用|开启) ?java ?script"
)
_MISSING = (
    r"page (?:not found|introuvable|non trouvée)|(?:seite|artikel) (?:wurde )?nicht gefunden|not found \(?404"
    r"|404 ?[-–—:|]? ?(?:error|(?:page|file) )?not found|pagina (?:non trovata|niet gevonden)"
    r"|página no encontrada|página não encontrada|nie znaleziono strony|страница не найдена"
    r"|ページが見つかりません|(?:页面|頁面|网页)(?:不存在|未找到|找不到)|找不到(?:页面|頁面|网页)"
)
_CLOUDFLARE = r"^(?:just a moment(?:\.{3}|…)|attention required!)"
_404 = r"^(?:error )?404(?:$|\s*[-–—:|(]|\s+(?:error|not found|page))"
_CONSENT = (
    r"^(?:before you continue(?: to [\w.]+(?: search)?)?|bevor sie (?:fortfahren|zu (?:google|youtube) weiter[a-z]+)"
    r"|avant (?:de continuer|d'accéder)[^.]{0,30}|antes de continuar[^.]{0,30}|prima di continuare[^.]{0,30}"
    r"|voordat je verdergaat[^.]{0,30}|we value your privacy|(?:[\w.&]+ ){0,3}privacy gate"
    r"|(?:cookie|privacy) (?:consent|wall))(?: [-–—|] [^-–—|]*)?$"
)
_MISSING_WORDS = (
    r"(?:page|article|document|content|url)(?: (?:that )?you[^.]{0,40}| at this address)?"
    r" (?:(?:could not|cannot|can't|couldn't) be found|(?:does not|doesn't|no longer) exists?)"
    r"|(?:we|sorry,?)(?: but)? (?:can't|couldn't|cannot|could not)(?: seem to)? find"
    r" (?:the|that|this) (?:page|article|document)"
)
_BY_MARK: tuple[tuple[str, Callable[[Seen], bool]], ...] = (
    ("a Cloudflare challenge", _both(_title(_CLOUDFLARE), _mark(r"cloudflare|/cdn-cgi/"))),
    ("a Cloudflare challenge", _mark(r"_cf_chl_opt|cf-browser-verification|id=[\"']cf-(?:challenge|error-details)")),
    ("an Akamai refusal", _both(_title(r"^access denied"), _mark(r"edgesuite\.net|reference\s*(?:&#32;)?(?:&#35;|#)"))),
    ("an Akamai challenge", _mark(r"/_sec/verify\?provider=|sec-if-cpt-container|bm-verify=")),
    ("a DataDome captcha", _mark(r"(?:src=|[\"']host[\"']\s*:\s*)[\"']?[^\"'\s>]{0,60}captcha-delivery\.com")),
    ("a PerimeterX captcha", _mark(r"id=[\"']px-captcha")),
    ("a PerimeterX captcha", _both(_mark(r"_pxAppId"), _mark(r"px-captcha|/captcha\.js"))),
    ("an Imperva challenge", _mark(r"_Incapsula_Resource|Incapsula incident ID")),
    ("an AWS WAF challenge", _mark(r"AwsWafIntegration|\.awswaf\.com/")),
    ("a Sucuri challenge", _mark(r"sucuri_cloudproxy_js|Sucuri WebSite Firewall - Access Denied")),
    ("a DDoS-Guard challenge", _both(_title(r"^ddos-guard"), _mark(r"ddos-guard"))),
    ("an Anubis challenge", _mark(r"id=[\"']anubis_challenge")),
    ("a captcha", _both(_mark(r"g-recaptcha|h-captcha|hcaptcha\.com|cf-turnstile|geetest|captcha"), _words(_HUMAN))),
    ("a bot check", _words(_CHECK, _WORDS_TEXT)),
    (SCRIPTS, _words(_NEEDS_SCRIPTS, _WORDS_TEXT)),
    (SCRIPTS, _both(_words(r"", _SCRIPT_TEXT), _mark(_NEEDS_SCRIPTS), _tells_nothing)),
    ("a soft 404", _title(rf"{_404}|{_MISSING}")),
    ("a soft 404", _words(rf"{_MISSING}|{_MISSING_WORDS}", _WORDS_TEXT)),
    ("a consent form", _both(_title(_CONSENT), _tells_nothing)),
)  # fmt: skip
_BY_FIELD = (
    ("a Cloudflare challenge", "cf-mitigated", re.compile(r"challenge", re.IGNORECASE)),
    ("an AWS WAF challenge", "x-amzn-waf-action", re.compile(r"challenge|captcha", re.IGNORECASE)),
)
_CONSENT_FORM = re.compile(r"action=[\"']https://consent\.(?:google|youtube)\.[a-z.]+/", re.IGNORECASE)
_CONSENT_HOST = re.compile(
    r"consent\.(?:google|youtube|yahoo)\.[a-z.]+|guce\.[a-z]+\.com|collector-[0-9]+\.guce\.[a-z]+\.com"
)
_LOG_IN = re.compile(
    r"(?:^|[/._-])(?:log-?in|log-?on|sign-?in|signon|sso|authenticate)(?:$|[/._?-])", re.IGNORECASE
)


def arrival(url: str, first_url: str, headers: Headers) -> Arrival:
    """Return what is known of a page before its bytes.

    Args:
        url: its address, after redirects.
        first_url: the address before them.
        headers: of the answer with the page.
    """
    here, before = urlsplit(url), urlsplit(first_url)
    moved = here.hostname != before.hostname
    return Arrival(
        challenge=next(
            (
                wall
                for wall, field, pattern in _BY_FIELD
                if any(name.lower() == field and pattern.search(text) for name, text in headers)
            ),
            "",
        ),
        consent=moved and _CONSENT_HOST.fullmatch(here.hostname or "") is not None,
        log_in=(moved or here.path != before.path)
        and (
            _LOG_IN.search(here.path) is not None
            or (here.hostname or "").startswith(("login.", "signin.", "sso.", "auth."))
        )
        and not _LOG_IN.search(before.path),
    )


def may_be_wall(arrived: Arrival, source: str, text: str) -> bool:
    """Check whether `recognise` can return a wall, from a page's main text, which is part of what a reader sees."""
    return arrived != UNKNOWN or len(text) <= 2 * WALL_TEXT or "isAccessibleForFree" in source


def recognise(arrived: Arrival, source: str, facts: Facts) -> str | None:
    """Return the kind of wall that a page is, in words; None if it is not certainly one."""
    if arrived.challenge:
        return arrived.challenge
    seen = Seen(source, facts)
    if facts.n_text <= WALL_TEXT:
        if _CONSENT_FORM.search(source):
            return "a consent form"
        if not _tells_something(facts):
            for name, test in _BY_MARK:
                if test(seen):
                    return name
        if arrived.log_in and facts.asks_password:
            return "a log-in form"
    if arrived.consent:
        return "a consent form"
    # An abstract is no teaser: the pages of journals call the paper not free and show what they show.
    if facts.free is False and facts.n_prose < _TEASER and not facts.meta("citation_title"):
        return f"a paywall (it calls itself not free and shows {facts.n_prose:,} characters of text)"
    return None
