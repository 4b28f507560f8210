"""Short real pages to plant claims in, and a snapshot of just those.

Invariant: the same data, number and seed give the same pages; a page is taken only if its text as extracted into the
snapshot has enough sentences to plant in.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.lab.planting.pages import PlantPage, plant_pages, usable
from local_judge.lab.planting.sentences import standalone_sentences

SPARE = 8
"""Pages looked at beyond those needed, of each kind: extraction can lose sentences."""
MAX_CHARACTERS = {"web": 3500, "lead": 2000}
"""Short pages: a processor reads about fifty tokens a second."""


class Candidate(NamedTuple):
    """A page that may do."""

    url: str
    text: str
    file: str | None
    """File in the folder of fetched pages; None for an encyclopedia lead, whose content is `text`."""


def planted_snapshot(
    data: Path, n_pages: int, per_page: int, seed: int, folder: Path
) -> tuple[Snapshot, list[PlantPage]]:
    """Return a snapshot in `folder` of `n_pages` pages, fetched ones and encyclopedia leads in equal parts.

    Args:
        data: has `pages/` and `wiki/summaries_en.jsonl.gz`.
        n_pages: how many.
        per_page: claims that each must be good for: sentences that stand alone and admit an alteration.
        seed: decides which.
        folder: empty; is written to.

    Raises:
        SystemExit: the data have not so many.
    """
    n_web = n_pages // 2
    wanted = {"web": n_web, "lead": n_pages - n_web}
    chosen: list[Candidate] = []
    for kind, candidates in (("web", _web(data / "pages")), ("lead", _leads(data / "wiki"))):
        short = [one for one in candidates if len(one.text) <= MAX_CHARACTERS[kind]]
        Random(f"{seed}:{kind}").shuffle(short)
        found: list[Candidate] = []
        for one in short:
            if len(found) == wanted[kind] + SPARE:
                break
            if sum(1 for _ in standalone_sentences(one.text, "en")) >= per_page:
                found.append(one)
        trial = _snapshot(found, data / "pages", folder / f"trial-{kind}")
        rich = {page.url for page in _plantable(trial, seed) if len(page.candidates) >= per_page}
        good = [one for one in found if trial.page(one.url).url in rich]
        if len(good) < wanted[kind]:
            raise SystemExit(
                f"{data}: has {len(good)} short pages of kind {kind} for {per_page} claims each; "
                f"{wanted[kind]} are needed: ask for fewer claims a page"
            )
        chosen += good[: wanted[kind]]
    snapshot = _snapshot(chosen, data / "pages", folder / "pages")
    return snapshot, _plantable(snapshot, seed)


def _web(folder: Path) -> Iterator[Candidate]:
    for line in (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield Candidate(row["url"], row["text"], row["file"])


def _leads(folder: Path) -> Iterator[Candidate]:
    with gzip.open(folder / "summaries_en.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            # Every sentence ends with a full stop, so most leads need not be segmented to be passed over.
            if row["text"].count(". ") >= 4:
                yield Candidate(row["url"], row["text"], None)


def _plantable(snapshot: Snapshot, seed: int) -> list[PlantPage]:
    return plant_pages(usable(snapshot.pages(), ("en",)), seed)


def _snapshot(candidates: Sequence[Candidate], fetched: Path, folder: Path) -> Snapshot:
    source = folder / "source"
    source.mkdir(parents=True)
    lines: list[str] = []
    for number, one in enumerate(candidates):
        if one.file is None:
            file = f"lead-{number}.txt"
            (source / file).write_text(one.text, encoding="utf-8")
        else:
            file = one.file
            shutil.copy(fetched / file, source / file)
        lines.append(json.dumps({"url": one.url, "file": file}))
    (source / "pages.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    import_pages(source, folder / "snapshot")
    return Snapshot.open(folder / "snapshot")
