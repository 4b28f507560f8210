"""What can be set of analysis depth."""

from __future__ import annotations

from typing import Literal

from serving.types import Frozen


class DepthSettings(Frozen):
    """What a report is compared with."""

    against: Literal["baseline", "all"] = "baseline"
    """`baseline`: the task's reference reports. `all`: these, and the reports of all other systems of the run on the
    same task; each two of them are compared once, in both orders."""
    defective: Literal["count", "leave_out"] = "count"
    """What becomes of comparisons with a baseline that is no report: they count, or they are in no score. Judged and
    flagged they are either way."""
