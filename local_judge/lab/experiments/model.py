"""What an experiment is: reports under conditions, and how scores should answer to the conditions.

Invariants: the conditions stand in the order in which they are printed and plotted; every report is of one condition
and one unit; what a score should do is said before any judge is asked, with the place of the paper's figures.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator

from indexes.urls import UrlError, normalise_url
from local_judge.lab.experiments.data_files import Line, Said
from local_judge.runs.inputs import RawReport
from serving.types import Frozen

Name = Literal["corruption", "temporal", "reasoning"]
Shape = Literal["falls", "rises", "flat"]


class Condition(Frozen):
    """What was done to a report."""

    id: str
    label: str
    """As a column's head."""
    x: float
    """Its place on the horizontal axis."""


class Trial(Frozen):
    """One report of an experiment."""

    report: str
    """Its id."""
    condition: str
    unit: str
    """Reports of one unit differ in their condition alone."""
    planted: tuple[str, ...] = ()
    """Ids of what was altered in it."""


class Expectation(Frozen):
    """What one score should do."""

    protocol: str
    path: str
    """Of the score, `a/b/c`."""
    shape: Shape
    ideal: tuple[float, ...] = ()
    """For each condition, from 0 to 1: what a perfect judge gives, divided by `scale`; empty where that is not known
    and only the direction in each pair counts."""
    scale: float = 1.0
    """The most that the score can be."""
    paper: tuple[float | None, ...] = ()
    """For each condition, from 0 to 1: the published figure; None where none is printed; empty if none is."""
    paper_change: float | None = None
    """The published relative change from the first condition to the last; None where none is printed."""
    approximate: bool = False
    """True if the paper says them in words or draws them, and prints no figures."""
    source: str = ""
    """Where the published figures stand."""


class Design(Frozen):
    """An experiment as it is kept beside its reports."""

    experiment: Name
    texts_sha256: str
    """Of its reports and pages; see `texts_digest`."""
    seed: int | None
    """Of the choice of what is altered; None where nothing is chosen."""
    conditions: tuple[Condition, ...]
    trials: tuple[Trial, ...]
    expectations: tuple[Expectation, ...]

    def where(self, condition: str) -> tuple[Trial, ...]:
        """The reports under one condition."""
        return tuple(trial for trial in self.trials if trial.condition == condition)


def _address(url: str) -> str:
    try:
        normalise_url(url)
    except UrlError as error:
        raise ValueError(f"{url!r} is not the address of a page ({error})") from None
    return url


class PlainPage(Frozen):
    """A page of an experiment's web."""

    url: Annotated[Line, AfterValidator(_address)]
    title: Line
    text: Said
    published: date | None = None
    """Since when it is there."""


class Experiment(NamedTuple):
    """An experiment before a judge is chosen."""

    design: Design
    reports: tuple[RawReport, ...]
    """In the order of the trials."""
    pages: tuple[PlainPage, ...]
    protocols: tuple[str, ...]
    """Run where nothing else is said."""
    settings: dict[str, dict[str, Any]]
    """Of the protocols, where nothing else is said: the parts that the experiment is about."""
    today: date
    """The day of the evaluation, where nothing else is said."""


def cited(sentence: str, number: int) -> str:
    """A sentence with a citation before its last mark."""
    mark = sentence[-1] if sentence[-1] in ".!?。！？" else ""
    return f"{sentence.removesuffix(mark)} [{number}]{mark}"


def listed(pages: Sequence[PlainPage]) -> str:
    """The section of a report that lists these pages as its references, numbered from 1."""
    lines = (f"[{number}] {page.title}. {page.url}" for number, page in enumerate(pages, 1))
    return "## References\n\n" + "\n".join(lines) + "\n"


def texts_digest(reports: Sequence[RawReport], pages: Sequence[PlainPage]) -> str:
    """SHA-256 over all reports with their ids, and over all pages."""
    digest = hashlib.sha256()
    for report in reports:
        digest.update(f"{report.id}\n{len(report.content)}\n".encode() + report.content)
    for page in pages:
        digest.update(page.model_dump_json().encode())
    return digest.hexdigest()
