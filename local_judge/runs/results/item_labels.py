"""Labels by people of single items of reports, joined with the answers of judges.

A label belongs to an item by report and item, and by metric, page and judge where these do not suffice
(`runs.item_answers`).

Invariants: no one labels an item twice; a label that names several items is refused; a label without its item, or of an
item with another text, is counted and in no figure. An answer that failed is no answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from local_judge.base.errors import InputError
from local_judge.base.output import count
from local_judge.base.rows import read_cells
from local_judge.runs.results.item_answers import (
    CLAIMS,
    VOCABULARY,
    ItemAnswer,
    answers_of,
    item_url,
    judge_names,
)
from local_judge.runs.results.joining import Method
from local_judge.runs.results.ratings import NUMBER, Unit
from local_judge.scoring.node import Profile
from local_judge.stats.agreement.inter_judge import Answer
from local_judge.stats.agreement.items import LabelledItem

COLUMNS = (
    *("report", "task", "system", "judge", "metric", "item", "claim"),
    *("url", "text", "annotator", "label"),
)
"""Columns that are read; `claim` is an item of the metric `claims`, as `lab label` writes it."""

UNCLEAR = "unclear"
"""Label of an item that a person could not decide; it enters no figure."""


class ItemLabel(NamedTuple):
    """One person's label of one item."""

    unit: Unit
    """Report: its id, or its task and system."""
    judge: str
    metric: str
    item: str
    url: str
    text: str
    """Text of the item; empty, as `judge`, `metric` and `url`, if the file does not name it."""
    annotator: str
    label: str
    place: str
    """File and line, for messages."""


class ItemLabels(NamedTuple):
    """Labels of a file, in its order."""

    rows: tuple[ItemLabel, ...]
    n_empty: int
    """Rows without a label, or with `unclear`."""


class LabelledMetric(NamedTuple):
    """Labelled items of one metric."""

    metric: str
    items: tuple[LabelledItem, ...]
    judges: tuple[str, ...]
    """Judges that have one of the items."""
    n_unanswered: Mapping[str, int]
    """Labelled items without an answer, by judge."""
    strange: tuple[str, ...]
    """Labels that no judge gave to an item of the metric, and that `same` does not name."""


class LabelledRuns(NamedTuple):
    """Labels joined with the answers of judges."""

    metrics: tuple[LabelledMetric, ...]
    """Labelled metrics in the order of the labels."""
    n_labels: int
    n_empty: int
    """Rows without a label, or with `unclear`."""
    absent: tuple[str, ...]
    """Labels of reports that are not in the runs, or of items that no judge has."""
    other_text: tuple[str, ...]
    """Labels of items with another text."""


def has_item_labels(path: Path) -> bool:
    """Check whether a file has labels of items and no ratings of reports, by its columns.

    Raises:
        InputError: the file cannot be read.
    """
    names = {*read_cells(path, ()).names}
    return "label" in names and not names.isdisjoint({"item", "claim"})


def load_item_labels(path: Path) -> ItemLabels:
    """Read labels from a CSV file (`.csv`) or a JSONL file (any other name).

    Each row has `annotator`, `label`, `item` or `claim`, and `report` (the report's id) or `task` and `system`.

    Raises:
        InputError: the file cannot be read, a row is invalid, or there are no labels.
    """
    rows: list[ItemLabel] = []
    seen: dict[tuple[object, ...], str] = {}
    n_empty = 0
    cells = read_cells(path, COLUMNS, ("label", "item"))
    for place, row in cells.rows:
        label = _label({name: row.get(name, "") for name in COLUMNS}, place)
        before = seen.setdefault((*label[:5], label.annotator), place)
        if before != place:
            raise InputError(
                f"{place}: {label.annotator!r} has already labelled {label.item!r} of {_said(label.unit)}, in {before}"
            )
        if label.label in ("", UNCLEAR):
            n_empty += 1
        else:
            rows.append(label)
    if not rows:
        raise InputError(f"{path}: no labels in it")
    return ItemLabels(tuple(rows), n_empty)


def _label(row: Mapping[str, str], place: str) -> ItemLabel:
    item = row["item"] or row["claim"]
    if not row["annotator"] or not item:
        raise InputError(f"{place}: a label needs `annotator` and `item`")
    if not row["report"] and not (row["task"] and row["system"]):
        raise InputError(f"{place}: a label needs `report`, or `task` and `system`")
    unit = (row["report"],) if row["report"] else (row["task"], row["system"])
    metric = row["metric"] or (CLAIMS if row["claim"] and not row["item"] else "")
    return ItemLabel(
        unit,
        row["judge"],
        metric,
        item,
        item_url(row["url"]),
        row["text"],
        row["annotator"],
        row["label"],
        place,
    )


def _said(unit: Unit) -> str:
    return " by ".join(map(repr, unit))


def label_items(
    labels: ItemLabels,
    methods: Sequence[Method],
    protocol: str | None,
    profile: Profile,
    same: Sequence[Sequence[str]] = (),
) -> LabelledRuns:
    """Join labels with the answers of judges.

    Args:
        labels: people's labels.
        methods: judges, and ensembles, which only decide winners.
        protocol: name of the protocol whose items are labelled; None for all protocols of a run.
        profile: profile whose rule decides a comparison.
        same: groups of labels that count as one, which has the name of the first.

    Raises:
        RunError: a directory contains no finished run, or not this protocol.
        InputError: a label names several items, or none of them an item of the runs.
    """
    merged = {one.casefold(): group[0].casefold() for group in same for one in group}
    judged = {method.name: answers_of(method, protocol, profile) for method in methods}
    names = {method.name: {method.name, *judge_names(method)} for method in methods}
    found: dict[str, dict[tuple[str, ...], LabelledItem]] = {}
    n_unanswered: dict[str, Counter[str]] = {}
    absent: list[str] = []
    other_text: list[str] = []
    for label in labels.rows:
        meant = {
            name: _meant(label, by_report.get(label.unit, ()))
            for name, by_report in judged.items()
            if not label.judge or label.judge in names[name]
        }
        own = _one_each(label, meant)
        same_text = {name: one for name, one in own.items() if label.text in ("", one.text.strip())}
        if not same_text:
            (other_text if own else absent).append(f"{label.item} of {' by '.join(label.unit)}")
            continue
        _check_text(label, same_text)
        metric = next(iter(same_text.values())).metric
        items = found.setdefault(metric, {})
        key = (*label.unit, label.judge, label.item, label.url)
        if key not in items:
            items[key] = LabelledItem(" by ".join(label.unit), {}, {}, frozenset(same_text))
            for name, one in same_text.items():
                if one.value is not None:
                    items[key].answers[name] = _merged(one.value, merged)
                else:
                    n_unanswered.setdefault(metric, Counter())[name] += 1
        items[key].labels[label.annotator] = _merged(label.label, merged)
    if not found:
        raise InputError(_nothing(labels, judged, len(other_text)))
    metrics = tuple(
        _metric(metric, list(items.values()), judged, n_unanswered.get(metric, Counter()), merged)
        for metric, items in found.items()
    )
    return LabelledRuns(
        metrics,
        len(labels.rows),
        labels.n_empty,
        tuple(absent),
        tuple(other_text),
    )


def _metric(
    metric: str,
    items: Sequence[LabelledItem],
    judged: Mapping[str, Mapping[Unit, Sequence[ItemAnswer]]],
    n_unanswered: Mapping[str, int],
    merged: Mapping[str, str],
) -> LabelledMetric:
    """Return the items of one metric. Raises InputError: no label is an answer that a judge gave."""
    _unify(items)
    answers = {
        _text(_merged(one.value, merged))
        for by_report in judged.values()
        for own in by_report.values()
        for one in own
        if one.metric == metric and one.value is not None
    }
    labels = {_text(label) for item in items for label in item.labels.values()}
    known = answers | set(merged) | set(merged.values()) | {*VOCABULARY.get(metric, ())}
    is_text = any(isinstance(label, str) for item in items for label in item.labels.values())
    strange = tuple(sorted(labels - known)) if is_text else ()
    if strange and labels.isdisjoint(known):
        raise InputError(
            f"{metric}: people's labels ({', '.join(strange[:5])}) are no answers of judges "
            f"({', '.join(sorted(answers)[:5])}); name what is the same, such as --same "
            f"{min(answers, default='answer')},{strange[0]}, or accept a label by --same {strange[0]}"
        )
    judges = tuple(name for name in judged if any(name in one.judges for one in items))
    return LabelledMetric(metric, tuple(items), judges, dict(n_unanswered), strange)


def _meant(label: ItemLabel, answers: Sequence[ItemAnswer]) -> list[ItemAnswer]:
    return [one for one in answers if one.item == label.item and label.metric in ("", one.metric)]


def _one_each(label: ItemLabel, meant: Mapping[str, Sequence[ItemAnswer]]) -> dict[str, ItemAnswer]:
    """Return the answer of each judge to the labelled item.

    A page tells answers of one judge apart. Where each judge has one answer, they may be about different pages, such as
    the pages that judges quote on a statement.

    Raises:
        InputError: the label names several answers of a judge.
    """
    if label.url and not any(one.url == label.url for own in meant.values() for one in own):
        return {}
    if label.url and any(len(own) > 1 for own in meant.values()):
        meant = {name: [one for one in own if one.url == label.url] for name, own in meant.items()}
    for column in ("metric", "url"):
        values = {getattr(one, column) for own in meant.values() for one in own}
        if len(values) > 1 and (column == "metric" or any(len(own) > 1 for own in meant.values())):
            listed = ", ".join(map(repr, sorted(values)[:5]))
            raise InputError(
                f"{label.place}: item {label.item!r} of {_said(label.unit)} is in {listed}; name the `{column}`"
            )
    return {name: own[0] for name, own in meant.items() if own}


def _check_text(label: ItemLabel, answers: Mapping[str, ItemAnswer]) -> None:
    """Refuse a label of an item that each judge has another one of, such as its first issue."""
    if len({one.text.strip() for one in answers.values()}) > 1:
        raise InputError(
            f"{label.place}: item {label.item!r} of {_said(label.unit)} is another item for each judge; name the "
            "`judge` or the `text`"
        )


def _merged(value: Answer, merged: Mapping[str, str]) -> Answer:
    """Return a label without letter case, under the name of its group; a number written as text is a number."""
    if not isinstance(value, str):
        return float(value)
    return merged.get(value.casefold(), value.casefold())


def _unify(items: Sequence[LabelledItem]) -> None:
    """Make all labels and answers numbers if they are such, else texts."""
    parts = [part for one in items for part in (one.labels, one.answers)]
    values = [value for part in parts for value in part.values()]
    numbers = [_number(value) for value in values]
    whole = None not in numbers
    for part in parts:
        for name, value in part.items():
            number = _number(value)
            part[name] = number if whole and number is not None else _text(value)


def _number(value: Answer) -> float | None:
    if not isinstance(value, str):
        return value
    return float(value) if NUMBER.fullmatch(value) and math.isfinite(float(value)) else None


def _text(value: Answer) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _nothing(
    labels: ItemLabels, judged: Mapping[str, Mapping[Unit, Sequence[ItemAnswer]]], n_other: int
) -> str:
    first = labels.rows[0]
    said = f"{first.place}: none of {count(len(labels.rows), 'label')} is of an item of the runs"
    if n_other:
        return f"{said}; the items of {n_other} have another text there"
    answers = next((one for by_report in judged.values() for one in by_report.values() if one), ())
    units = {unit for by_report in judged.values() for unit in by_report}
    if first.unit not in units:
        example = next(iter(units), ("no report",))
        return f"{said}; they have no report {_said(first.unit)}, but {_said(example)}"
    metrics = ", ".join(f"{one.metric} {one.item!r}" for one in answers[:3])
    return f"{said}; {_said(first.unit)} has no {first.metric} {first.item!r}; items are: {metrics}"
