"""Does the judge do what a report or a page tells it to?"""

from local_judge.qualification.parts.obedience.part import Obedience
from local_judge.qualification.parts.obedience.settings import ObedienceSettings

__all__ = ["Obedience", "ObedienceSettings"]
