"""FACT's files: `extracted.jsonl`, `deduplicated.jsonl`, `validated.jsonl`, `fact_result.txt`, one folder per system.

Invariants: `fact_result` is the arithmetic of the published code's `stat` step (v1.0), on whole numbers and in its
order, including its division by zero, and computes from `validated.jsonl` what `fact_result.txt` contains. A row that
is read becomes findings whose `upstream` scores are that arithmetic's. A report without findings has no row and is
named.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from indexes.model import SourceStatus
from local_judge.base.errors import InputError, first_problem
from local_judge.base.failures import Failure
from local_judge.base.output import count
from local_judge.base.rows import is_text, read_jsonl, row_id
from local_judge.protocols.fact.findings import REASONS, FactFindings, Judged, Pair, Reason, Repeat
from local_judge.protocols.fact.published import MEANS, STATED, read_means_of_systems
from local_judge.protocols.file_formats import (
    Glimpse,
    Imported,
    ImportedReport,
    NumberedFormat,
    NumberedReport,
    ReadableFormat,
    file_digest,
    folder_system,
    jsonl_text,
)
from local_judge.protocols.leaderboard import columns

JsonObject = dict[str, object]

VALIDATED = "validated.jsonl"

SUPPORTED, UNKNOWN = "supported", "unknown"
"""The two of the code's labels that it compares with, letter by letter: any other is a citation without support."""

STATUSES: tuple[SourceStatus, ...] = get_args(SourceStatus)

SCRAPE_FAILED = "scrape failed: "
"""Begins the text that the code keeps in place of a page."""


class FactResult(NamedTuple):
    """The three numbers of `fact_result.txt`."""

    total_citations: float
    total_valid_citations: float
    valid_rate: float

    def text(self) -> str:
        """Return the file's content."""
        return "".join(f"{name}: {value}\n" for name, value in self._asdict().items())


def fact_result(reports: Iterable[FactFindings]) -> FactResult:
    """Return the numbers that the published code prints for these reports.

    Formula (`utils/stat.py`): over the N reports with citations, total = pairs that are not unknown, valid = supported
    ones; total / N, valid / N, valid / total.

    Raises:
        ZeroDivisionError: no report has citations, or no pair is known.
    """
    total = valid = n = 0
    for findings in reports:
        if not findings.n_citations or not findings.extracted:
            continue
        n += 1
        for pair in findings.pairs:
            if pair.outcome != "unknown":
                total += 1
                valid += pair.outcome == "supported"
    return FactResult(total / n, valid / n, valid / total)


class _Row(BaseModel):
    """A published row, or a part of one. Unknown keys are ignored; only keys that are set are written."""

    model_config = ConfigDict(frozen=True)


class CitationRow(_Row):
    """A statement with its citation."""

    fact: str
    ref_idx: int | str | None = None
    url: str


class JudgedRow(_Row):
    """A result of the published code."""

    idx: int
    result: str
    reason: Literal["judge_failed", "not_extracted", "tied"] | None = None
    """Written by this project only: failure of one of several statements on a URL."""


class CitedPage(_Row):
    """The statements on one URL."""

    facts: tuple[str, ...]
    url_content: str | None = None


class PageRow(CitedPage):
    """The statements on one URL with their results."""

    article_id: JsonValue = None
    validate_res: tuple[JudgedRow, ...] | None
    validate_error: str | None


P = TypeVar("P", bound=CitedPage)


class ReportRow(_Row, Generic[P]):
    """A report in one of the three files; without pages in `extracted.jsonl`."""

    id: JsonValue = None
    prompt: str = ""
    article: str = ""
    citations: tuple[CitationRow, ...]
    citations_deduped: dict[str, P] = Field(default_factory=dict[str, P])


def read_validated(path: Path) -> tuple[FactFindings, ...]:
    """Return the findings of a `validated.jsonl`, one for each row, in order.

    Raises:
        InputError: names the line and its fault.
    """
    return findings_of(read_jsonl(path))


def findings_of(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[FactFindings, ...]:
    """Return the findings of validated rows, each given with its place.

    A label other than "supported" and "unknown" is `unsupported`, as the code counts it, and kept as it was written.
    "unknown" on a page that was not scraped is the page's status, if the file names one, else `not_in_snapshot`.
    Facts of a URL with a `validate_error`, and facts without result, are `judge_failed`. A result belongs to the fact
    of its `idx`, from 0; where the results of a URL do not number its facts so, to the one at its own position.

    Raises:
        InputError: names the place and its fault.
    """
    found: dict[str, FactFindings] = {}
    for place, row in rows:
        case = row_id(dict(row), place)
        if case is None:
            raise InputError(f"{place}: no id")
        if case in found:
            raise InputError(f"{place}: id {case!r} occurs twice")
        if not is_text(json.dumps(row, ensure_ascii=False)):
            raise InputError(f"{place}: contains a lone surrogate, which cannot be written as UTF-8")
        if isinstance(row.get("citations"), str):
            raise InputError(
                f"{place}: citations: {row['citations']!r}: leave the row out and count it as missing"
            )
        try:
            read = ReportRow[PageRow].model_validate(row)
        except ValidationError as error:
            raise InputError(f"{place}: {first_problem(error, 'the row')}") from None
        found[case] = _findings(case, read, place)
    return tuple(found.values())


def _findings(case: str, row: ReportRow[PageRow], place: str) -> FactFindings:
    keys = {(citation.fact, citation.url): str(citation.ref_idx or "") for citation in row.citations}
    pairs = tuple(
        pair for url, page in row.citations_deduped.items() for pair in pairs_on(url, page, keys, place)
    )
    kept = {(pair.statement, pair.url) for pair in pairs}
    return FactFindings(
        case=case,
        document=hashlib.sha256(row.article.encode()).hexdigest()[:16],
        source="file",
        prompt=row.prompt,
        article=row.article,
        pairs=pairs,
        repeats=tuple(
            Repeat(statement=fact, url=url, key=key)
            for (fact, url), key in keys.items()
            if (fact, url) not in kept
        ),
        n_citations=len(row.citations),
    )


def pairs_on(url: str, page: PageRow, keys: Mapping[tuple[str, str], str], place: str) -> Iterator[Pair]:
    """Yield the pairs of one URL, with the keys of their citations.

    Raises:
        InputError: there are more results than facts; names `place`.
    """
    results = page.validate_res or ()
    if len(results) > len(page.facts):
        raise InputError(f"{place}: {url}: {len(results)} results for {len(page.facts)} facts")
    numbers = [result.idx for result in results]
    if len(set(numbers)) < len(numbers) or not set(numbers) <= set(range(len(page.facts))):
        numbers = list(range(len(results)))  # the code does not look at what the judge has numbered
    by_number = dict(zip(numbers, (result.result for result in results), strict=True))
    reasons: dict[int, Reason | None] = {
        number: result.reason for number, result in zip(numbers, results, strict=True)
    }
    missing = _not_scraped(page.url_content)
    for number, fact in enumerate(page.facts):
        label = by_number.get(number)
        pair = partial(Pair, statement=fact, url=url, key=keys.get((fact, url), ""))
        if page.validate_error is not None or label is None:
            detail = " ".join((page.validate_error or "no result for this fact").split())
            failure = Failure(kind="incomplete", detail=detail)
            yield pair(outcome="unknown", reason="judge_failed", failure=failure)
        elif label == UNKNOWN:
            reason = reasons.get(number) or missing
            judged = None if reason else Judged(label=label)
            yield pair(outcome="unknown", reason=reason or "judged_unknown", judged=judged)
        else:
            outcome = "supported" if label == SUPPORTED else "unsupported"
            yield pair(outcome=outcome, judged=Judged(label=label))


def _not_scraped(content: str | None) -> Reason | None:
    """Return the status of a page that was not scraped; None for a page with a text."""
    if content is None or not content.startswith(SCRAPE_FAILED):
        return None
    said = content.removeprefix(SCRAPE_FAILED).strip()
    for reason in REASONS:
        if reason in STATUSES and reason == said:
            return reason
    return "not_in_snapshot"


class Rows(NamedTuple):
    """One report's rows of the three files."""

    extracted: JsonObject
    deduplicated: JsonObject
    validated: JsonObject


def rows_of(findings: FactFindings, id: int) -> Rows:
    """Return the rows of a report under a whole number, which is what the code joins by.

    The pages' texts are left out: they are in the snapshot, and `stat` does not read them. The format knows a failure
    only of a whole URL: where others of its statements have a label, one that failed is written as "unknown", which
    `stat` leaves out alike.
    """
    by_url: dict[str, list[Pair]] = {}
    for pair in findings.pairs:
        by_url.setdefault(pair.url, []).append(pair)
    report: dict[str, Any] = {
        "id": id,
        "prompt": findings.prompt,
        "article": findings.article,
        "citations": tuple(
            CitationRow(fact=one.statement, ref_idx=_index(one.key), url=one.url)
            for one in (*findings.pairs, *findings.repeats)
        ),
    }
    pages = {
        url: CitedPage(facts=tuple(pair.statement for pair in group), url_content=None)
        for url, group in by_url.items()
    }
    judged = {url: _page_row(pages[url], group, id) for url, group in by_url.items()}
    rows = (
        ReportRow[CitedPage](**report),
        ReportRow[CitedPage](**report, citations_deduped=pages),
        ReportRow[PageRow](**report, citations_deduped=judged),
    )
    return Rows(*(row.model_dump(mode="json", exclude_unset=True) for row in rows))


def _page_row(page: CitedPage, group: Sequence[Pair], id: int) -> PageRow:
    failed = all(pair.reason in ("judge_failed", "not_extracted") for pair in group)
    detail = next((pair.failure.detail for pair in group if pair.failure), "the judge gave no answer")
    status = next((pair.reason for pair in group if pair.reason in STATUSES), None)
    return PageRow(
        facts=page.facts,
        url_content=f"{SCRAPE_FAILED}{status}" if status else None,
        article_id=id,
        validate_res=() if failed else tuple(_result(index, pair) for index, pair in enumerate(group)),
        validate_error=detail if failed else None,
    )


def _result(index: int, pair: Pair) -> JudgedRow:
    """Return a statement's result; a failure beside other results has a key more than the published rows."""
    label = UNKNOWN if pair.outcome == "unknown" else pair.judged.label if pair.judged else pair.outcome
    if pair.reason in ("judge_failed", "not_extracted", "tied"):
        return JudgedRow(idx=index, result=label, reason=pair.reason)
    return JudgedRow(idx=index, result=label)


def _index(key: str) -> int | str:
    """`ref_idx`: a number where the citation is one, 0 for a bare link."""
    return (
        int(key) if key.isascii() and key.isdecimal() and len(key) < 10 else 0 if "://" in key else key or 0
    )


class FactFiles(NumberedFormat[FactFindings], ReadableFormat[FactFindings]):
    """`extracted.jsonl`, `deduplicated.jsonl`, `validated.jsonl`, `fact_result.txt`; a row's id is the number."""

    title = "FACT"
    reads = "a `validated.jsonl`, a `fact_result.txt`, their folder, or a leaderboard (CSV or Markdown)"

    def describe(self, findings: FactFindings) -> tuple[bool, dict[str, Any]]:
        """Count the pairs that failed."""
        if findings.stated is not None:
            return False, {"left_out": "a mean over reports, which has no row"}
        if not findings.extracted:
            return False, {"left_out": "no statement was extracted"}
        return True, {"n_failed": sum(pair.failed for pair in findings.pairs)}

    def files(self, numbered: Mapping[int, FactFindings]) -> Mapping[str, str]:
        """Return the four files; without `fact_result.txt` if the published code would divide by zero."""
        rows = [rows_of(findings, number) for number, findings in numbered.items()]
        files = {
            f"{name}.jsonl": jsonl_text(row[index] for row in rows) for index, name in enumerate(Rows._fields)
        }
        with suppress(ZeroDivisionError):  # the published code stops and writes none
            files[MEANS] = fact_result(numbered.values()).text()
        return files

    def notes(self, written: Sequence[NumberedReport]) -> list[str]:
        """Say how failures are written."""
        n_failed = sum(row.n_failed for row in written)
        note = f"{count(n_failed, 'pair')} failed, written as unknown or with the error of their URL"
        return [note] if n_failed else []

    def recognises(self, seen: Glimpse) -> bool:
        """Recognise rows by their keys, means by their name, and a leaderboard by its columns."""
        rows = "citations" in seen.keys or seen.has(VALIDATED)
        return rows or seen.has(MEANS) or bool(set(STATED) & columns(seen.text))

    def read(self, path: Path) -> Imported[FactFindings]:
        """Return the rows as reports, which have the rows' ids; a mean over reports is one report of its system."""
        if path.is_dir():
            files = [path / name for name in (VALIDATED, MEANS) if (path / name).is_file()]
            if not files:
                raise InputError(f"{path}: contains neither {VALIDATED} nor {MEANS}")
            path = files[0]
        if path.suffix != ".jsonl":
            return Imported(read_means_of_systems(path), file_digest(path))
        system = folder_system(path, "fact")
        reports = [ImportedReport(one, one.case, system, one.article) for one in read_validated(path)]
        if not reports:
            raise InputError(f"{path}: no rows in it")
        return Imported(reports, file_digest(path))
