"""What can be set of consistency and citation association."""

from __future__ import annotations

from pydantic import Field

from local_judge.protocols.liveresearchbench.issues.table import PUBLISHED, Table
from serving.types import Frozen


class IssueSettings(Frozen):
    """How issues are listed and what they cost."""

    limit: int = Field(default=25, ge=1, le=60)
    """Most issues that a judge may list of one report; 18 score as low as any number above in the published table."""
    penalties: Table = PUBLISHED
    """Steps of `[issues, score]`, from 0 issues on, with scores that do not rise."""
