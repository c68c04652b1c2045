"""A small JSON-RPC client that drives the real server process over its stdin and stdout."""

import contextlib
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

LIMIT_S = 60.0


class RpcError(Exception):
    """The error of a response."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class Pending:
    """A request in progress."""

    def __init__(self, client: "LspClient", number: int) -> None:
        self.number = number
        self._client = client
        self._answer: queue.Queue[dict[str, Any]] = queue.Queue()
        self.took_s = 0.0
        self._sent_at = time.perf_counter()

    def answered(self, message: dict[str, Any]) -> None:
        self.took_s = time.perf_counter() - self._sent_at
        self._answer.put(message)

    def cancel(self) -> None:
        self._client.notify("$/cancelRequest", {"id": self.number})

    def result(self, limit_s: float = LIMIT_S) -> Any:
        message = self._answer.get(timeout=limit_s)
        self._answer.put(message)  # rewound, to be read again
        if "error" in message:
            raise RpcError(message["error"])
        return message["result"]


class LspClient:
    """The server as a child process. Use it in a ``with`` statement."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        self._numbers = itertools.count(1)
        self._pending: dict[int, Pending] = {}
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self.notifications: list[tuple[str, Any]] = []
        self._arrived = threading.Condition(self._lock)
        self.handlers: dict[str, Callable[[Any], Any]] = {}
        """Answers to the server's own requests."""
        self._opened: list[tuple[str, Pending]] = []
        self._folders: list[Path] = []
        """Views for which a snapshot was requested."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "memlens", "lsp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        self.stderr = b""
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.end()

    @property
    def pid(self) -> int:
        return self.process.pid

    def start(
        self,
        workspace: Path,
        settings: dict[str, Any] | None = None,
        *,
        find_files: bool = False,
        texts: dict[str, str] | None = None,
    ) -> Any:
        """``initialize`` and ``initialized``."""
        result = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": None,
                "capabilities": {"workspace": {"codeLens": {"refreshSupport": True}}},
                "workspaceFolders": [{"uri": workspace.as_uri(), "name": workspace.name}],
                "initializationOptions": {
                    "settings": settings or {},
                    "find_files": find_files,
                    "texts": texts or {},
                },
            },
        )
        self.notify("initialized", {})
        return result

    def enter(self, workspace: Path, settings: dict[str, Any]) -> None:
        """Change to another workspace and other settings."""
        self.notifications.clear()
        self.stderr = b""
        self.add_folder(workspace)
        self.notify("workspace/didChangeConfiguration", {"settings": settings})

    def add_folder(self, folder: Path) -> None:
        """Add a folder to the workspace, until the test is over."""
        self._folders.append(folder)
        self._change_folders(added=[folder])

    def leave(self) -> None:
        """Close all snapshots and the workspace."""
        for view, pending in self._opened:
            with contextlib.suppress(RpcError):
                snapshot = pending.result()["snapshot"]
                self.request("memlens/close", {"snapshot": snapshot, "view": view})
        self._opened.clear()
        self._change_folders(removed=self._folders)
        self._folders.clear()

    def _change_folders(self, *, added: Sequence[Path] = (), removed: Sequence[Path] = ()) -> None:
        event = {
            name: [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
            for name, folders in (("added", added), ("removed", removed))
        }
        self.notify("workspace/didChangeWorkspaceFolders", {"event": event})

    def send(self, method: str, params: Any) -> Pending:
        number = next(self._numbers)
        pending = Pending(self, number)
        with self._lock:
            self._pending[number] = pending
        self._write({"id": number, "method": method, "params": params})
        if method == "memlens/open" and isinstance(params, dict):
            self._opened.append((params.get("view", ""), pending))
        return pending

    def request(self, method: str, params: Any, limit_s: float = LIMIT_S) -> Any:
        return self.send(method, params).result(limit_s)

    def notify(self, method: str, params: Any) -> None:
        self._write({"method": method, "params": params})

    def hover(self, path: Path, line: int) -> str | None:
        """The text of a hover; ``line`` counts from 1."""
        position = {"line": line - 1, "character": 4}
        found = self.request(
            "textDocument/hover",
            {"textDocument": {"uri": path.as_uri()}, "position": position},
        )
        return None if found is None else str(found["contents"]["value"])

    def wait_for(
        self,
        method: str,
        test: Callable[[Any], bool] = lambda _: True,
        limit_s: float = LIMIT_S,
    ) -> Any:
        """The parameters of the first notification of that kind, including earlier ones."""

        def found() -> Any:
            return next(
                (p for name, p in self.notifications if name == method and test(p)),
                None,
            )

        with self._arrived:
            if not self._arrived.wait_for(lambda: found() is not None, limit_s):
                raise TimeoutError(f"no {method} within {limit_s} s; stderr: {self.stderr.decode()}")
            return found()

    def end(self) -> int:
        """``shutdown``, ``exit``, and the exit status."""
        if self.process.poll() is None:
            try:
                self.request("shutdown", None, 20)
                self.notify("exit", None)
                self.process.wait(20)
            except (OSError, queue.Empty, subprocess.TimeoutExpired):
                self.process.kill()
        status = self.process.wait()
        for thread in self._threads:
            thread.join(10)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        return status

    def _write(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        # a lock of its own, not that of pending requests: a server that can't write its answer doesn't read either
        with self._writing:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while line := stream.readline().strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not length:
                return
            self._received(json.loads(stream.read(length)))

    def _received(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            with self._lock:
                pending = self._pending.pop(message["id"])
            pending.answered(message)
        elif "id" in message:
            # a thread each, so that a slow handler delays no answer
            threading.Thread(target=self._answer, args=(message,), daemon=True).start()
        else:
            with self._arrived:
                self.notifications.append((message["method"], message.get("params")))
                self._arrived.notify_all()

    def _answer(self, message: dict[str, Any]) -> None:
        handler = self.handlers.get(message["method"])
        result = handler(message.get("params")) if handler else None
        with contextlib.suppress(OSError):  # the server may be gone by now
            self._write({"id": message["id"], "result": result})

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        while piece := self.process.stderr.readline():
            self.stderr += piece
