"""True and false claims from pages, in equal parts.

Invariants: half of the claims are true and half false, from the same pages and the same kind of sentences: those that
stand alone and admit an alteration. No sentence is used twice. False claims are distributed evenly over kinds and
languages, and within these over lengths of pages as far as possible. Missing claims are reported and not replaced by
another kind. The same pages and settings give the same claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from pydantic import Field

from local_judge.base.model import Frozen
from local_judge.lab.planting.model import FALSE_KINDS, LENGTHS, FalseKind, Language, Length, PlantedClaim
from local_judge.lab.planting.pages import Candidate, Misplacer, PlantPage


class DrawSettings(Frozen):
    """Claims to plant."""

    n: int = Field(default=300, ge=2)
    """Total number of claims."""
    per_page: int = Field(default=4, ge=2)
    """Maximum number of claims per page, which share its prefix."""
    kinds: tuple[FalseKind, ...] = FALSE_KINDS
    languages: tuple[Language, ...] = ("en", "zh")
    seed: int = 0


class Cell(Frozen):
    """Number of claims of one kind in one language."""

    kind: FalseKind | None
    """Kind of error; None for true claims."""
    language: Language
    wanted: int
    filled: int
    by_length: dict[Length, int]


class Draw(Frozen):
    """Planted claims and their numbers."""

    claims: tuple[PlantedClaim, ...]
    cells: tuple[Cell, ...]


def shares(total: int, n: int) -> list[int]:
    """Divide `total` into `n` parts that differ by at most one, larger ones first."""
    return [total // n + (place < total % n) for place in range(n)]


def draw_claims(pages: Sequence[PlantPage], settings: DrawSettings) -> Draw:
    """Plant claims in `pages`.

    Args:
        pages: Pages with their candidates.
        settings: Number, kinds and seed of the claims.
    """
    drawn: list[PlantedClaim] = []
    cells: list[Cell] = []
    halves = shares(settings.n // 2, len(settings.languages))
    for language, half in zip(settings.languages, halves, strict=True):
        mine = [page for page in pages if page.language == language and page.candidates]
        Random(f"{settings.seed}:pages").shuffle(mine)
        drawer = _Drawer(mine, settings)
        wanted = dict(zip(settings.kinds, shares(half, len(settings.kinds)), strict=True))
        # The rarest kind chooses first: otherwise common kinds fill its pages.
        for kind in sorted(wanted, key=lambda kind: (drawer.supply(kind), FALSE_KINDS.index(kind))):
            drawer.add_false(kind, wanted[kind])
        drawer.add_true()
        drawn += drawer.claims
        n_false = sum(claim.kind is not None for claim in drawer.claims)
        cells += [_cell(kind, language, wanted[kind], drawer.claims) for kind in settings.kinds]
        cells.append(_cell(None, language, n_false, drawer.claims))
    return Draw(claims=tuple(_numbered(drawn, settings.seed)), cells=tuple(cells))


def _cell(kind: FalseKind | None, language: Language, wanted: int, claims: Sequence[PlantedClaim]) -> Cell:
    lengths = Counter(claim.length for claim in claims if claim.kind == kind)
    by_length: dict[Length, int] = {length: lengths[length] for length in LENGTHS}
    return Cell(kind=kind, language=language, wanted=wanted, filled=lengths.total(), by_length=by_length)


def _numbered(claims: Sequence[PlantedClaim], seed: int) -> Iterator[PlantedClaim]:
    """Yield the claims page by page, shuffled within a page, with ids that do not reveal their labels."""
    by_page: dict[str, list[PlantedClaim]] = {}
    for claim in claims:
        by_page.setdefault(claim.url, []).append(claim)
    number = 0
    for url, here in sorted(by_page.items()):
        Random(f"{seed}:order:{url}").shuffle(here)
        for claim in here:
            number += 1
            yield claim.model_copy(update={"id": f"p{number:04d}"})


class _Drawer:
    """Draws the claims of one language."""

    def __init__(self, pages: Sequence[PlantPage], settings: DrawSettings) -> None:
        self._pages = {page.url: page for page in pages}
        self._settings = settings
        self._misplacer = Misplacer(pages, settings.seed)
        self._used: set[str] = set()
        self._false: Counter[str] = Counter()
        self._true: Counter[str] = Counter()
        self.claims: list[PlantedClaim] = []

    def supply(self, kind: FalseKind) -> int:
        """Return the number of pages on which a kind can be planted."""
        if kind in ("attribution", "foreign"):
            return len(self._pages)
        return sum(any(kind in one.edits for one in page.candidates) for page in self._pages.values())

    def add_false(self, kind: FalseKind, n: int) -> None:
        """Add up to `n` false claims of a kind, distributed over the lengths of pages."""
        sources: dict[Length, Iterator[tuple[PlantPage, Candidate]]] = {
            length: self._offers(kind, length) for length in LENGTHS
        }
        filled: Counter[Length] = Counter()
        while sources and filled.total() < n:
            length = min(sources, key=lambda one: (filled[one], list(LENGTHS).index(one)))
            offer = next(sources[length], None)
            if offer is None:
                del sources[length]
                continue
            page, one = offer
            filled[length] += 1
            self._false[page.url] += 1
            self._take(page, one, kind)

    def _offers(self, kind: FalseKind, length: Length) -> Iterator[tuple[PlantPage, Candidate]]:
        """Yield candidates one at a time, from pages in use first, never two of a kind from one page in a row."""
        while True:
            pages = [page for page in self._pages.values() if page.length == length and self._room(page)]
            pages.sort(key=lambda page: self._false[page.url] == 0)
            offered = False
            for page in pages:
                one = next(iter(self._fitting(kind, page)), None)
                if one is not None and self._room(page):
                    offered = True
                    yield page, one
            if not offered:
                return

    def _room(self, page: PlantPage) -> bool:
        """Check whether a page has room for another false claim and for as many true ones."""
        left = sum(one.source.text not in self._used for one in page.candidates)
        false = self._false[page.url]
        return false < self._settings.per_page // 2 and left >= false + 1

    def _fitting(self, kind: FalseKind, page: PlantPage) -> Iterable[Candidate]:
        if kind == "attribution":
            return self._misplacer.attributions(page, self._used)
        if kind == "foreign":
            return self._misplacer.foreign(page, self._used)
        return (
            one
            for one in page.candidates
            if kind in one.edits
            and one.source.text not in self._used
            # One sentence goes to the false claim, and as many must be left as there are false claims then.
            and sum(other.source.text not in self._used for other in page.candidates)
            >= self._false[page.url] + 2
        )

    def add_true(self) -> None:
        """Add as many true claims as false ones, on the same pages first, then on others."""
        missing = 0
        for page in [page for page in self._pages.values() if self._false[page.url]]:
            missing += self._false[page.url] - self._add_true_on(page, self._false[page.url])
        for page in self._pages.values():
            if missing and not self._false[page.url]:
                missing -= self._add_true_on(page, min(missing, self._settings.per_page // 2))

    def _add_true_on(self, page: PlantPage, n: int) -> int:
        free = [one for one in page.candidates if one.source.text not in self._used]
        chosen = Random(f"{self._settings.seed}:true:{page.url}").sample(free, min(n, len(free)))
        for one in chosen:
            self._take(page, one, None)
        return len(chosen)

    def _take(self, page: PlantPage, one: Candidate, kind: FalseKind | None) -> None:
        edit = None if kind is None or kind in ("attribution", "foreign") else one.edits[kind]
        self._used.add(one.source.text)
        self.claims.append(
            PlantedClaim(
                id="",
                claim=one.source.text if edit is None else edit.applied(one.source.text),
                url=page.url,
                text_digest=page.page.text_digest,
                true=kind is None,
                kind=kind,
                language=page.language,
                length=page.length,
                sources=(one.source,),
                edit=edit,
                seed=self._settings.seed,
            )
        )
