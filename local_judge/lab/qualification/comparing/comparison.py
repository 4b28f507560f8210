"""Reads finished qualifications, compares them, and writes the result.

    comparison.json    all data
    comparison.md      the page
    comparison.svg     quality and cost; only with the extra `plots`

Invariant: qualifications are compared only if the judges were asked the same: the same claims on the same pages,
reports, prompts and settings; the message names what differs. No model calls are made, and the same qualifications give
the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from local_judge.base.errors import InputError, reason_of
from local_judge.base.files import MOST_JSON, read_file
from local_judge.judge.qualification_record import checked_record
from local_judge.lab.qualification.comparing.ensembles import ensembles
from local_judge.lab.qualification.comparing.expense import expenses, quality_costs
from local_judge.lab.qualification.comparing.model import Comparison, Difference, Member, QualityCost
from local_judge.lab.qualification.comparing.orders import agreeing, of_runs, stabilities, unaltered
from local_judge.lab.qualification.comparing.page import comparison_page
from local_judge.lab.qualification.comparing.pairs import differences
from local_judge.lab.qualification.figures import Draws
from local_judge.lab.qualification.model import Item, PartName
from local_judge.lab.qualification.parts import PARTS
from local_judge.lab.qualification.qualify import COMPARED, DATA, MANIFEST, Qualification
from local_judge.reporting.plots import INSTALL, CostPanel, CostPoint, can_plot, quality_cost, svg
from local_judge.runs.storage.manifest import difference
from local_judge.runs.storage.store import RunStore

JSON, PAGE, PLOT = "comparison.json", "comparison.md", "comparison.svg"


class Finished(NamedTuple):
    """A qualification and its directory."""

    folder: Path
    manifest: dict[str, Any]
    found: Qualification


def load_finished(folder: Path) -> Finished:
    """Load a directory that `local-judge judge qualify` wrote.

    Raises:
        InputError: it contains no finished qualification, or one that was modified.
    """
    try:
        manifest = json.loads(read_file(folder / MANIFEST, MOST_JSON))
        data = json.loads(read_file(folder / DATA, MOST_JSON))
        checked_record(data)
        del data["record"], data["format_version"]
        return Finished(folder, manifest, Qualification.model_validate(data))
    except OSError as error:
        raise InputError(
            f"{folder}: no finished qualification ({Path(error.filename).name}: {reason_of(error)})"
        ) from None
    except (ValidationError, ValueError, TypeError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{folder}: not a qualification that can be read ({reason})") from None


def compare(finished: Sequence[Finished], runs: Sequence[Path] = ()) -> Comparison:
    """Compare judges that were asked the same.

    Args:
        finished: at least two qualifications, in the order in which judges are listed.
        runs: finished runs in which some of these judges scored the same reports.

    Raises:
        InputError: fewer than two qualifications, two judges of one name, or judges that were not asked the same.
        RunError: one of `runs` is not a finished run.
    """
    _check_same(finished)
    judges = {one.found.judge: one for one in finished}
    config, examined = finished[0].found.config, finished[0].found.examined
    draws = Draws(config.draws, config.seed)
    asked = {name: one.found.asked for name, one in judges.items()}
    items: dict[PartName, dict[str, Sequence[Item]]] = {part: {} for part in PARTS}
    for name, records in asked.items():
        for record in records:
            items[record.part][name] = record.items
    compared: list[Difference] = []
    for part, own in items.items():
        if len(own) > 1:
            every = {item.id: item for found in own.values() for item in found}
            compared += differences(own, config.part(part).measures(list(every.values())), draws)
    verified = items["verification"]
    spent = expenses(asked)
    scored = [
        row for name, one in judges.items() for row in unaltered(one.folder, name, one.found.examined.reports)
    ]
    scored += of_runs(runs, {name: one.found.identity for name, one in judges.items()})
    return Comparison(
        judges=tuple(_member(one.found) for one in judges.values()),
        snapshot=examined.snapshot,
        reports=examined.reports,
        seed=draws.seed,
        draws=draws.n,
        differences=tuple(compared),
        expenses=tuple(spent),
        quality_costs=tuple(
            quality_costs({name: one.found.figures for name, one in judges.items()}, spent, compared)
        ),
        ensembles=tuple(ensembles(verified if len(verified) > 1 else {}, spent, draws)),
        agreeing=tuple(agreeing(scored, list(judges), draws)),
        stability=tuple(stabilities(scored, list(judges), draws)),
    )


def write_comparison(out: Path, found: Comparison) -> None:
    """Write the page, the data and the plot; without matplotlib the page says that the plot is missing.

    Raises:
        RunError: a file cannot be written.
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
    """Return each figure of quality against tokens and against seconds, for the judges that have both."""
    axes: tuple[tuple[str, Callable[[QualityCost], float | None]], ...] = (
        ("computed and generated tokens a claim", lambda one: one.tokens),
        ("seconds a claim", lambda one: one.seconds),
    )
    panels: list[CostPanel] = []
    for figure in dict.fromkeys(one.figure for one in found.quality_costs):
        for label, cost in axes:
            points = [
                CostPoint(one.judge, spent, one.value, one.low, one.high, bool(one.dominated_by))
                for one in found.quality_costs
                if one.figure == figure and one.value is not None and (spent := cost(one)) and spent > 0
            ]
            if points:
                panels.append(CostPanel(figure, label, points))
    return panels


def _member(found: Qualification) -> Member:
    return Member(
        name=found.judge,
        model=found.identity.model,
        in_all=found.record().in_all,
        n_items=sum(len(own.items) for own in found.asked),
        n_unanswered=found.n_unanswered,
    )


def _check_same(finished: Sequence[Finished]) -> None:
    if len({one.folder for one in finished}) < 2:
        raise InputError("1 judge cannot be compared; name at least two")
    first, names = finished[0], dict[str, Path]()
    for one in finished:
        before = names.setdefault(one.found.judge, one.folder)
        if before != one.folder:
            raise InputError(
                f"{one.folder}: {one.found.judge!r} is also the judge of {before}; give one of them another name"
            )
        for key in COMPARED:
            if key != "judge" and one.manifest.get(key) != first.manifest.get(key):
                where = ".".join([key, *map(str, difference(first.manifest.get(key), one.manifest.get(key)))])
                raise InputError(
                    f"{one.folder}: {one.found.judge!r} was not asked the same as {first.found.judge!r} in "
                    f"{first.folder}: another {where}"
                )
