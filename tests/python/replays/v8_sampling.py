"""V8's ``.heapprofile`` (``SamplingHeapProfile`` of ``js_protocol.pdl``): a tree of functions with bytes."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.python.replays.stacks import Frame, Profile


def read(path: Path) -> Profile:
    """Read a file. Lines count from 0 there."""
    data = json.loads(path.read_bytes())
    profile = Profile(["selfSize", "samples"])
    counts = Counter(sample["nodeId"] for sample in data["samples"])

    def add(node: dict[str, Any], callers: list[Frame]) -> None:
        profile.add(callers, [node["selfSize"], counts[node["id"]]])
        for child in node["children"]:
            call = child["callFrame"]
            frame = Frame(call["functionName"] or "(anonymous)", call["url"], call["lineNumber"] + 1)
            add(child, [frame, *callers])

    add(data["head"], [])
    return profile
