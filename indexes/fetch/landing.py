"""Discovery of a paper's full text from its landing page.

Invariant: a page is taken for a landing page by what it says of itself or by the address that led to it, never by
its looks; what is proposed here is only asked for, and checked by whoever asks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from indexes.text.facts import Facts

_ENOUGH_TEXT = 30_000
"""Characters; a page with more holds the paper itself. Abstracts with navigation and 100 references stay below."""
_DOI_HOSTS = frozenset({"doi.org", "dx.doi.org", "www.doi.org", "hdl.handle.net"})
_ARXIV_HOSTS = frozenset({"arxiv.org", "www.arxiv.org", "export.arxiv.org"})
_ARXIV_ABSTRACT = re.compile(r"/abs/(.+?)/?")


@dataclass(frozen=True)
class FullText:
    """Candidate address of a full text."""

    url: str
    """URL as the page states it; may be relative to the page."""
    kind: Literal["pdf", "html"]


def full_texts(hops: Sequence[str], facts: Facts) -> list[FullText]:
    """Return the addresses of the full text that a landing page names, best first; empty for other pages.

    Args:
        hops: addresses from the cited one to the page's own.
        facts: of the page.
    """
    if facts.n_text >= _ENOUGH_TEXT:
        return []
    found: list[FullText] = []
    here = urlsplit(hops[-1])
    abstract = _ARXIV_ABSTRACT.fullmatch(here.path) if here.hostname in _ARXIV_HOSTS else None
    if pdf := facts.meta("citation_pdf_url"):
        found.append(FullText(pdf, "pdf"))
    elif abstract:
        found.append(FullText(f"/pdf/{abstract.group(1)}", "pdf"))
    if html := facts.meta("citation_fulltext_html_url"):
        found.append(FullText(html, "html"))
    # Any page may offer itself as a PDF; only of a paper is that more than the page.
    if any(urlsplit(hop).hostname in _DOI_HOSTS for hop in hops) or facts.meta("citation_title"):
        found.extend(FullText(link, "pdf") for link in facts.pdf_links[:1])
    return list(dict.fromkeys(found))
