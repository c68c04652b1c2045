"""Unpacks a platform's package and asks it about the sample, with the Python that runs this and nothing else.

The environment is the one that the extension gives its server. Standard library alone: nothing is installed for it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

SOURCE, LINE = "train.py", "self.predictions.append("
LIMIT_S = 120


def main(folder: Path, target: str) -> None:
    """Query a platform's package by its command line and its language server; the first unexpected answer ends it."""
    (package,) = folder.glob(f"memlens-{target}-*.vsix")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        with zipfile.ZipFile(package) as archive:
            archive.extractall(temporary)
        root = Path(temporary).resolve() / "extension"
        sample = str(root / "samples" / "train.pickle")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(root / "pyserver"), str(root / "pyserver" / "libraries")]),
            "PYTHONNOUSERSITE": "1",
            "PYTHONSAFEPATH": "1",
            "PYTHONUTF8": "1",
        }
        cache = str(Path(temporary) / "cache")

        def run(*arguments: str) -> str:
            command = [sys.executable, "-S", *arguments]
            done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{target}: {' '.join(arguments)[:80]} failed: {done.stderr[-2000:]}")
            return done.stdout

        def asked(command: str) -> Any:
            return json.loads(run("-m", "memlens", command, sample, "--json", "--cache-dir", cache))

        started = time.perf_counter()
        run("-c", "import memlens.server.requirements, memlens.server.app")
        peaks = [device["peak_bytes"] for device in asked("info")["devices"]]
        lines, findings = asked("lines")["lines"], asked("findings")["findings"]
        if not peaks or not all(peaks) or not lines or not findings:
            raise SystemExit(f"{target}: peaks {peaks}, {len(lines)} lines, {len(findings)} findings")
        hover = _hover(root, environment, cache)
        version = ".".join(map(str, sys.version_info[:3]))
        print(
            f"{target}, Python {version}: peak {max(peaks):,} bytes, {len(lines)} lines, {len(findings)} findings, "
            f"a hover of {len(hover)} characters; {time.perf_counter() - started:.1f} s"
        )


def line_in(lines: list[str]) -> int:
    """Return the number of the line of SOURCE that is asked about, from 1."""
    (line,) = (number for number, content in enumerate(lines, 1) if LINE in content)
    return line


def _hover(root: Path, environment: dict[str, str], cache: str) -> str:
    """Open the sample in the language server, as an editor without the extension does, and return a line's hover."""
    source = root / "samples" / SOURCE
    lines = source.read_text("utf-8").splitlines()
    line = line_in(lines) - 1
    place = {"line": line, "character": len(lines[line]) - 2}
    settings = {
        "snapshots": [str(root / "samples" / "train.pickle")],
        "cache_directory": cache,
    }
    server = subprocess.Popen(
        [sys.executable, "-S", "-m", "memlens", "lsp"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    sending, receiving = server.stdin, server.stdout
    if sending is None or receiving is None:
        raise SystemExit("The language server has no pipes.")
    asked = 0

    def tell(method: str, params: object, **more: object) -> None:
        content = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        sending.write(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))
        sending.flush()

    def ask(method: str, params: object) -> Any:
        nonlocal asked
        asked += 1
        tell(method, params, id=asked)
        while True:
            headers: dict[str, str] = {}
            while row := receiving.readline().decode().strip():
                name, _, value = row.partition(":")
                headers[name.lower()] = value
            if not headers:
                raise SystemExit("The language server ended.")
            message = json.loads(receiving.read(int(headers["content-length"])))
            if message.get("id") == asked and "method" not in message:
                return message.get("result")

    try:
        client: dict[str, object] = {"processId": None, "rootUri": source.parent.as_uri(), "capabilities": {}}
        ask("initialize", {**client, "initializationOptions": {"settings": settings}})
        tell("initialized", {})
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            found = ask("textDocument/hover", {"textDocument": {"uri": source.as_uri()}, "position": place})
            if found:
                return str(found["contents"]["value"])
            time.sleep(0.2)
        raise SystemExit(f"{SOURCE}:{line + 1} has no hover after {LIMIT_S} s.")
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
