"""Plots, drawn with matplotlib: the reliability diagram, agreement with people, quality beside cost, curves.

Invariants: an SVG file stands alone (no script, no outside reference), is well-formed whatever names it shows, and has
the same bytes for the same figures: text is measured with the font that matplotlib ships, and neither the user's
settings nor the date enter. Series differ in marker as well as in colour (Okabe and Ito's palette), so that no plot
depends on seeing colours.

matplotlib is in the extra `plots` and slow to import: the functions here import it, the module does not.
"""

# matplotlib declares most keyword arguments as unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import io
import logging
import math
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from importlib.util import find_spec
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

from local_judge.base.errors import UserError, plain
from local_judge.runs.results.ratings import JoinedScores
from local_judge.stats.agreement.method import system_means
from local_judge.stats.calibration.measures import Bin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

INSTALL: Final = "plots need the extra `plots`: pip install 'local-judge[plots]'"
LONGEST: Final = 40
"""Characters of a name that are shown."""

BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#707070"
COLOURS: Final = (BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", VERMILION, "#000000")
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "p")
NAMELESS: Final = (GREY, "o")
"""Look of reports that name no system."""
SIDE: Final = 3.4
"""Inches of a panel's width and height."""

_STYLE: Final[dict[str, Any]] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.constrained_layout.use": True,
    "figure.titlesize": 11,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "grid.color": "#e4e4e4",
    "legend.fontsize": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text: it can be searched, and the viewer has letters of every script
    "svg.hashsalt": "local_judge",
    "text.parse_math": False,  # a dollar in a name is a dollar
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}


_Line = Literal["-", ":", "--", "none"]


class CostPoint(NamedTuple):
    """A judge's quality and what it costs."""

    judge: str
    cost: float
    quality: float
    low: float | None
    high: float | None
    """95 % interval of the quality."""
    dominated: bool
    """True if another judge is as good and cheaper."""


class CostPanel(NamedTuple):
    """One figure of quality against one kind of cost."""

    quality: str
    cost: str
    points: Sequence[CostPoint]
    """One point for each judge, at least one; costs are positive."""


class CurvePanel(NamedTuple):
    """One score over the conditions of an experiment; a missing value is None."""

    title: str
    verdict: str
    labels: Sequence[str]
    """Labels of the conditions."""
    x: Sequence[float]
    """Position of each condition."""
    scale: float
    """The most that the score can be."""
    judge: Sequence[float | None]
    ideal: Sequence[float | None]
    paper: Sequence[float | None]
    """All three in points of the score; empty where nothing is known."""


def can_plot() -> bool:
    """Check whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def require_plots() -> None:
    """Check that matplotlib is installed.

    Raises:
        UserError: it is not installed.
    """
    if not can_plot():
        raise UserError(INSTALL)


def svg(figure: Figure, title: str) -> str:
    """The text of an SVG file."""
    file = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with _style():
        figure.savefig(file, format="svg", metadata=nothing | {"Title": plain(title)})
    text = file.getvalue()
    # Without the reference to a document type, which stands on a server.
    lines = text[text.index("<svg ") :].splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def reliability_diagram(title: str, panels: Sequence[tuple[str, Sequence[Bin]]]) -> Figure:
    """A square for each panel: mean probability across, share of true claims up, with Wilson's intervals.

    A marker's area goes with the number of claims in its bin; the dashed diagonal is perfect calibration.

    Args:
        title: of the whole.
        panels: a heading and its bins each.
    """
    with _style():
        figure, axes = _panels(len(panels), len(panels))
        figure.suptitle(plain(title), x=0.01, ha="left")
        for number, (ax, (heading, bins)) in enumerate(zip(axes, panels, strict=True)):
            colour, marker = ((BLUE, "o"), (VERMILION, "s"))[min(number, 1)]
            shown = [
                (one.mean, rate.value, rate.low, rate.high, rate.of)
                for one in bins
                if one.mean is not None
                and (rate := one.true).value is not None
                and rate.low is not None
                and rate.high is not None
            ]
            most = max((n for *_, n in shown), default=1)
            ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
            for mean, share, low, high, n in shown:
                ax.plot([mean, mean], [low, high], color=colour, linewidth=1.2)
                ax.scatter(
                    [mean],
                    [share],
                    s=20 + 140 * n / most,
                    color=colour,
                    marker=marker,
                    edgecolors="white",
                    zorder=3,
                )
            ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal", title=plain(heading))
            ax.set(xlabel="mean probability in a bin", ylabel="share of true claims" if not number else "")
    return figure


def agreement_scatter(runs: Sequence[JoinedScores], score: str) -> Figure:
    """A panel for each judge: a small marker for each report, a large one for each system's means.

    Args:
        runs: scores of the judges, with at least one report that has ratings and a score each.
        score: what the vertical axes show.
    """
    names = sorted({name for run in runs for name in system_means(run.tasks)})
    looks = dict(zip(names, _looks(len(names)), strict=True))
    with _style():
        figure, axes = _panels(len(runs), min(3, len(runs)))
        for number, (ax, run) in enumerate(zip(axes, runs, strict=True)):
            for task in run.tasks:
                for report in task.reports:
                    if report.score is None:
                        continue
                    colour, marker = looks[report.system] if report.system is not None else NAMELESS
                    _point(ax, (report.mean, report.score), colour, marker, s=18, alpha=0.45, linewidths=0)
            for system, means in system_means(run.tasks).items():
                colour, marker = looks[system]
                _point(ax, means, colour, marker, s=90, edgecolors="black", zorder=3)
            ax.margins(0.06)
            ax.set(title=_name(run.method.name), xlabel="mean rating by people")
            ax.set(ylabel=_name(score) if number % 3 == 0 else "")
        key = [(_name(name), _handle(*looks[name], size=8, edge="black")) for name in names]
        if any(report.system is None for run in runs for task in run.tasks for report in task.reports):
            key.append(("no system named", _handle(*NAMELESS, size=4)))
        _key(figure, key)
    return figure


def quality_cost(panels: Sequence[CostPanel]) -> Figure:
    """Quality against cost, two panels a row, costs on a logarithmic axis.

    A bar is the 95 % interval; a hollow marker is a judge that another one dominates.

    Args:
        panels: at least one.
    """
    names = list(dict.fromkeys(point.judge for panel in panels for point in panel.points))
    looks = dict(zip(names, _looks(len(names)), strict=True))
    with _style():
        figure, axes = _panels(len(panels), min(2, len(panels)))
        figure.suptitle("Quality against cost", x=0.01, ha="left")
        for ax, panel in zip(axes, panels, strict=True):
            for point in panel.points:
                colour, marker = looks[point.judge]
                if point.low is not None and point.high is not None:
                    ax.plot([point.cost] * 2, [point.low, point.high], color=colour, linewidth=1.2)
                face = "white" if point.dominated else colour
                ax.scatter(
                    [point.cost], [point.quality], s=64, marker=marker, c=face, edgecolors=colour, zorder=3
                )
            _logarithmic(ax, [point.cost for point in panel.points])
            ends = [
                end for one in panel.points for end in (one.quality, one.low, one.high) if end is not None
            ]
            room = max(0.02, 0.08 * (max(ends) - min(ends)))
            ax.set(ylim=(min(ends) - room, max(ends) + room))
            ax.set(title=_name(panel.quality), xlabel=panel.cost)
        _key(figure, [(_name(name), _handle(*looks[name], size=8)) for name in names])
    return figure


def experiment_curves(panels: Sequence[CurvePanel]) -> Figure:
    """A panel for each score: the judge's curve, the ideal one and, where printed, the paper's."""
    series: tuple[tuple[str, str, str, _Line], ...] = (
        ("this judge", BLUE, "o", "-"),
        ("ideal", GREY, "s", ":"),
        ("paper", VERMILION, "^", "--"),
    )
    with _style():
        figure, axes = _panels(len(panels), min(3, max(1, len(panels))), height=2.7)
        for ax, panel in zip(axes, panels, strict=True):
            for (_, colour, marker, line), values in zip(
                series, (panel.judge, panel.ideal, panel.paper), strict=True
            ):
                known = [(x, y) for x, y in zip(panel.x, values, strict=False) if y is not None]
                ax.plot(
                    [x for x, _ in known],
                    [y for _, y in known],
                    color=colour,
                    marker=marker,
                    linestyle=line,
                    markersize=5,
                )
            ax.set_ylim(-0.04 * panel.scale, 1.04 * panel.scale)
            ax.set_xticks(panel.x, [_name(label) for label in panel.labels])
            heading = wrap(_name(panel.title, 80), 40, max_lines=2, placeholder="…")
            ax.set_title("\n".join([*heading, panel.verdict]), fontsize=8.5)
        shown = [
            one
            for number, one in enumerate(series)
            if any((panel.judge, panel.ideal, panel.paper)[number] for panel in panels)
        ]
        _key(figure, [(name, _handle(colour, marker, line, size=5)) for name, colour, marker, line in shown])
    return figure


@contextmanager
def _style() -> Generator[None]:
    """Matplotlib's own defaults with ours, whatever the user's settings are."""
    require_plots()
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # no word on building its list of fonts
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the measuring font lacks: the viewer's font has them
        mpl.rcdefaults()
        mpl.rcParams.update(cast("Any", _STYLE))
        yield


def _panels(n: int, columns: int, height: float = SIDE) -> tuple[Figure, list[Axes]]:
    """A figure with `n` panels, row by row."""
    from matplotlib.figure import Figure

    rows = max(1, math.ceil(n / max(1, columns)))
    # What stands beside the panels takes half an inch.
    figure = Figure(figsize=(0.5 + columns * (SIDE + 0.4), 0.6 + rows * (height + 0.6)))
    grid = figure.add_gridspec(rows, max(1, columns))
    return figure, [figure.add_subplot(grid[divmod(number, columns)]) for number in range(n)]


def _looks(n: int) -> list[tuple[str, str]]:
    """A colour and a marker for each series; both repeat only after 56."""
    return [(COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]) for number in range(n)]


def _point(ax: Axes, at: tuple[Fraction, Fraction], colour: str, marker: str, **style: Any) -> None:
    ax.scatter([float(at[0])], [float(at[1])], color=colour, marker=marker, **style)


def _handle(
    colour: str, marker: str, line: _Line = "none", *, size: float, edge: str | None = None
) -> Line2D:
    """A series as the key shows it."""
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], color=colour, marker=marker, linestyle=line, markersize=size, markeredgecolor=edge or colour
    )


def _key(figure: Figure, entries: Sequence[tuple[str, Line2D]]) -> None:
    """The key below all panels, as many names a row as fit."""
    if not entries:
        return
    width = 0.45 + 0.085 * max(len(name) for name, _ in entries)
    columns = max(1, min(len(entries), int(figure.get_figwidth() / width)))
    figure.legend(
        [handle for _, handle in entries],
        [name for name, _ in entries],
        loc="outside lower left",
        ncols=columns,
    )


def _logarithmic(ax: Axes, costs: Sequence[float]) -> None:
    """Set a log axis from the 1, 2 or 5 below the lowest cost to the one above the highest."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    first, last = math.floor(math.log10(min(costs))) - 1, math.ceil(math.log10(max(costs))) + 1
    steps = [digit * 10.0**power for power in range(first, last + 1) for digit in (1, 2, 5)]
    low = max(step for step in steps if step < min(costs))
    high = min(step for step in steps if step > max(costs))
    wide = high / low > 100
    ticks = [step for step in steps if low <= step <= high and (not wide or f"{step:e}"[0] == "1")]
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(_cost))


def _cost(value: float, _place: int | None) -> str:
    return f"{value:,g}"


def _name(text: str, longest: int = LONGEST) -> str:
    """A name in one line, cut."""
    return plain(text if len(text) <= longest else text[: longest - 1] + "…")
