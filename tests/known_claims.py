"""Claims about the sample's pages of which it is known whether they are true."""

from __future__ import annotations

import json
from pathlib import Path

PAGES = {
    "https://heat.example/fernholt/renewal": (
        "The first network was opened in 1974.",
        "The retrofit connected 1,240 dwellings in three quarters of the town.",
        "The first network was opened in 1961.",
        "The contract went to Odenwald and Sons.",
    ),
    "https://council.example/minutes/2021-03-18": (
        "The plan was approved by eleven votes to four.",
        "All fifteen members of the council were present.",
        "The plan was approved by nine votes to six.",
        "The council set the budget at 41.8 million crowns.",
    ),
    "https://engineers.example/fernholt/pipes.txt": (
        "18.5 kilometres of new pipe were laid.",
        "31 percent of the heat was lost.",
        "27.5 kilometres of new pipe were laid.",
        "The new pipe is copper.",
    ),
    "https://plant.example/lake-heat-pump": (
        "The heat pump has a capacity of 6.2 megawatts.",
        "A gas boiler was kept as a reserve.",
        "The heat pump has a capacity of 6.2 kilowatts.",
        "An oil boiler was kept as a reserve.",
    ),
    "https://utility.example/reports/2024.md": (
        "The average heating bill fell by 14 percent.",
        "Every household paid a connection fee of 850 crowns.",
        "The average heating bill rose by 14 percent.",
        "Every household paid a connection fee of 950 crowns.",
    ),
}
"""Of each page two true claims and two altered ones."""


def write_known(folder: Path, n_pages: int = len(PAGES)) -> Path:
    """A file of these claims."""
    rows = [
        {
            "id": f"{page}.{place}",
            "claim": claim,
            "url": url,
            "true": place < 2,
            "kind": None if place < 2 else "number",
        }
        for page, (url, claims) in enumerate(list(PAGES.items())[:n_pages])
        for place, claim in enumerate(claims)
    ]
    path = folder / "known.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
