"""Claims -> the pages that they lean on.

Invariant: a claim and a URL form a pair exactly if one of the claim's citations, written or recovered, resolves to
that URL; pairs and sources are in reading order; a URL's status comes from the snapshot alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from indexes.snapshot import Snapshot
from local_judge.claims.model import Claim, Source
from local_judge.documents.model import Citation, Document


def cited_urls(citations: Iterable[str], document: Document) -> dict[str, Citation]:
    """The normalised URLs that citations, given by id, lead to: each with the first that does, in order."""
    urls: dict[str, Citation] = {}
    for citation in map(document.citation, citations):
        if citation.url is not None:
            urls.setdefault(citation.url, citation)
    return urls


def urls_of(claim: Claim, document: Document) -> tuple[str, ...]:
    """Normalised URLs that `claim` cites, each once, written ones before recovered ones."""
    return tuple(cited_urls((*claim.citations, *claim.recovered), document))


def gather_sources(claims: Sequence[Claim], document: Document, snapshot: Snapshot) -> tuple[Source, ...]:
    """The sources of `claims`, in the order in which the report first leans on them."""
    leaning: dict[str, list[str]] = {}
    for claim in claims:
        for url in urls_of(claim, document):
            leaning.setdefault(url, []).append(claim.id)
    sources: list[Source] = []
    for url, ids in leaning.items():
        page = snapshot.page(url)
        sources.append(
            Source(
                url=url,
                status=page.status,
                reason=page.reason,
                text_digest=page.text_digest,
                claims=tuple(ids),
            )
        )
    return tuple(sources)
