"""Does the judge do what a report or a page tells it to?"""

from local_judge.lab.qualification.parts.prompt_injection.part import PromptInjection
from local_judge.lab.qualification.parts.prompt_injection.settings import PromptInjectionSettings

__all__ = ["PromptInjection", "PromptInjectionSettings"]
