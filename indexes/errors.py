"""Errors of the frozen web.

    IndexesError
    ├── ImportRefused        a page list, a folder or a line of it that cannot be imported as it is
    ├── SnapshotExists       the output directory is there and holds something else
    ├── FetchError           pages cannot be fetched in the way that was asked for
    ├── ExtractionFailed     no process could be started that reads pages
    ├── SearchError          see `indexes.search.errors`
    ├── MissingExtra         an optional dependency that is not installed
    └── SnapshotError        a snapshot that cannot be used
        ├── SnapshotMissing  there is no such directory
        ├── NotASnapshot     a directory without a readable manifest
        ├── SnapshotTooNew   written by a newer version of this package
        └── DigestMismatch   contents that are not those the manifest names

Invariant: every message is one line that names the value, the place and the remedy, fit to be shown to a
user. What is wrong with one page is no error: the page keeps a status and a reason.
"""

from __future__ import annotations


class IndexesError(Exception):
    """Root of all errors of this package."""


class ImportRefused(IndexesError):
    """A page list, a folder or a line of it that cannot be imported as it is."""


class SnapshotExists(IndexesError):
    """The output directory is there and holds something else."""


class FetchError(IndexesError):
    """Pages cannot be fetched in the way that was asked for."""


class ExtractionFailed(IndexesError):
    """No process could be started that reads pages."""


class MissingExtra(IndexesError):
    """An optional dependency that is not installed; the message holds the pip line."""


class SnapshotError(IndexesError):
    """A snapshot that cannot be used."""


class SnapshotMissing(SnapshotError):
    """There is no such directory."""


class NotASnapshot(SnapshotError):
    """A directory without a readable manifest."""


class SnapshotTooNew(SnapshotError):
    """Written by a newer version of this package."""


class DigestMismatch(SnapshotError):
    """Contents that are not those the manifest names."""
