"""What of sentencex is used here; the package has no annotations of its own."""

from typing import TypedDict

class Boundary(TypedDict):
    start_index: int
    end_index: int
    text: str
    boundary_symbol: str | None
    is_paragraph_break: bool

def segment(language: str, text: str) -> list[str]: ...
def get_sentence_boundaries(language: str, text: str) -> list[Boundary]: ...
