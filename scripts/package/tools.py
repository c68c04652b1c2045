"""The compiler and the tables of Python's stable ABI, in an environment of their own with locked hashes."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from scripts.package.targets import WORK

LOCK = Path(__file__).with_name("tools.lock")
TOOLS = WORK / "tools"


def install() -> Path:
    """Return the environment's Python. The environment is rebuilt when the lock has changed."""
    python = TOOLS / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = TOOLS / ".stamp"
    key = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()
    if python.exists() and stamp.exists() and stamp.read_text() == key:
        return python
    print("tools: zig, abi3audit and libdeflate ...", flush=True)
    run([sys.executable, "-m", "venv", "--clear", str(TOOLS)])
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile"]
    run([*pip, "--require-hashes", "--only-binary=:all:", "-r", str(LOCK)])
    stamp.write_text(key)
    return python


def repack(archive: Path) -> None:
    """Compress a zip archive's files again, better (repack.py)."""
    run([str(install()), str(Path(__file__).with_name("repack.py")), str(archive)])


def run(command: list[str], **options: Any) -> str:
    """Run a program and return its output; if it fails, exit with its output as the message."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}\n`{' '.join(command[:6])} ...` failed with {done.returncode}.")
    return str(done.stdout)
