"""DHAT's JSON (``dhat/docs/dh-manual.xml``, "File format", version 2): a program point is a stack with its figures."""

import gzip
import json
from pathlib import Path
from typing import Any

from tests.python.replays.stacks import Profile
from tests.python.replays.valgrind import entered, frame_of

FIELDS = {
    "total_bytes": "tb", "total": "tb", "total_blocks": "tbk", "peak_bytes": "gb", "peak_blocks": "gbk",
    "end_bytes": "eb", "end_blocks": "ebk", "max_bytes": "mb", "max_blocks": "mbk", "lifetimes": "tl",
    "read_bytes": "rb", "written_bytes": "wb",
}  # fmt: skip
"""The values by meaning, and their fields."""


def load(path: Path) -> Any:
    """A file's data."""
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def names_of(data: Any) -> list[str]:
    """The values of a file, with lifetimes and accesses if it has them."""
    names = ["total_bytes" if data.get("bu", "byte") == "byte" else "total", "total_blocks"]
    if data["bklt"]:
        names += [
            "peak_bytes",
            "peak_blocks",
            "end_bytes",
            "end_blocks",
            "max_bytes",
            "max_blocks",
            "lifetimes",
        ]
    return names + (["read_bytes", "written_bytes"] if data["bkacc"] else [])


def read(path: Path) -> Profile:
    """Read a file. Stacks are leaf first, as indices into the table of frames."""
    data = load(path)
    profile = Profile(names_of(data))
    frames = [frame_of(text) for text in data["ftbl"]]
    for point in data["pps"]:
        values = [point[FIELDS[name]] for name in profile.names]
        profile.add(entered([frames[number] for number in point["fs"]]), values)
    return profile
