"""Does a judge prefer what stands in a certain place?"""

from local_judge.lab.qualification.parts.position.games import PositionSettings
from local_judge.lab.qualification.parts.position.part import Position

__all__ = ["Position", "PositionSettings"]
