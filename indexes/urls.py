"""One spelling for each web address, so that sources can be grouped and looked up.

Invariant: `normalise_url` is idempotent and joins only forms that name the same resource by convention;
whatever may select another resource stays. Callers keep the address as written beside it: the normalised
one is a key, the original is what to fetch.

What is joined: `http` and `https`; letter case of scheme and host; a leading `www.`; a trailing dot of
the host; ports 80 and 443; Unicode and IDNA hosts; dot segments; one trailing slash or several;
percent-encodings of the same bytes; characters without width; fragments (they name a place within a
page), except routes of single-page sites (`#!…`, `#/…`); tracking parameters, and the order of the
others, except among those of one name; a video's start on YouTube (`t`); the mobile hosts of Wikipedia
and its sister projects; `dx.doi.org` and `doi.org`, with DOIs in lower case as they are
case-insensitive; an arXiv paper's `abs`, `pdf` and `html` addresses and its DOI.

What is kept apart: path case, values of parameters, `+` and `%20` in queries, `index.html`, other
mobile hosts, and versions of an arXiv paper (`v2` is another text).
"""

from __future__ import annotations

import re
from operator import itemgetter
from urllib.parse import urlsplit

import idna

from local_judge.base.files import word_list

TRACKING_PREFIXES = ("utm_", "hsa_", "mtm_", "pk_campaign", "pk_source", "pk_medium", "pk_kwd")
TRACKING_PARAMETERS = word_list("indexes", "tracking_parameters")
"""Parameters that analytics tools add to a link and that no server selects a page by."""

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_SAFE = _UNRESERVED | frozenset(b"!$&'()*+,;=:@/")
_QUERY_SAFE = _PATH_SAFE | frozenset(b"?")
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_NO_WIDTH = re.compile("[\u00ad\u200b\u2060\ufeff]")
# Not behind the beginning of another one, which would be whole without it.
_NO_WIDTH_ESCAPED = re.compile(r"(?<!%E2)(?<!%EF)(?<!%E2%8[01])(?<!%EF%BB)(?:%E2%80%8B|%E2%81%A0|%EF%BB%BF)")
"""Soft hyphen, zero-width space, word joiner and byte-order mark, which copying from a page leaves. The joiners U+200C
and U+200D are letters of Persian and Indian names."""
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_LONGEST_HOST = 253
"""Characters of a host name in DNS; a Unicode name has no more than its IDNA form."""
_LONGEST_SHOWN, _LONGEST_READ = 120, 4_096
# In the authority; or behind a colon that opens no port, where a password holds a slash.
_CREDENTIALS = re.compile(r"(?<=//)(?:[^/?#\s]*|[^/?#@:\s]*:(?!\d*(?:[/?#]|$))\S*)@")
_IPV6 = re.compile(r"\[[0-9a-f:.]+\]")

_MOBILE_WIKI = re.compile(
    r"([a-z0-9-]+)\.m\.((?:wikipedia|wiktionary|wikiquote|wikibooks|wikisource|wikinews|wikiversity|wikivoyage|wikimedia)"
    r"\.org)"
)
_YOUTUBE_HOSTS = frozenset({"youtube.com", "m.youtube.com", "youtu.be"})
_DOI_HOSTS = frozenset({"doi.org", "dx.doi.org"})
_ARXIV_HOSTS = frozenset({"arxiv.org", "export.arxiv.org"})
_ARXIV_ID = r"(?:[0-9]{4}\.[0-9]{4,5}|[a-z-]+(?:\.[a-zA-Z]{2})?/[0-9]{7})(?:v[0-9]+)?"
_ARXIV_PATH = re.compile(rf"/(?:abs|pdf|html|format)/({_ARXIV_ID})(?:\.pdf)?")
_ARXIV_DOI = re.compile(rf"/10\.48550/arxiv\.({_ARXIV_ID})")
_IDENTIFIER = re.compile(
    rf"\s*(?:doi\s*:\s*(?P<doi>10\.[0-9]{{4,9}}/\S+)|arxiv\s*:\s*(?P<arxiv>{_ARXIV_ID}))\s*", re.IGNORECASE
)


class UrlError(ValueError):
    """Text that is not an http or https address; the message is one line that names it."""


LONGEST = 65_536
"""Characters of an address; servers take a tenth of it. A record of an archive names it several times in its head."""


def normalise_url(url: str) -> str:
    """The one spelling of an address (see the module's docstring).

    Args:
        url: An absolute `http` or `https` address, or one that starts with `www.`; ASCII or not.

    Returns:
        An ASCII `https` address.

    Raises:
        UrlError: It is not an http or https address, has no valid host or port, is too long, or carries credentials.
    """
    written = _NO_WIDTH.sub("", url).strip()
    if written[:4].lower() == "www.":
        written = "https://" + written
    shown = shown_url(written)
    if len(written) > LONGEST:
        raise UrlError(f"an address of more than {LONGEST:,} characters: {shown!r}")
    if _SURROGATE.search(written):
        raise UrlError(
            f"an address with half a character in it: {shown.encode('ascii', 'backslashreplace')!r}"
        )
    try:
        parts = urlsplit(_CONTROL.sub(lambda m: f"%{ord(m.group()):02X}", written))
        port = parts.port
        hostname = parts.hostname
    except ValueError as error:
        raise UrlError(f"not a web address: {shown!r} ({str(error)[:120]})") from None
    if parts.scheme.lower() not in ("http", "https"):
        raise UrlError(f"not an http or https address: {shown!r}")
    if parts.username is not None or parts.password is not None:
        raise UrlError(f"an address with credentials in it: {shown!r}")
    host = _host(hostname or "", shown)
    path = _without_dot_segments(_canonical(parts.path, _PATH_SAFE))
    canonical = _scholarly(host, path)
    if canonical is not None:
        return canonical
    netloc = host if port in (None, 80, 443) else f"{host}:{port}"
    query = _query(parts.query, untimed=host in _YOUTUBE_HOSTS)
    route = _route(parts.fragment)
    tail = (f"?{query}" if query else "") + (f"#{route}" if route else "")
    return f"https://{netloc}{path.rstrip('/')}{tail}"


def shown_url(url: str) -> str:
    """An address as a message shows it: at most 120 characters, without user name and password."""
    text = _CREDENTIALS.sub("…@", url[:_LONGEST_READ])
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def identifier_url(text: str) -> str | None:
    """Return the normalised address that `doi:10.…` or `arXiv:…` stands for; None for any other text.

    Raises:
        UrlError: The identifier is too long or has no valid address.
    """
    match = _IDENTIFIER.fullmatch(text)
    if match is None:
        return None
    if match["doi"]:
        return normalise_url("https://doi.org/" + match["doi"].replace("#", "%23").replace("?", "%3F"))
    return normalise_url("https://arxiv.org/abs/" + match["arxiv"])


def _host(hostname: str, shown: str) -> str:
    host = hostname.lower().rstrip(".")
    if len(host) > _LONGEST_HOST:
        raise UrlError(f"no valid host in {shown!r}")
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True, transitional=False).decode("ascii")
        except idna.IDNAError:
            raise UrlError(f"no valid host in {shown!r}") from None
    if ":" in host:
        host = f"[{host}]"
        if not _IPV6.fullmatch(host):
            raise UrlError(f"no valid host in {shown!r}")
        return host
    if not _HOST.fullmatch(host):
        raise UrlError(f"no valid host in {shown!r}")
    while host.startswith("www.") and "." in host[4:]:
        host = host[4:]
    return _MOBILE_WIKI.sub(r"\1.\2", host)


def _canonical(text: str, safe: frozenset[int]) -> str:
    """Percent-encodes what must be, decodes what need not be, in upper-case hexadecimal."""
    raw = text.encode("utf-8", "surrogatepass")
    out: list[str] = []
    position = 0
    for match in _ESCAPED.finditer(raw):
        out.append(_encode(raw[position : match.start()], safe))
        byte = int(match.group(1), 16)
        out.append(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}")
        position = match.end()
    out.append(_encode(raw[position:], safe))
    return _NO_WIDTH_ESCAPED.sub("", "".join(out))


def _encode(raw: bytes, safe: frozenset[int]) -> str:
    return "".join(chr(byte) if byte in safe else f"%{byte:02X}" for byte in raw)


def _without_dot_segments(path: str) -> str:
    """RFC 3986, 5.2.4, for absolute paths."""
    out: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(out) > 1:
                out.pop()
        elif segment != ".":
            out.append(segment)
    if segments[-1] in (".", "..") and out[-1:] != [""]:
        out.append("")
    return "/".join(out)


def _query(query: str, *, untimed: bool) -> str:
    """Sort what selects a page by name, so that parameters of one name keep their order."""
    named = [(part.partition("=")[0], part) for part in _canonical(query, _QUERY_SAFE).split("&") if part]
    kept = [
        (name, part)
        for name, part in named
        if not _is_tracking(name.lower()) and not (untimed and name == "t")
    ]
    return "&".join(part for _, part in sorted(kept, key=itemgetter(0)))


def _is_tracking(name: str) -> bool:
    return name in TRACKING_PARAMETERS or name.startswith(TRACKING_PREFIXES)


def _route(fragment: str) -> str:
    fragment = fragment.partition(":~:")[0]
    return _canonical(fragment, _QUERY_SAFE) if fragment.startswith(("!", "/")) else ""


def _scholarly(host: str, path: str) -> str | None:
    """The one address of an arXiv paper or a DOI."""
    if host in _ARXIV_HOSTS:
        match = _ARXIV_PATH.fullmatch(path.rstrip("/"))
        return f"https://arxiv.org/abs/{match.group(1)}" if match else None
    if host in _DOI_HOSTS and path.startswith("/10."):
        name = _ESCAPED.sub(lambda m: m.group().upper(), path.rstrip("/").lower().encode()).decode()
        match = _ARXIV_DOI.fullmatch(name)
        return f"https://arxiv.org/abs/{match.group(1)}" if match else f"https://doi.org{name}"
    return None
