"""Finished qualifications compared, and what follows written down.

    comparison.json    all of it
    comparison.md      the page
    comparison.svg     quality against cost; only with the extra `plots`

Invariant: qualifications are compared only where the judges were asked the same: the same claims on the same pages,
the same reports, prompts and settings; what differs is named. Nobody is asked anything, and the same qualifications
give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from local_judge.errors import InputError
from local_judge.judge.qualification_record import checked_record
from local_judge.lab.qualification.comparing.ensembles import ensembles
from local_judge.lab.qualification.comparing.expense import expenses, worths
from local_judge.lab.qualification.comparing.model import Comparison, Difference, Member, Worth
from local_judge.lab.qualification.comparing.orders import agreeing, stabilities
from local_judge.lab.qualification.comparing.page import comparison_page
from local_judge.lab.qualification.comparing.pairs import differences
from local_judge.lab.qualification.comparing.scores import of_runs, unaltered
from local_judge.lab.qualification.config import PARTS
from local_judge.lab.qualification.figures import Draws
from local_judge.lab.qualification.manifest import COMPARED, MANIFEST
from local_judge.lab.qualification.model import Asked, Item, PartName
from local_judge.lab.qualification.parts_run import MAKERS
from local_judge.lab.qualification.qualify import DATA, Qualification
from local_judge.reporting.plots import INSTALL, CostPanel, CostPoint, can_plot, quality_cost, svg
from local_judge.runs.manifest import difference
from local_judge.runs.store import RunStore

JSON, PAGE, PLOT = "comparison.json", "comparison.md", "comparison.svg"


class Finished(NamedTuple):
    """A qualification and where it is."""

    folder: Path
    manifest: dict[str, Any]
    found: Qualification


def load_finished(folder: Path) -> Finished:
    """A directory that `local-judge judge qualify` has filled.

    Raises:
        InputError: it holds no finished qualification, or one that was modified.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        data = json.loads((folder / DATA).read_text(encoding="utf-8"))
        checked_record(data)
        del data["record"], data["format_version"]
        return Finished(folder, manifest, Qualification.model_validate(data))
    except OSError as error:
        raise InputError(
            f"{folder}: no finished qualification ({Path(error.filename).name}: {error.strerror})"
        ) from None
    except (ValidationError, ValueError, TypeError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{folder}: not a qualification that can be read ({reason})") from None


def compare(finished: Sequence[Finished], runs: Sequence[Path] = ()) -> Comparison:
    """All that can be said of judges that were asked the same.

    Args:
        finished: two qualifications at least, in the order in which judges are to be named.
        runs: finished runs in which some of these judges scored the same reports.

    Raises:
        InputError: fewer than two, two judges of one name, or judges that were not asked the same.
        RunError: one of `runs` is no finished run.
    """
    _check_same(finished)
    judges = {one.found.judge: one for one in finished}
    config = finished[0].found.config
    draws = Draws(config.draws, config.seed)
    asked = {name: one.found.asked for name, one in judges.items()}
    items: dict[PartName, dict[str, Sequence[Item]]] = {
        part: own
        for part in PARTS
        if len(
            own := {name: found for name, ones in asked.items() if (found := _items(ones, part)) is not None}
        )
        > 1
    }
    compared: list[Difference] = []
    for part, own in items.items():
        every = {item.id: item for found in own.values() for item in found}
        measures = MAKERS[part](config).measures(list(every.values()))
        compared += differences(own, measures, draws)
    spent = expenses(asked)
    figures = {name: one.found.figures for name, one in judges.items()}
    scored = [
        row for name, one in judges.items() for row in unaltered(one.folder, name, one.found.examined.reports)
    ]
    scored += of_runs(runs, {name: one.found.identity for name, one in judges.items()})
    return Comparison(
        judges=tuple(_member(one, asked[name]) for name, one in judges.items()),
        snapshot=finished[0].found.examined.snapshot,
        reports=finished[0].found.examined.reports,
        seed=draws.seed,
        draws=draws.n,
        differences=tuple(compared),
        expenses=tuple(spent),
        worth=tuple(worths(figures, spent, compared)),
        ensembles=tuple(ensembles(items.get("verification", {}), spent, draws)),
        agreeing=tuple(agreeing(scored, list(judges), draws)),
        stability=tuple(stabilities(scored, list(judges), draws)),
    )


def write_comparison(out: Path, found: Comparison) -> None:
    """Write the page, the numbers and the plot; without matplotlib, the page says that the plot is missing.

    Raises:
        RunError: one cannot be written.
    """
    store = RunStore(out)
    store.write_json(JSON, found)
    title = "Quality against cost"
    picture = ""
    panels = cost_panels(found)
    if panels and can_plot():
        store.write_text(PLOT, svg(quality_cost(panels), title))
        picture = f"![{title}]({PLOT})"
    elif panels:
        picture = f"{title} is not drawn: {INSTALL}"
    store.write_text(PAGE, comparison_page(found, picture))


def cost_panels(found: Comparison) -> list[CostPanel]:
    """Each figure of quality against tokens and against seconds, of the judges that have both."""
    axes: tuple[tuple[str, Callable[[Worth], float | None]], ...] = (
        ("computed and generated tokens a claim", lambda one: one.tokens),
        ("seconds a claim", lambda one: one.seconds),
    )
    panels: list[CostPanel] = []
    for figure in dict.fromkeys(one.figure for one in found.worth):
        for label, cost in axes:
            points = [
                CostPoint(one.judge, spent, one.value, one.low, one.high, bool(one.dominated_by))
                for one in found.worth
                if one.figure == figure and one.value is not None and (spent := cost(one)) is not None
                if spent > 0
            ]
            if points:
                panels.append(CostPanel(figure, label, points))
    return panels


def _items(asked: Sequence[Asked], part: PartName) -> Sequence[Item] | None:
    return next((one.items for one in asked if one.part == part), None)


def _member(one: Finished, asked: Sequence[Asked]) -> Member:
    found = one.found
    return Member(
        name=found.judge,
        model=found.identity.model,
        in_all=found.record().in_all,
        n_items=sum(len(own.items) for own in asked),
        n_unanswered=found.n_unanswered,
    )


def _check_same(finished: Sequence[Finished]) -> None:
    if len({one.folder for one in finished}) < 2:
        raise InputError("1 judge cannot be compared; name two at least")
    first, names = finished[0], dict[str, Path]()
    for one in finished:
        before = names.setdefault(one.found.judge, one.folder)
        if before != one.folder:
            raise InputError(
                f"{one.folder}: {one.found.judge!r} is the judge of {before} too; give one of them another name"
            )
        for key in COMPARED:
            if key == "judge" or one.manifest.get(key) == first.manifest.get(key):
                continue
            where = _where(key, first.manifest, one.manifest)
            raise InputError(
                f"{one.folder}: {one.found.judge!r} was not asked the same as {first.found.judge!r} in {first.folder}: "
                f"another {where}"
            )


def _where(key: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    return ".".join([key, *map(str, difference(one.get(key), other.get(key)))])
