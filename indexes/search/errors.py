"""Errors of search.

    IndexesError
    └── SearchError
        ├── IndexMissing      there is no index of that kind; the message names the command that makes it
        ├── IndexDamaged      half-built, or files that are not those it was built with
        ├── IndexExists       the folder to build in holds something else
        ├── IndexMismatch     built with another stemmer or embedding model than the one at hand
        ├── EncoderError      texts that could not be embedded
        │   └── EndpointError an embedding server that did not answer as it must
        └── QueriesRefused    a file of queries, or a line of it, that cannot be read

Invariant: every message is one line that names the value, the place and the remedy.
"""

from __future__ import annotations

from indexes.errors import IndexesError


class SearchError(IndexesError):
    """Root of all errors of search."""


class IndexMissing(SearchError):
    """There is no index of the kind asked for."""


class IndexDamaged(SearchError):
    """Half-built, or files that are not those it was built with."""


class IndexExists(SearchError):
    """The folder to build in holds something that is no index."""


class IndexMismatch(SearchError):
    """Built with another stemmer or embedding model than the one at hand."""


class EncoderError(SearchError):
    """Texts that could not be embedded."""


class EndpointError(EncoderError):
    """An embedding server that did not answer as it must."""


class QueriesRefused(SearchError):
    """A file of queries, or a line of it, that cannot be read."""
