"""A task, and the guidance that an expert or a judge has written for it.

Invariant: guidance says where it comes from; what a judge has drafted is never taken for an expert's.
"""

from __future__ import annotations

from typing import Literal

from local_judge.documents.model import Frozen

GuidanceStatus = Literal["given", "drafted", "reviewed"]
"""`given`: came with the task. `drafted`: written by a judge. `reviewed`: drafted, then accepted or changed by a
person."""


class Guidance(Frozen):
    """What a good report on this task must do, in an expert's words (DEER, section 4.3)."""

    text: str
    status: GuidanceStatus = "given"
    reviewer: str | None = None
    """Who reviewed it."""


class Task(Frozen):
    """A research request."""

    id: str
    prompt: str
    guidance: Guidance | None = None
