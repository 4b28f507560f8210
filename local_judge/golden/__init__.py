"""Golden vectors: outputs that the original implementations gave, against ours on the same inputs.

python -m local_judge.golden FILE
"""

from local_judge.golden.command import main
from local_judge.golden.compare import MAX_PRINTED, GoldenError, load

__all__ = ["MAX_PRINTED", "GoldenError", "load", "main"]
