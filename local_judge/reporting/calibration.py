"""A calibration as terminal tables: before beside after, and the reliability diagram.

Invariant: every figure stands with its interval or says that it has none, every mean with how many it should have
covered and how many failed; nothing after calibration is shown that is not out of fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from local_judge.reporting.numbers import NONE, count
from local_judge.reporting.tables import safe
from local_judge.runs.calibrate import CalibrationReport, LanguageReport
from local_judge.stats.calibration.assess import Assessment, Figure
from local_judge.stats.calibration.reliability import Bin

WIDTH = 30
"""Characters of a bar from 0 to 1."""


def calibration_table(report: CalibrationReport) -> Table:
    """Each language before and after, all pooled first."""
    table = _table("calibration", "", "claims", "true", "failed", "pages", "AUC", "accuracy", "ECE")
    for name in ("ECE, equal mass", "Brier", "threshold", "altered caught", "true called wrong"):
        table.add_column(name, justify="right")
    for one in report.reports:
        for when, assessment in (("before", one.before), ("after", one.after)):
            table.add_row(*_row(one, when, assessment))
    return table


def _row(one: LanguageReport, when: str, found: Assessment | None) -> list[str]:
    fit = "" if when == "before" else (" (own fit)" if one.own else " (pooled fit)")
    name = f"{'pooled' if one.language == 'all' else one.language}, {when}"
    head = [name + (fit if one.language != "all" else "")]
    n_true = NONE if found is None else str(found.n_true)
    pages = NONE if found is None else str(found.n_pages)
    head += [str(one.n_expected), n_true, str(one.n_failed), pages]
    if found is None:
        return [*head, *[NONE] * 8]
    accuracy = _figure(found.accuracy)
    if when == "after" and one.bounds is not None:
        accuracy += f" [{one.bounds.low:.3f} to {one.bounds.high:.3f}]"
    cut = f"{found.threshold:.3f}"
    if found.threshold_low != found.threshold_high:
        cut = f"{found.threshold_low:.3f} to {found.threshold_high:.3f}"
    figures = [
        _figure(found.auc),
        accuracy,
        _figure(found.ece),
        _figure(found.ece_mass),
        _figure(found.brier),
    ]
    return [*head, *figures, cut, _figure(found.caught), _figure(found.called_wrong)]


def _figure(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return f"{figure.value:.3f}"
    return f"{figure.value:.3f} ({figure.low:.3f}–{figure.high:.3f})"


def reliability_table(title: str, bins: Sequence[Bin]) -> Table:
    """A bar for each bin: the share of true claims, with a mark where the mean probability lies."""
    table = _table(title, "probability", "claims", "mean", "true", "95 %")
    table.add_column(f"0{'share of true claims':^{WIDTH - 2}}1", no_wrap=True)
    for one in bins:
        if one.mean is None or one.true.value is None or one.true.low is None or one.true.high is None:
            table.add_row(f"{one.low:.1f}–{one.high:.1f}", "0", NONE, NONE, NONE, "")
            continue
        table.add_row(
            f"{one.low:.1f}–{one.high:.1f}",
            str(one.true.of),
            f"{one.mean:.3f}",
            f"{one.true.value:.3f}",
            f"{one.true.low:.2f}–{one.true.high:.2f}",
            bar(one.true.value, one.mean),
        )
    return table


def bar(share: float, mean: float) -> str:
    """A line of `WIDTH` places: `█` up to the share, `│` where the mean is."""
    filled, mark = round(share * WIDTH), min(WIDTH - 1, int(mean * WIDTH))
    line = ["█" if place < filled else "·" for place in range(WIDTH)]
    line[mark] = "│"
    return "".join(line)


def calibration_notes(report: CalibrationReport) -> Iterator[str]:
    """What was fitted, and what the figures leave out."""
    for one in report.calibrations:
        where = "all languages" if one.language == "all" else one.language
        yield (
            f"{where}: p = 1 / (1 + exp(-({one.slope:.4g} x {one.intercept:+.4g}))), x the log-odds; supported from "
            f"{one.threshold:.3f} on; fitted on {count(one.n, 'claim')} ({one.n_true} true) of "
            f"{count(one.n_pages, 'page')}, {one.folds} folds by page, seed {one.seed}; id {one.id[:12]}"
        )
    for one in report.reports:
        if one.why_not:
            yield f"{safe(one.language)}: the pooled calibration counts: {one.why_not}."
    if report.n_unread:
        yield f"{count(report.n_unread, 'row')} left out: the snapshot cannot show their pages."
    if report.failures:
        kinds = ", ".join(f"{kind} {n}" for kind, n in report.failures.items())
        yield f"{count(sum(report.failures.values()), 'claim')} without an answer ({kinds}): in no fit."
    yield (
        "Intervals are bootstraps over pages (95 %). After: out of fold, each claim by what other pages say. In "
        "brackets: the bounds that missing answers leave."
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right")
    return table
