"""Reports whose claims are known: sentences of pages, with sentences that claim nothing between them.

Invariants: a planted sentence is one of a page's that stand alone and state something, word for word; a filler states
nothing about the world (a question, a transition, an announcement); what is known of a report is what its parse has,
so that a sentence that the parse divides or joins is of neither kind. The same pages and settings give the same
reports.

Each section is about one page. Its first planted sentence cites the page, the others do not: of these no code can know
that they claim something.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from random import Random
from typing import Literal, NamedTuple

from pydantic import Field

from indexes.model import Page
from local_judge.base.model import Frozen
from local_judge.documents import Document, parse_report
from local_judge.lab.planting.model import LANGUAGES, Language
from local_judge.lab.planting.sentences import standalone_sentences

PER_SECTION = 3
"""Maximum number of planted sentences from one page."""
_TITLE: dict[Language, str] = {"en": "Findings from the sources", "zh": "资料所见"}
_REFERENCES: dict[Language, str] = {"en": "References", "zh": "参考文献"}
_SOURCE: dict[Language, str] = {"en": "Source", "zh": "来源"}


class Filler(Frozen):
    """One line of `fillers.jsonl`."""

    kind: Literal["heading", "filler"]
    language: Language
    text: str


class ComposeSettings(Frozen):
    """Settings of composed reports."""

    reports: int = Field(default=4, ge=1)
    """Total number of reports; languages alternate."""
    sentences: int = Field(default=30, ge=4)
    """Number of sentences per report, planted ones and fillers."""
    fillers: float = Field(default=0.375, ge=0, lt=1)
    """Share of fillers among the sentences."""
    languages: tuple[Language, ...] = LANGUAGES
    """Languages of the reports; languages without pages are left out."""
    seed: int = 0


class LabelledSentence(Frozen):
    """A sentence of a composed report."""

    label: str
    """`Lx.Sy`."""
    text: str
    """Text without citation marks."""
    url: str | None
    """Page of the sentence; None for a filler."""
    cited: bool = False

    @property
    def planted(self) -> bool:
        """True for a sentence that makes a claim."""
        return self.url is not None


class Composed(NamedTuple):
    """A report with the labels of its sentences."""

    id: str
    language: Language
    document: Document
    sentences: tuple[LabelledSentence, ...]
    """Sentences in reading order."""
    n_lost: int
    """Sentences that the parse divides or joins, of which nothing is known."""


class _Line(NamedTuple):
    text: str
    url: str | None
    number: int | None = None
    """Number of its citation."""


@cache
def fillers(kind: str, language: Language) -> tuple[str, ...]:
    """Return the texts of one kind in one language."""
    text = files("local_judge.lab.planting").joinpath("fillers.jsonl").read_text(encoding="utf-8")
    rows = [Filler.model_validate_json(line) for line in text.splitlines() if line]
    return tuple(row.text for row in rows if (row.kind, row.language) == (kind, language))


def compose(pages: Sequence[Page], settings: ComposeSettings) -> list[Composed]:
    """Reports from `pages`; fewer, or shorter ones, where these have not enough sentences.

    Args:
        pages: readable ones.
        settings: how much, and from which seed.
    """
    stocks: dict[Language, Iterator[tuple[str, list[str]]]] = {}
    for language in settings.languages:
        mine = sorted({page.url: page for page in pages if page.language == language}.items())
        Random(f"{settings.seed}:pages:{language}").shuffle(mine)
        sections = _sections([page for _, page in mine], language, settings.seed)
        first = next(sections, None)
        if first is not None:
            stocks[language] = chain([first], sections)
    found: list[Composed] = []
    for number in range(settings.reports if stocks else 0):
        language = list(stocks)[number % len(stocks)]
        made = _report(f"composed-{number + 1}-{language}", language, stocks[language], settings)
        if made is not None:
            found.append(made)
    return found


def _sentences(page: Page, language: Language) -> list[str]:
    return list(dict.fromkeys(one.text for one in standalone_sentences(page.text, language)))


def _sections(pages: Sequence[Page], language: Language, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Yield a page with a few of its sentences, one after the other; pages repeat after all had their turn.

    A page is read when its turn comes: a snapshot may have thousands.
    """
    left: dict[str, list[str]] = {}
    used: set[str] = set()
    turn = 0
    while turn == 0 or any(left.values()):
        for page in pages:
            stock = left[page.url] if turn else _sentences(page, language)
            stock = left[page.url] = [one for one in stock if one not in used]
            chosen = Random(f"{seed}:{page.url}:{turn}").sample(
                range(len(stock)), min(PER_SECTION, len(stock))
            )
            picked = [stock[place] for place in sorted(chosen)]
            used.update(picked)
            if picked:
                yield page.url, picked
        turn += 1


def _report(
    name: str, language: Language, stock: Iterator[tuple[str, list[str]]], settings: ComposeSettings
) -> Composed | None:
    """Return one report; None if nothing is left to plant."""
    fillers_of_all = round(settings.sentences * settings.fillers)
    wanted = settings.sentences - fillers_of_all
    sections: list[list[_Line]] = []
    while wanted and (section := next(stock, None)) is not None:
        url, texts = section
        number = len(sections) + 1
        chosen = texts[:wanted]
        sections.append([_Line(text, url, None if place else number) for place, text in enumerate(chosen)])
        wanted -= len(chosen)
    if not sections:
        return None
    rng = Random(f"{settings.seed}:{name}")
    between = fillers("filler", language)
    n_planted = sum(map(len, sections))
    # In a report that ends early, the same share.
    n_fillers = fillers_of_all * n_planted // (n_planted + wanted)
    for text in rng.sample(between, min(n_fillers, len(between))):
        lines = rng.choice(sections)
        lines.insert(rng.randint(0, len(lines)), _Line(text, None))
    headings = rng.sample(fillers("heading", language), len(fillers("heading", language)))
    return _known(name, language, sections, headings)


def _known(
    name: str, language: Language, sections: Sequence[Sequence[_Line]], headings: Sequence[str]
) -> Composed:
    """Write the report, and label the sentences that its parse leaves unchanged."""
    space = " " if language == "en" else ""
    parts = [f"# {_TITLE[language]}"]
    for place, lines in enumerate(sections):
        heading = headings[place % len(headings)]
        again = f" {place // len(headings) + 1}" if place >= len(headings) else ""
        parts += [f"## {heading}{again}", space.join(_written(line, space) for line in lines)]
    parts.append(f"## {_REFERENCES[language]}")
    for number, lines in enumerate(sections, 1):
        url = next(line.url for line in lines if line.url is not None)
        parts.append(f"[{number}] {_SOURCE[language]} {number}. {url}")
    document = parse_report("\n\n".join(parts) + "\n")
    lines = {_written(line, space): line for section in sections for line in section}
    known: list[LabelledSentence] = []
    for sentence in document.sentences:
        line = lines.get(sentence.text)
        cited = bool(sentence.citations)
        if line is not None and cited == (line.number is not None):
            known.append(LabelledSentence(label=sentence.label, text=line.text, url=line.url, cited=cited))
    return Composed(name, language, document, tuple(known), len(lines) - len(known))


def _written(line: _Line, space: str) -> str:
    """Return the sentence with its citation before the full stop."""
    if line.number is None:
        return line.text
    return f"{line.text[:-1]}{space}[{line.number}]{line.text[-1]}"
