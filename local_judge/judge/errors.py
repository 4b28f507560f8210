"""Errors of asking a judge and keeping its replies.

    JudgeError
    ├── SchemaError        an answer type that cannot be put to a constrained decoder (recursive)
    ├── TooManyFailures    as many calls as are allowed have failed
    └── LedgerError        the store of replies cannot be used
        ├── LedgerMissing  no such file or folder, or no right to use it
        ├── LedgerForeign  a file that is not a ledger, or a ledger of a newer version
        ├── LedgerCorrupt  a ledger whose pages or rows are damaged
        │   └── CorruptReply   one reply that is damaged
        ├── LedgerBusy     another process held the ledger for longer than the time limit
        └── LedgerReadOnly a write to a ledger that was opened for reading

Invariant: every message is one line that names the value, the place and the remedy, fit to be shown to a
user. What goes wrong with one question is never an exception but a `Failure` (see `judge.failures`).
"""

from __future__ import annotations


class JudgeError(Exception):
    """Root of all errors of this package."""


class SchemaError(JudgeError):
    """An answer type that has no JSON schema that a constrained decoder can take."""


class TooManyFailures(JudgeError):
    """As many calls as are allowed have failed."""


class LedgerError(JudgeError):
    """The store of replies cannot be used."""


class LedgerMissing(LedgerError):
    """No such file or folder, or no right to use it."""


class LedgerForeign(LedgerError):
    """A file that is not a ledger, or a ledger of a version that this program does not know."""


class LedgerCorrupt(LedgerError):
    """A ledger whose pages or rows are damaged."""


class CorruptReply(LedgerCorrupt):
    """One reply that cannot be read, or whose row does not match its digest. The rest of the ledger is usable."""


class LedgerBusy(LedgerError):
    """Another process held the ledger for longer than the time limit."""


class LedgerReadOnly(LedgerError):
    """A write to a ledger that was opened for reading."""
