"""DEER's files of the rubric.

Invariant: `others_file` has the fields, names and arithmetic of the published project's `others/<sample>.json`, and
`findings_of` takes such a file back to findings, so that reading one and writing it again gives the same JSON. An item
that failed is written as "N/A", which is all that the format has for it, and its description says that it failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from local_judge.protocols.deer.formats.files import NA, ItemScore, OthersFile
from local_judge.protocols.deer.rubric import upstream
from local_judge.protocols.deer.rubric.findings import Grade, RubricFindings

JsonObject = dict[str, object]


def others_file(findings: RubricFindings, sample_id: int) -> JsonObject:
    """The content of `others/<sample_id:04d>.json`. Raises ValueError unless items were judged.

    The rationale is the item's description. Scores of a 5-point scale are written on the scale from 1 to 10.
    """
    items = upstream.items_of(findings)
    described = {grade.path: _description(grade) for grade in findings.grades}
    scores = {
        dimension: {
            part: {
                criterion: {
                    item: {
                        "description": described[dimension, part, criterion, item],
                        "score": NA if score is None else _whole(score),
                    }
                    for item, score in group.items()
                }
                for criterion, group in criteria.items()
            }
            for part, criteria in parts.items()
        }
        for dimension, parts in items.items()
    }
    return {"sample_id": sample_id, "scores": scores, **_averages(items)}


def findings_of(file: OthersFile) -> RubricFindings:
    """The answers in a file of the published code. Raises ValueError for a score that is not a whole one from 1 to 10.

    The file does not say whether guidance was shown, nor what was quoted.
    """
    return RubricFindings(
        grades=tuple(
            _grade((dimension, part, criterion, id), item)
            for dimension, parts in file.scores.items()
            for part, criteria in parts.items()
            for criterion, items in criteria.items()
            for id, item in items.items()
        )
    )


def with_na(value: object) -> object:
    """Nested data with "N/A" for None, as the code writes it."""
    if isinstance(value, Mapping):
        return {key: with_na(part) for key, part in cast("Mapping[str, object]", value).items()}
    return NA if value is None else value


def without_na(value: object) -> object:
    """Nested data with None for "N/A"."""
    if isinstance(value, Mapping):
        return {key: without_na(part) for key, part in cast("Mapping[str, object]", value).items()}
    return None if value == NA else value


def _averages(items: upstream.Items) -> JsonObject:
    found = upstream.averages(items)
    return {
        "element_avgs": with_na(found.elements),
        "criteria_avgs": with_na(found.criteria),
        "score_avgs": with_na(found.scores),
        "score": with_na(found.score),
    }


def _description(grade: Grade) -> str:
    if grade.status != "failed":
        return grade.rationale
    return f"Failed: {grade.failure.kind}: {grade.failure.detail}" if grade.failure else "Failed"


def _whole(score: float) -> float:
    """A whole number as the judge's: 7 and not 7.0."""
    return int(score) if score.is_integer() else score


def _grade(path: tuple[str, ...], item: ItemScore) -> Grade:
    if item.score == NA:
        return Grade(path=path, status="not_applicable", rationale=item.description)
    if not isinstance(item.score, int) or not 1 <= item.score <= 10:
        raise ValueError(f"{'.'.join(path)}: {item.score} is no whole number from 1 to 10")
    return Grade(path=path, status="scored", score=item.score, judged=item.score, rationale=item.description)
