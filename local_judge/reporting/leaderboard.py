"""Tables as Markdown, LaTeX and HTML.

Invariant: texts are escaped by the rules of the format, and control and invisible characters are replaced by spaces.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence

from local_judge.base.errors import plain
from local_judge.base.output import Table


def as_markdown(table: Table, notes: Sequence[str] = ()) -> str:
    """Return a table in Markdown, with its title above and notes below."""
    rule = " | ".join("---:" if column.number else "---" for column in table.columns)
    head, *body = (" | ".join(line) for line in _lines(table, _markdown))
    lines = "".join(f"| {line} |\n" for line in (head, rule, *body))
    below = "".join(f"\n{_markdown(note)}\n" for note in notes)
    return f"**{_markdown(table.title)}**\n\n{lines}{below}"


def as_latex(table: Table, notes: Sequence[str] = ()) -> str:
    r"""Return a table in LaTeX, which needs the package `booktabs`."""
    head, *body = (" & ".join(line) + " \\\\\n" for line in _lines(table, _latex))
    kinds = "".join("r" if column.number else "l" for column in table.columns)
    below = "".join(f"\\par\\smallskip{{\\footnotesize {_latex(note)}\\par}}\n" for note in notes)
    return (
        f"% \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\\caption{{{_latex(table.title)}}}\n"
        f"\\begin{{tabular}}{{{kinds}}}\n\\toprule\n{head}\\midrule\n{''.join(body)}"
        f"\\bottomrule\n\\end{{tabular}}\n{below}\\end{{table}}\n"
    )


def as_html(table: Table, notes: Sequence[str] = ()) -> str:
    """Return a table in HTML without scripts, styles or links."""
    heading = "".join(f'<th scope="col">{_html(column.heading)}</th>' for column in table.columns)
    lines = "".join(
        f'<tr><th scope="row">{_html(first)}</th>{"".join(map(_html_cell, cells))}</tr>\n'
        for first, *cells in (line.cells for line in table.lines)
    )
    below = "".join(f"<p>{_html(note)}</p>\n" for note in notes)
    return (
        f"<table>\n<caption>{_html(table.title)}</caption>\n<thead><tr>{heading}</tr></thead>\n"
        f"<tbody>\n{lines}</tbody>\n</table>\n{below}"
    )


def _lines(table: Table, escaped: Callable[[str], str]) -> list[list[str]]:
    """Return the headings and the cells, those of several lines on one."""
    every = ([column.heading for column in table.columns], *(line.cells for line in table.lines))
    return [[escaped(" ".join(cell.split("\n"))) for cell in line] for line in every]


def _html_cell(cell: str) -> str:
    value, *more = map(_html, cell.split("\n"))
    return f"<td>{value}{''.join(f'<br><small>{one}</small>' for one in more)}</td>"


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
