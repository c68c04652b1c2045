"""Memlens' dump of a Python heap beside guppy3, objgraph and PyHeap, each in a process of its own with equal objects.

``python tests/bench/python_heaps.py [N]`` makes N instances of a class and prints CPU seconds, the growth of the
process at its peak, and the number of objects that each tool found. Peers that aren't installed are left out:
``MEMLENS_PYTHON_PEERS`` is a Python that has guppy3 and objgraph, ``MEMLENS_PYHEAP`` PyHeap's ``dumper_inferior.py``.
objgraph counts only objects known to the garbage collector, and like guppy3 writes no file.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LIBRARY = Path(__file__).parents[2] / "pyserver"

PROGRAM = """
import json, resource, sys, time
class Session:
    def __init__(self, n):
        self.user, self.events, self.state = n, [n, str(n) * 5], {"visits": n}
kept = [Session(n) for n in range(int(sys.argv[1]))]
found = {}
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss
{imports}
before = used()
{work}
after = used()
found["cpu_s"], found["grown_mib"] = round(after[0] - before[0], 2), round((after[1] - before[1]) / 1024, 1)
print("FOUND" + json.dumps(found))
"""

WORK = {
    "memlens": (
        "sys.path.insert(0, {library!r}); import memlens.dump",
        'cost = memlens.dump.heap({out!r}); found["objects"] = cost.objects; found["file_bytes"] = cost.file_bytes',
    ),
    "guppy3": (
        "from guppy import hpy; heap = hpy()",
        'set_ = heap.heap(); found["objects"] = set_.count; found["bytes"] = set_.size',
    ),
    "objgraph": (
        "import objgraph",
        'types = objgraph.typestats(); found["objects"] = sum(types.values()); found["sessions"] = types["Session"]',
    ),
    "pyheap": (
        "source = open({pyheap!r}).read()",
        """given = {{"heap_file": {out!r}, "str_repr_len": 100, "progress_file": {out!r} + ".progress"}}
given |= {{"__file__": "pyheap", "__name__": "pyheap"}}
exec(compile(source, "pyheap", "exec"), given); found["said"] = given["result"].split(". ")[1]""",
    ),
}  # fmt: skip


def python_heaps(instances: int = 50_000) -> dict[str, dict[str, Any]]:
    """The cost and results of each installed tool, Memlens first."""
    peers, pyheap = os.environ.get("MEMLENS_PYTHON_PEERS"), os.environ.get("MEMLENS_PYHEAP")
    there = {"memlens": True, "guppy3": peers, "objgraph": peers, "pyheap": pyheap}
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (imports, work) in WORK.items():
            if not there[name]:
                continue
            names = {"library": str(LIBRARY), "out": str(Path(folder, "out")), "pyheap": str(pyheap)}
            program = PROGRAM.replace("{imports}", imports.format(**names)).replace(
                "{work}", work.format(**names)
            )
            # all run in one version of Python, so that the objects are the same
            command = [peers or sys.executable, "-c", program, str(instances)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            (said,) = (line for line in done.stdout.splitlines() if line.startswith("FOUND"))
            found[name] = json.loads(said.removeprefix("FOUND")) | {"instances": instances}
    return found


def python_rows(found: dict[str, dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Rows of the table of figures: work, must, aim, reached."""
    rows = []
    for name, figures in found.items():
        objects = figures.get("objects")
        listed = figures.get("said", "") if objects is None else f"{objects:,} objects"
        reached = f"{figures['cpu_s']:.1f} s CPU, grown by {figures['grown_mib']:.0f} MiB, {listed}"
        rows.append(
            (f"a Python program with {figures['instances']:,} instances of a class: {name}", "", "", reached)
        )
    return rows


if __name__ == "__main__":
    for each in python_rows(python_heaps(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)):
        print(" | ".join(each))
