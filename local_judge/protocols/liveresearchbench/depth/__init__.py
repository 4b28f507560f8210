"""Analysis depth: a report and another on the same task compared, in both orders."""

from local_judge.protocols.liveresearchbench.depth.contests import depth_contests
from local_judge.protocols.liveresearchbench.depth.findings import DepthFindings
from local_judge.protocols.liveresearchbench.depth.judging import depth_lacks, judge_depth
from local_judge.protocols.liveresearchbench.depth.over import over_depth
from local_judge.protocols.liveresearchbench.depth.rated import rated_depth
from local_judge.protocols.liveresearchbench.depth.scores import depth_together, score_depth
from local_judge.protocols.liveresearchbench.depth.settings import DepthSettings

__all__ = [
    "DepthFindings",
    "DepthSettings",
    "depth_contests",
    "depth_lacks",
    "depth_together",
    "judge_depth",
    "over_depth",
    "rated_depth",
    "score_depth",
]
