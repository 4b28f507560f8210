"""`local-judge snapshot mcp`: search tools of a snapshot for other programs."""

from __future__ import annotations

import asyncio
from typing import get_args

from indexes.snapshot import Snapshot
from local_judge.agents.actions import ToolName
from local_judge.agents.mcp_server import serve_stdio
from local_judge.agents.toolbox import Toolbox, ToolSettings
from local_judge.cli.options import Tools, tools_named
from local_judge.cli.snapshot.look import AsOf, SearchMode, SnapshotPath, day
from local_judge.runs.execution import offline


def mcp(
    snapshot: SnapshotPath,
    tool: Tools = None,
    mode: SearchMode = "bm25",
    as_of: AsOf = None,
) -> None:
    """Serve the tools search, open and find over MCP on standard input and output."""
    settings = ToolSettings(tools=tools_named(tool, get_args(ToolName)), mode=mode, as_of=day(as_of))
    toolbox = Toolbox(Snapshot.open(snapshot), settings)
    with offline.only(()):
        asyncio.run(serve_stdio(toolbox))
