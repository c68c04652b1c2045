"""Asks a server by the official client of the Model Context Protocol; run by ``.cache/mcp``'s Python.

``mcp_official.py [--legacy] [--root DIR]… -- COMMAND…`` starts the server and connects to it. It first prints what it
agreed on, and then answers each line of its input, ``{"name": …, "arguments": …}``, with a line of its own.
"""

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp import Client, types  # pyrefly: ignore[missing-import]
from mcp.client.stdio import StdioServerParameters  # pyrefly: ignore[missing-import]


async def main() -> None:
    """Serve until the input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--legacy", action="store_true", help="begin a session, as before 2026-07-28")
    parser.add_argument("--root", type=Path, action="append")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()

    async def roots(_context: Any) -> Any:
        return types.ListRootsResult(roots=[types.Root(uri=each.as_uri()) for each in options.root])

    client = Client(
        StdioServerParameters(command=options.command[0], args=options.command[1:], env=dict(os.environ)),
        mode="legacy" if options.legacy else "auto",
        list_roots_callback=roots if options.root else None,
    )
    async with client:
        tools = (await client.list_tools()).tools
        say(
            {
                "protocol": client.protocol_version,
                "instructions": client.instructions,
                "tools": {tool.name: tool.input_schema for tool in tools},
            }
        )
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            answer = await client.call_tool(asked["name"], asked["arguments"])
            (content,) = answer.content
            say({"text": content.text, "is_error": bool(answer.is_error)})


def say(message: Any) -> None:
    """Print a line of JSON."""
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
