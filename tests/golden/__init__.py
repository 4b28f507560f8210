"""Golden vectors: outputs that the original implementations gave, against ours on the same inputs.

python -m tests.golden FILE
"""

from tests.golden.command import main
from tests.golden.compare import MAX_PRINTED, GoldenError, load

__all__ = ["MAX_PRINTED", "GoldenError", "load", "main"]
