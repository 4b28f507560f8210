"""Parts of a qualification: each asks one kind of question and returns items."""

from collections.abc import Mapping

from local_judge.lab.qualification.model import PartName
from local_judge.lab.qualification.part import AnyPart
from local_judge.lab.qualification.parts.extraction import Extraction
from local_judge.lab.qualification.parts.labels import Labels
from local_judge.lab.qualification.parts.position import Position
from local_judge.lab.qualification.parts.prompt_injection import PromptInjection
from local_judge.lab.qualification.parts.retest import Retest
from local_judge.lab.qualification.parts.sensitivity import Sensitivity
from local_judge.lab.qualification.parts.verification import Verification

PARTS: Mapping[PartName, type[AnyPart]] = {
    part.name: part
    for part in (Verification, Extraction, Retest, Position, Sensitivity, PromptInjection, Labels)
}
"""The parts by name, in the order of the page."""
