"""DeepResearchEval's result files read as findings.

    quality_results.json    scores of all criteria, by task and system; any name
    task_ID.json            checked statements of one report
    SYSTEM/task_*.json      the same of several systems, also in a folder `results`

A folder may have both kinds: a report has one id in both, by system and task.

Invariants: criteria and weights are those of the file. Scores are computed from the answers, and a file whose
`final_scores` do not follow from them is refused. A dimension without all answers, which the published code counts as
0, has failed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import JsonValue, ValidationError

from local_judge.base.errors import InputError, first_problem
from local_judge.base.failures import Failure
from local_judge.base.rows import number_in, object_of, row_of
from local_judge.protocols.deepresearcheval import upstream
from local_judge.protocols.deepresearcheval.facts.files import ResultFile, read_results, result_files
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings
from local_judge.protocols.deepresearcheval.findings import TOP, DreFindings, QualityFindings
from local_judge.protocols.file_formats import (
    Imported,
    ImportedReport,
    content_id,
    file_digest,
    folder_name,
    read_record,
)
from local_judge.protocols.stated import Stated
from local_judge.rubric.answers import Rating
from local_judge.tasks.dimensions import GENERAL, PublishedTask, key_of
from local_judge.tasks.model import Criterion, QualityDimension, QualityDimensions

RESULTS = "quality_results.json"
FACTS = "results"
READ = ("query", "report")
"""Parts of a record: the entry of the task without its reports, and that of the report."""

Object = Mapping[str, Any]


class _Key(NamedTuple):
    system: str
    task: str


class _Quality(NamedTuple):
    findings: QualityFindings
    request: str
    record: dict[str, JsonValue]
    """Entries as they were read; see `READ`."""


def read_published(path: Path) -> Imported[DreFindings]:
    """Return the findings in a file or folder.

    Raises:
        InputError: it cannot be read or has another form; names the place and the fault.
    """
    quality_file, facts_files = _files(path)
    quality = {} if quality_file is None else _quality(quality_file)
    systems = {folder_name(key.system): key.system for key in quality}
    facts: dict[_Key, FactsFindings] = {}
    for file in facts_files:
        folder = file.path.resolve().parent.name
        key = _Key(systems.get(folder, folder), file.task)
        if key in facts:
            raise InputError(f"{file.path}: a second file of {key.system[:60]} on task {key.task[:60]}")
        facts[key] = read_results(file.path)
    keys = list(dict.fromkeys((*quality, *facts)))
    several = len({key.system for key in keys}) > 1
    reports = [
        _report(f"{key.system}/{key.task}" if several else key.task, key, quality.get(key), facts.get(key))
        for key in keys
    ]
    paths = [*([quality_file] if quality_file else []), *(file.path for file in facts_files)]
    return Imported(reports, file_digest(*paths))


def _files(path: Path) -> tuple[Path | None, list[ResultFile]]:
    """Return the file of quality, if there is one, and those of facts."""
    if path.is_file() and not path.name.startswith("task_"):
        return path, []
    if not path.is_dir():
        return None, result_files(path)
    quality = path / RESULTS
    found = quality if quality.is_file() else None
    folders = [path, *(path / FACTS).glob("*/"), *(path.glob("*/") if found is None else ())]
    facts = [
        file for folder in sorted(folders) if any(folder.glob("task_*.json")) for file in result_files(folder)
    ]
    if found is None and not facts:
        raise InputError(f"{path}: contains neither {RESULTS} nor a file task_*.json")
    return found, facts


def _report(
    case: str, key: _Key, quality: _Quality | None, facts: FactsFindings | None
) -> ImportedReport[DreFindings]:
    checked = facts.model_dump(mode="json") if facts else None
    findings = DreFindings(
        case=case,
        document=content_id(quality.record if quality else None, checked),
        task=key.task,
        request=None if quality is None else quality.request,
        quality=None if quality is None else quality.findings,
        facts=facts,
        stated=None if quality is None else Stated(scores=(), record=quality.record),
    )
    return ImportedReport(findings, key.task, key.system)


def _quality(path: Path) -> dict[_Key, _Quality]:
    data = read_record(path)
    found: dict[_Key, _Quality] = {}
    for task, result in object_of(data.get("query_results"), f"{path}: query_results").items():
        place = f"{path}: query_results.{task[:60]}"
        found |= {_Key(system, task): one for system, one in _of_task(object_of(result, place), place)}
    if not found:
        raise InputError(f"{path}: no report in query_results")
    return found


def _of_task(result: Object, place: str) -> Iterator[tuple[str, _Quality]]:
    """Yield the quality of each system's report on one task."""
    reports = object_of(result.get("model_results"), f"{place}: model_results")
    if not reports:
        return
    entry = row_of(PublishedTask, dict(result), place)
    if entry.query_prompt is None:
        raise InputError(f"{place}: query_prompt: expected a text")
    dimensions = _dimensions(entry, place)
    query = {name: value for name, value in result.items() if name != "model_results"}
    for system, report in reports.items():
        where = f"{place}: model_results.{system[:60]}"
        own = object_of(report, where)
        findings = _read_scores(own, result, dimensions, where)
        record = cast("dict[str, JsonValue]", dict(zip(READ, (query, own), strict=True)))
        yield system, _Quality(findings, entry.query_prompt, record)


def _dimensions(entry: PublishedTask, place: str) -> QualityDimensions:
    """Return the dimensions of a task with the file's weights."""
    try:
        named = {
            upstream.dimension_key(one.meta_dimension_name): one.meta_dimension_name
            for one in entry.additional_dimensions
        }
        dimensions = [
            QualityDimension(
                id=key_of(key),
                name=GENERAL[key][0] if key in GENERAL else named[key],
                definition=entry.all_dims_with_definition[key],
                kind="general" if key in GENERAL else "specific",
                weight=entry.dimension_weights[key],
                criteria=tuple(
                    Criterion(
                        id=f"{key_of(key)}.{number}",
                        criterion=one.criterion,
                        explanation=one.explanation,
                        weight=one.weight,
                    )
                    for number, one in enumerate(criteria, 1)
                ),
            )
            for key, criteria in entry.all_criteria.items()
        ]
        found = QualityDimensions(dimensions=tuple(dimensions))
    except ValidationError as error:
        raise InputError(f"{place}: {first_problem(error, 'the dimensions')}") from None
    except KeyError as error:
        raise InputError(f"{place}: has no entry for {str(error.args[0])[:60]!r}") from None
    ids = [one.id for one in dimensions]
    if len(set(ids)) < len(ids):
        raise InputError(f"{place}: two dimensions of the task have one name")
    return found


def _read_scores(
    report: Object, result: Object, dimensions: QualityDimensions, place: str
) -> QualityFindings:
    raw = object_of(report.get("raw_scores"), f"{place}: raw_scores")
    stated = object_of(report.get("final_scores"), f"{place}: final_scores")
    try:
        final = upstream.final_scores(raw, result["all_criteria"], result["dimension_weights"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError(f"{place}: raw_scores: not in the form of DeepResearchEval") from None
    for name in dict.fromkeys((*final, *stated)):
        ours, theirs = final.get(name), number_in(stated.get(name))
        if theirs is None or ours is None:
            raise InputError(f"{place}: final_scores.{name[:60]} is {str(stated.get(name))[:40]}, not {ours}")
        if not isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9):
            raise InputError(f"{place}: final_scores.{name} is {theirs}, and {ours} follows from raw_scores")
    scores: list[Rating] = []
    for key, dimension in zip(result["all_criteria"], dimensions.dimensions, strict=True):
        scores += _answers(raw.get(key), dimension)
    return QualityFindings(dimensions=dimensions, origin="judge", scores=tuple(scores))


def _answers(given: object, dimension: QualityDimension) -> Iterator[Rating]:
    """Yield one answer for each criterion: those at the same place with the same text, as in the published code."""
    listed = cast("list[object]", given) if isinstance(given, list) else []
    for number, criterion in enumerate(dimension.criteria):
        entry: object = listed[number] if number < len(listed) else None
        row = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
        score, analysis = number_in(row.get("report_score_0_to_10"), 0, TOP), row.get("analysis")
        if row.get("criterion") == criterion.criterion and score is not None:
            yield Rating(
                id=criterion.id,
                score=float(score),
                rationale=analysis if isinstance(analysis, str) else "",
            )
        else:
            why = "published file: no score from 0 to 10 for this criterion"
            yield Rating(id=criterion.id, failure=Failure(kind="incomplete", detail=why))
