"""The tools over MCP: a real client, in this process and at the other end of a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from indexes.snapshot import Snapshot
from local_judge.agents.mcp_server import answer_call, make_server
from local_judge.agents.observations import observation_text
from local_judge.agents.toolbox import Toolbox, ToolSettings
from local_judge.prompts import load_prompt

from .conftest import DEAD, HEAT, HOSTILE, PAPER

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters, types

ROOT = Path(__file__).resolve().parents[2]
ALL = ToolSettings(tools=("search", "search_papers", "search_code", "open", "find"))


def said(result: types.CallToolResult) -> str:
    """The one text of an answer."""
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return content.text


async def check(client: Client, web: Snapshot) -> None:
    """A session: what is offered, what is found, what is refused."""
    tools = (await client.list_tools()).tools
    assert [(tool.name, tool.description) for tool in tools] == [
        (name, load_prompt("local_judge.agents", name)) for name in ALL.tools
    ]
    assert [list(tool.input_schema["properties"]) for tool in tools] == [
        ["queries", "k"],
        ["queries", "k"],
        ["queries", "k"],
        ["url", "part"],
        ["url", "queries", "k"],
    ]
    toolbox = Toolbox(web, ALL)
    calls: list[tuple[str, dict[str, Any], str | None]] = [
        ("search", {"queries": ["heat pump", "walrus"], "k": 2}, None),
        ("search_papers", {"queries": ["heat pump"]}, PAPER),
        ("open", {"url": HEAT}, "6.2 megawatts"),
        ("open", {"url": HOSTILE, "part": 1}, "walrus"),
        ("find", {"url": HEAT, "queries": ["capacity"]}, "6.2 megawatts"),
    ]
    for name, arguments, holds in calls:
        result = await client.call_tool(name, arguments)
        assert not result.is_error
        assert said(result) == observation_text(answer_call(toolbox, name, arguments))
        assert holds is None or holds in said(result)
    refused: list[tuple[str, dict[str, Any], str]] = [
        (
            "open",
            {"url": DEAD},
            "There is no text of this page here (dead). It cannot be had in another way.",
        ),
        ("open", {"url": HEAT, "part": "1"}, "part: Input should be a valid integer."),
        (
            "search",
            {"queries": ["a"] * 6},
            "queries: Tuple should have at most 5 items after validation, not 6.",
        ),
    ]
    for name, arguments, why in refused:
        result = await client.call_tool(name, arguments)
        assert (result.is_error, said(result)) == (True, why)


async def test_a_client_in_this_process_gets_what_an_agent_gets(web: Snapshot) -> None:
    async with Client(make_server(Toolbox(web, ALL))) as client:
        await check(client, web)


async def test_only_the_tools_that_are_offered_answer(web: Snapshot) -> None:
    async with Client(make_server(Toolbox(web, ToolSettings(tools=("open",))))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["open"]
        result = await client.call_tool("search", {"queries": ["heat"]})
        assert (result.is_error, said(result)) == (True, "no tool search; there are: open.")


async def test_the_command_serves_a_client_over_a_pipe(web: Snapshot) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "local_judge", "snapshot", "mcp", str(web.path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )
    async with Client(command) as client:
        assert client.server_info is not None
        assert client.server_info.name == "local-judge"
        assert web.digest[:12] in (client.instructions or "")
        await check(client, web)


def test_a_line_that_is_no_request_gets_an_error_as_its_answer(web: Snapshot) -> None:
    def request(number: object, method: str, params: object) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    client = {
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    search = {"name": "search", "arguments": {"queries": ["\ud800"]}}
    lines = [
        request(0, "initialize", client),
        "garbage",
        "[1, 2]",
        request(7, "tools/call", search),
        "[" * 100_000,
        *(request(number, "ping", {}) for number in (None, float("nan"), 1.5, True, {"a": 1})),
        request(8, "ping", "x"),
        request(1, "ping", {}),
    ]
    command = [sys.executable, "-m", "local_judge", "snapshot", "mcp", str(web.path)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write("\n".join(lines) + "\n")
        server.stdin.flush()
        # The input stays open until all are answered: at its end, the server drops what is under way.
        answers = [json.loads(server.stdout.readline()) for _ in lines]
        server.stdin.close()
        assert server.wait(timeout=60) == 0
    assert sorted(
        (str(one["id"]), one.get("error", {}).get("code")) for one in answers if one["id"] != 0
    ) == [
        *(("1", None), ("7", types.INVALID_REQUEST), ("8", types.INVALID_REQUEST)),
        *[("None", types.PARSE_ERROR)] * 2,
        *[("None", types.INVALID_REQUEST)] * 6,
    ]
