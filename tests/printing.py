"""Tables and lines as a terminal shows them, without colours."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

from local_judge.base.output import Table
from local_judge.terminal import render_table


def printed(*parts: RenderableType | Table, width: int = 160, terminal: bool = True) -> str:
    """Return what is printed, one part below the other."""
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None, highlight=False)
    for part in parts:
        console.print(render_table(part) if isinstance(part, Table) else part)
    return out.getvalue()
