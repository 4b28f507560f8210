"""A few planted claims on the pages of the small set."""

from __future__ import annotations

from local_judge.lab.planting.model import PlantedClaim, SourceSentence

PORT = "https://port.example/shore-power/programme"
GRID = "https://grid.example/kestrel/connection-report.txt"


def _claim(number: int, url: str, text: str, true: bool) -> PlantedClaim:
    digest = ("a" if url == PORT else "b") * 64
    return PlantedClaim(
        id=f"c{number}",
        claim=text,
        url=url,
        text_digest=digest,
        true=true,
        kind=None if true else "number",
        language="en",
        length="short",
        sources=(SourceSentence(url=url, text_digest=digest, start=0, end=len(text), text=text),),
        seed=0,
    )


def two_pages() -> list[PlantedClaim]:
    """Two claims on each of two pages."""
    return [
        _claim(1, PORT, "The port authority decided in June 2019 to equip its quays.", True),
        _claim(2, PORT, "Until the end of 2024 the programme cost 91.5 million euros.", False),
        _claim(3, GRID, "The line was energised in November 2020.", True),
        _claim(4, GRID, "The highest demand so far was 57 megawatts.", False),
    ]
