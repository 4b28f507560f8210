"""Pages in Markdown, made from the templates beside this module.

Invariant: what comes from a user, a model or a page stands in a page as text (`cell`), never as Markdown or HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from jinja2 import Environment, PackageLoader, StrictUndefined

from local_judge.errors import plain
from local_judge.terminal import count


def render(template: str, **given: object) -> str:
    """A page.

    Args:
        template: its name, without `.md.j2`.
        given: what it shows.
    """
    environment = Environment(
        loader=PackageLoader("local_judge.lab.qualification"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown: see `cell`
    )
    filters = cast("dict[str, Any]", environment.filters)
    filters |= {"cell": cell, "sentence": sentence, "count": count}
    return environment.get_template(f"{template}.md.j2").render(table=table, **given)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1, nothing: str = "") -> str:
    """A Markdown table; the first `left` columns are texts. `nothing`, where it is given, replaces an empty one."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if nothing and not lines:
        return nothing
    marks = [":---" if place < left else "---:" for place in range(len(heads))]
    return "\n".join([f"| {' | '.join(heads)} |", f"| {' | '.join(marks)} |", *lines])


def cell(text: str) -> str:
    """A text that is read as text in a Markdown table."""
    return "".join(f"\\{one}" if one in "\\|`*_[]<>#" else one for one in plain(text))


def sentence(text: str) -> str:
    """With a capital."""
    return text[:1].upper() + text[1:]
