"""Leaderboard of a run: the scores that sum up each system's reports.

Invariants: values, intervals and marks are those of `show`; names of systems and scores are escaped in every format,
and control and invisible characters are replaced by spaces.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from local_judge.base.errors import plain
from local_judge.base.output import NONE
from local_judge.reporting.run_tables import FAILED, NO_SYSTEM, REPORTS, SOURCES
from local_judge.reporting.summary import score_lines, score_notes
from local_judge.runs.results.summary import Summary
from local_judge.runs.storage.manifest import judge_of, protocols_of
from local_judge.runs.storage.records import CaseRecord, load_records
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import load_system_scores
from local_judge.scoring.node import Profile


class Line(NamedTuple):
    """One system."""

    system: str
    cells: tuple[Summary | None, ...]
    """Scores in the order of the columns; None if the system lacks one."""
    reports: str
    sources: str
    """Sources read of those cited."""
    calls_failed: str


class Leaderboard(NamedTuple):
    """Systems with their scores."""

    title: str
    columns: tuple[str, ...]
    """Names of the scores."""
    lines: tuple[Line, ...]
    notes: tuple[str, ...]

    @property
    def heading(self) -> tuple[str, ...]:
        """Heading of each column of the whole table."""
        return ("system", *self.columns, REPORTS, SOURCES, FAILED)


def leaderboard(store: RunStore, profile: Profile = "paper", judge: str | None = None) -> Leaderboard:
    """Return the leaderboard of a run, systems in the order of their first report.

    Args:
        store: a finished run.
        profile: formulas; a protocol without this profile is shown by its only one.
        judge: one of several judges; None for the ensemble or the only judge.

    Raises:
        RunError: the run is not finished or was modified, or it has no such judge.
    """
    chosen, records = judge_of(store, judge), load_records(store)
    shown: list[tuple[str, str, dict[str | None, Summary]]] = []
    profiles: dict[Profile, list[str]] = {}
    for protocol in protocols_of(store):
        rows = load_system_scores(store, (protocol,), (chosen,))
        having: list[Profile] = list(dict.fromkeys(row.profile for row in rows))
        if not having:
            continue
        used = profile if profile in having else having[0]
        profiles.setdefault(used, []).append(protocol)
        found = [row for row in rows if row.profile == used and row.headline and not row.all_systems]
        for path, label in dict.fromkeys((row.path, row.label) for row in found):
            own = {row.system: Summary.of_system(row) for row in found if row.path == path}
            shown.append((protocol, label, own))
    several = len({protocol for protocol, _, _ in shown}) > 1
    lines = tuple(_lines(records, [systems for _, _, systems in shown], chosen))
    notes = score_notes(
        (f"{label} of {system or NO_SYSTEM}", found)
        for _, label, systems in shown
        for system, found in systems.items()
    )
    return Leaderboard(
        title="; ".join(f"{', '.join(names)} ({used} profile)" for used, names in profiles.items()),
        columns=tuple(f"{protocol}: {label}" if several else label for protocol, label, _ in shown),
        lines=lines,
        notes=tuple(notes),
    )


def _lines(
    records: list[CaseRecord], scores: list[dict[str | None, Summary]], judge: str | None
) -> Iterator[Line]:
    systems = list(dict.fromkeys(record.system for record in records))
    for system in systems:
        own = [record for record in records if record.system == system]
        n_done = sum(record.status == "done" for record in own)
        n_sources = sum(record.n_sources for record in own)
        n_read = sum(record.n_sources_read for record in own)
        yield Line(
            system=system or ("all reports" if len(systems) == 1 else NO_SYSTEM),
            cells=tuple(column.get(system) for column in scores),
            reports=str(n_done) if n_done == len(own) else f"{n_done} of {len(own)}",
            sources=f"{n_read}/{n_sources}" if n_sources else NONE,
            calls_failed=str(sum(record.calls_failed(judge) for record in own)),
        )


def as_markdown(found: Leaderboard) -> str:
    """Return the leaderboard as a Markdown table, with its title above and its notes below."""
    rule = " | ".join(["---", *["---:"] * (len(found.heading) - 1)])
    head, *body = [" | ".join(map(_markdown, cells)) for cells in (found.heading, *map(_joined, found.lines))]
    table = "".join(f"| {line} |\n" for line in (head, rule, *body))
    notes = "".join(f"\n{_markdown(note)}\n" for note in found.notes)
    return f"**{_markdown(found.title)}**\n\n{table}{notes}"


def as_latex(found: Leaderboard) -> str:
    r"""Return the leaderboard as a LaTeX table that needs the package `booktabs`."""
    head = " & ".join(map(_latex, found.heading))
    body = "".join(" & ".join(map(_latex, _joined(line))) + " \\\\\n" for line in found.lines)
    notes = "".join(f"\\par\\smallskip{{\\footnotesize {_latex(note)}\\par}}\n" for note in found.notes)
    return (
        f"% \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\\caption{{{_latex(found.title)}}}\n"
        f"\\begin{{tabular}}{{l{'r' * (len(found.heading) - 1)}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}"
        f"\\bottomrule\n\\end{{tabular}}\n{notes}\\end{{table}}\n"
    )


def as_html(found: Leaderboard) -> str:
    """Return the leaderboard as an HTML table without scripts, styles or links."""
    head = "".join(f'<th scope="col">{_html(name)}</th>' for name in found.heading)
    body = "".join(
        f'<tr><th scope="row">{_html(line.system)}</th>'
        + "".join(f"<td>{cell}</td>" for cell in _texts(line, _html_cell)[1:])
        + "</tr>\n"
        for line in found.lines
    )
    notes = "".join(f"<p>{_html(note)}</p>\n" for note in found.notes)
    return (
        f"<table>\n<caption>{_html(found.title)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}</tbody>\n</table>\n{notes}"
    )


def _texts(line: Line, cell: Callable[[Summary | None], str]) -> list[str]:
    return [line.system, *map(cell, line.cells), line.reports, line.sources, line.calls_failed]


def _joined(line: Line) -> list[str]:
    return _texts(line, lambda cell: " ".join(score_lines(cell)))


def _html_cell(cell: Summary | None) -> str:
    value, *more = map(_html, score_lines(cell))
    return value + "".join(f"<br><small>{one}</small>" for one in more)


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#~&])", r"\\\1", plain(text))


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "–": "--",
    "[": "{[}",  # at the start of a line it would be an option of the line break before it
} | {mark: f"\\{mark}" for mark in "&%$#_{}"}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in plain(text))


def _html(text: str) -> str:
    return html.escape(plain(text))
