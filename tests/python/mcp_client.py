"""A small client that drives ``memlens mcp`` over its stdin and stdout, as programs with language models do."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.python.conftest import ROOT

from memlens.server.tools.quoting import NOTE


def bare(text: str) -> str:
    """A sentence without quotes, as different readers set different ones."""
    return text.translate(dict.fromkeys(map(ord, "“”'\"`")))


META = "io.modelcontextprotocol/"
MODERN: dict[str, Any] = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}


class McpClient:
    """The server as a child process. Use it in a ``with`` statement.

    Without ``options`` it may read the folder and the project, and send contents.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        options = options or ("--root", str(folder), "--root", str(ROOT), "--values")
        self._numbers = itertools.count(1)
        self.notifications: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "memlens", "mcp", "--cache-dir", str(folder / "cache"), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={**os.environ, "MEMLENS_LOG": "WARNING"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _, errors = self._process.communicate(timeout=60)
        if error is None:
            assert self._process.returncode == 0, errors.decode()
            assert b"Traceback" not in errors, errors.decode()

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        return self._process

    def send(self, message: Any) -> None:
        """Write a message, or text that is none."""
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def read(self) -> Any:
        """The next message that isn't a notification; those are kept."""
        assert self._process.stdout is not None
        while True:
            line = self._process.stdout.readline()
            assert line, "the server has ended"
            # one line of printable ASCII or text, whatever is in a file
            assert line.decode().rstrip("\n").isprintable()
            message = json.loads(line)
            if isinstance(message, list) or "method" not in message:
                return message
            self.notifications.append(message)

    def begin(self, method: str, params: Any = None) -> int:
        """Send a request, and return its id."""
        number = next(self._numbers)
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        return number

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        """Ask, and return the response."""
        number = self.begin(method, params)
        response: dict[str, Any] = self.read()
        assert response["id"] == number
        return response

    def call(self, name: str, **arguments: Any) -> Any:
        """The data that a tool answers."""
        result = self.request("tools/call", {"name": name, "arguments": arguments})["result"]
        (content,) = result["content"]
        assert content["type"] == "text"
        assert not result["isError"], content["text"]
        found = json.loads(content["text"])
        assert found.pop("note") == NOTE
        return found

    def failure(self, name: str, **arguments: Any) -> str:
        """The sentence with which a tool refuses."""
        result = self.request("tools/call", {"name": name, "arguments": arguments})["result"]
        assert result["isError"], result
        text: str = result["content"][0]["text"]
        assert text.endswith(f" ({NOTE})")
        return text.removesuffix(f" ({NOTE})")
