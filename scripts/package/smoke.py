"""Unpacks a platform's package and has it read the sample, with the Python that runs this and nothing else.

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


def main(folder: Path, target: str) -> None:
    """Read the sample by the package of a platform; an error or another peak than expected ends it."""
    (package,) = folder.glob(f"memlens-{target}-*.vsix")
    with tempfile.TemporaryDirectory() as temporary:
        with zipfile.ZipFile(package) as archive:
            archive.extractall(temporary)
        root = Path(temporary) / "extension"
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(root / "pyserver"), str(root / "pyserver" / "libraries")]),
            "PYTHONNOUSERSITE": "1",
            "PYTHONSAFEPATH": "1",
            "PYTHONUTF8": "1",
        }

        def run(*arguments: str) -> str:
            command = [sys.executable, "-S", *arguments]
            return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

        started = time.perf_counter()
        run("-c", "import memlens.server.requirements, memlens.server.app")
        cache = str(Path(temporary) / "cache")
        info = run(
            "-m", "memlens", "info", str(root / "samples" / "train.pickle"), "--json", "--cache-dir", cache
        )
        peaks = [device["peak_bytes"] for device in json.loads(info)["devices"]]
        if not peaks or not all(peaks):
            raise SystemExit(f"{target}: the sample has no peak: {info[:200]}")
        version = ".".join(map(str, sys.version_info[:3]))
        print(f"{target}, Python {version}: peak {max(peaks):,} bytes, {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
