"""Errors of ledgers.

    LedgerError
    ├── LedgerMissing
    ├── LedgerForeign
    ├── LedgerCorrupt
    │   └── CorruptReply
    ├── LedgerBusy
    └── LedgerReadOnly

Invariant: every message is one line for the user that names the value, the place and the remedy.
"""

from __future__ import annotations

from local_judge.base.errors import JudgeError


class LedgerError(JudgeError):
    """The ledger cannot be used."""


class LedgerMissing(LedgerError):
    """The file or folder does not exist, or access is denied."""


class LedgerForeign(LedgerError):
    """The file is not a ledger, or a ledger of an unknown version."""


class LedgerCorrupt(LedgerError):
    """Pages or rows of the ledger are damaged."""


class CorruptReply(LedgerCorrupt):
    """One reply cannot be read or does not match its digest; the rest of the ledger is usable."""


class LedgerBusy(LedgerError):
    """Another process held the ledger for longer than the time limit."""


class LedgerReadOnly(LedgerError):
    """The ledger was opened for reading and cannot be written."""
