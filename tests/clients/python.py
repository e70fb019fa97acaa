"""The Python SDK 2.x: python.py legacy|auto|DATE SERVER [ARGUMENT...]

DATE pins a protocol revision. Prints what it saw as one line of JSON.
"""

import json
import sys

import anyio
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client


async def main(mode: str, command: str, *arguments: str) -> None:
    server = StdioServerParameters(command=command, args=list(arguments))
    async with Client(stdio_client(server), mode=mode) as client:
        tools = (await client.list_tools()).tools
        good = await client.call_tool("sqlarium_query", {"sql": "SELECT 6 * 7 AS answer"})
        bad = await client.call_tool("sqlarium_query", {"sql": "SELECT * FROM nowhere"})
        print(
            json.dumps(
                {
                    "protocol": client.protocol_version,
                    "server": client.server_info.name if client.server_info else None,
                    "tools": [tool.name for tool in tools],
                    "text": good.content[0].text,
                    "failed": bool(good.is_error),
                    "error": bad.content[0].text,
                    "refused": bool(bad.is_error),
                }
            )
        )


anyio.run(main, *sys.argv[1:])
