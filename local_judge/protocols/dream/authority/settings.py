"""What can be set of domain authority."""

from __future__ import annotations

from serving.types import Frozen


class AuthoritySettings(Frozen):
    """Where a domain's rating comes from."""

    ratings_file: str | None = None
    """A JSONL file of ratings that were given by people; a domain that is in it is not asked."""
