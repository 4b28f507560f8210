"""Base of the models of all packages.

Invariant: every value is immutable and has known keys and finite floats only, so that it can be hashed, written to disk
and compared between machines.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Base of immutable models that refuse unknown keys and non-finite floats."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
