"""Do a judge's scores fall where a flaw was planted, and only there?"""

from local_judge.qualification.parts.sensitivity.part import Sensitivity
from local_judge.qualification.parts.sensitivity.settings import SensitivitySettings

__all__ = ["Sensitivity", "SensitivitySettings"]
