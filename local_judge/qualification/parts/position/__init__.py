"""Does a judge prefer what stands in a certain place?"""

from local_judge.qualification.parts.position.part import Position
from local_judge.qualification.parts.position.settings import PositionSettings

__all__ = ["Position", "PositionSettings"]
