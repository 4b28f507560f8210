"""Definition of an experiment: reports under conditions, and the expected effect of the conditions on scores.

Invariants: the conditions are in the order in which they are printed and plotted. Every report has one condition and
one unit. Expectations are fixed before any judge is asked, and name the place of the paper's figures. A data file is
checked completely when it is loaded; an error is one line that names the file, the entry and the key.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast

from pydantic import AfterValidator, BaseModel, StringConstraints, ValidationError

from indexes.urls import UrlError, normalise_url
from local_judge.base.errors import ConfigError, InputError, first_problem
from local_judge.base.model import Frozen
from local_judge.base.rows import is_text, read_text
from local_judge.base.strict_yaml import load_yaml
from local_judge.runs.planning.inputs import RawReport
from local_judge.tasks.model import Task

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

Name = Literal["corruption", "temporal", "reasoning"]
Shape = Literal["falls", "rises", "flat"]

EntryId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=60)]
"""Id of one entry of a data file; becomes a part of file names."""
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, pattern=r"^[^\n]+$")]
"""Text of one line, such as one sentence."""
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Text of any number of lines."""


class Condition(Frozen):
    """One modification of reports."""

    id: str
    label: str
    """Head of the column in tables."""
    x: float
    """Position on the horizontal axis."""


class Trial(Frozen):
    """One report of an experiment."""

    report: str
    """Id of the report."""
    condition: str
    unit: str
    """Group of reports that differ in their condition alone."""
    planted: tuple[str, ...] = ()
    """Ids of what was altered in the report."""


class Expectation(Frozen):
    """Expected behaviour of one score."""

    protocol: str
    path: str
    """Path of the score, `a/b/c`."""
    shape: Shape | None
    """None if only the paper's figures are known, which show no direction."""
    ideal: tuple[float, ...] = ()
    """Score of a perfect judge under each condition, divided by `scale`, from 0 to 1; empty if it is not known and only
    the direction in each pair counts."""
    scale: float = 1.0
    """Greatest possible score."""
    paper: tuple[float | None, ...] = ()
    """Published figure under each condition, from 0 to 1; None for one that is not printed; empty if there are none."""
    ideal_change: float | None = None
    """Relative change of the ideal; see `relative_change`."""
    paper_change: float | None = None
    """Published relative change from the first condition to the last; None if it is not printed."""
    approximate: bool = False
    """True if the paper describes or draws the figures without printing them."""
    source: str = ""
    """Place of the published figures."""


class Design(Frozen):
    """An experiment as it is stored beside its reports."""

    experiment: Name
    texts_sha256: str
    """Digest of its reports and pages; see `texts_digest`."""
    seed: int | None
    """Seed of the random choice of alterations; None if there is no choice."""
    conditions: tuple[Condition, ...]
    trials: tuple[Trial, ...]
    expectations: tuple[Expectation, ...]

    def where(self, condition: str) -> tuple[Trial, ...]:
        """Return the reports under one condition."""
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
    """URL that reports cite."""
    title: Line
    """Title of the page."""
    text: Text
    """Text of the page."""
    published: date | None = None
    """Day of publication."""


class Experiment(NamedTuple):
    """An experiment before a judge is chosen."""

    design: Design
    reports: tuple[RawReport, ...]
    """Reports in the order of the trials."""
    pages: tuple[PlainPage, ...]
    protocols: tuple[str, ...]
    """Default protocols."""
    settings: dict[str, dict[str, Any]]
    """Default settings of the protocols: the parts that the experiment is about."""
    today: date
    """Default day of the evaluation."""
    published: bool = True
    """The paper's figures stand beside those of the data; false for data of the user."""

    @property
    def tasks(self) -> list[Task]:
        """Tasks of the reports, each once."""
        return list({report.task.id: report.task for report in self.reports if report.task}.values())

    def expecting(self, expectations: Sequence[Expectation]) -> Experiment:
        """Return the experiment with other expectations."""
        return self._replace(design=self.design.model_copy(update={"expectations": tuple(expectations)}))


class Version(NamedTuple):
    """Text of one report under one condition."""

    trial: Trial
    text: str
    task: Task


def design(
    name: Name,
    conditions: Sequence[Condition],
    versions: Sequence[Version],
    pages: Sequence[PlainPage],
    seed: int | None = None,
) -> tuple[Design, tuple[RawReport, ...]]:
    """Return the design of an experiment without expectations, and its reports."""
    reports = tuple(
        RawReport(
            one.trial.report,
            one.text.encode(),
            one.task,
            f"reports/{one.trial.report}.md",
            task_id=one.task.id,
        )
        for one in versions
    )
    made = Design(
        experiment=name,
        texts_sha256=texts_digest(reports, pages),
        seed=seed,
        conditions=tuple(conditions),
        trials=tuple(one.trial for one in versions),
        expectations=(),
    )
    return made, reports


def relative_change(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Return the mean of (last - first) / first over pairs of scores `(first, last)`; DREAM's relative degradation.

    The paper draws one for each pair, and names their centre (DREAM, Figure 5). A pair whose first score is 0 has none;
    None if no pair has one.
    """
    changes = [(last - first) / first for first, last in pairs if first]
    return round(math.fsum(changes) / len(changes), 9) if changes else None


def cited(sentence: str, number: int) -> str:
    """Return a sentence with a citation before its last punctuation mark."""
    mark = sentence[-1] if sentence[-1] in ".!?。！？" else ""
    return f"{sentence.removesuffix(mark)} [{number}]{mark}"


def listed(pages: Sequence[PlainPage]) -> str:
    """Return the section of a report that lists these pages as its references, numbered from 1."""
    lines = (f"[{number}] {page.title}. {page.url}" for number, page in enumerate(pages, 1))
    return "## References\n\n" + "\n".join(lines) + "\n"


def texts_digest(reports: Sequence[RawReport], pages: Sequence[PlainPage]) -> str:
    """Return the SHA-256 of all reports with their ids, and of all pages."""
    digest = hashlib.sha256()
    for report in reports:
        digest.update(f"{report.id}\n{len(report.content)}\n".encode() + report.content)
    for page in pages:
        digest.update(page.model_dump_json().encode())
    return digest.hexdigest()


def packaged(name: str) -> Path:
    """Return the path of a packaged data file."""
    return Path(__file__).with_name("data") / name


def load_entries(path: Path, model: type[M]) -> tuple[M, ...]:
    """Load the entries of a data file: a list in YAML, or in JSON.

    Raises:
        InputError: the file cannot be read, is not a list or is empty, or has an entry that the model refuses.
    """
    try:
        data: object = load_yaml(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, list) or not data:
        raise InputError(f"{path}: expected a list of entries")
    entries: list[M] = []
    for number, entry in enumerate(cast("list[Any]", data), 1):
        if not is_text(repr(entry)):
            raise InputError(
                f"{path}: entry {number}: contains a lone surrogate, which cannot be written as UTF-8"
            )
        try:
            entries.append(model.model_validate(entry))
        except ValidationError as error:
            raise InputError(f"{path}: entry {number}: {first_problem(error, 'the entry', model)}") from None
    return tuple(entries)


def once(path: Path, what: str, values: Sequence[str]) -> None:
    """Raise InputError for a value that occurs twice."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise InputError(f"{path}: {what} {value!r} occurs twice")
        seen.add(value)


def occurs(path: Path, entry: str, sentence: str, *texts: str) -> None:
    """Raise InputError unless `sentence` occurs exactly once in the texts."""
    n = sum(text.count(sentence) for text in texts)
    if n != 1:
        raise InputError(f"{path}: {entry}: {sentence!r} occurs {n} times in its text, not once")


def taken(entries: Sequence[T], n: int | None, what: str) -> Sequence[T]:
    """Return the first `n` entries, or all for None. Raises ConfigError if there are fewer."""
    if n is not None and not 1 <= n <= len(entries):
        raise ConfigError(f"--topics {n}: there are {len(entries)} {what}; choose 1 to {len(entries)}")
    return entries[:n]
