"""Memlens' dump of a Python heap beside guppy3, objgraph and PyHeap, each in a process of its own with equal objects.

``python tests/bench/python_heaps.py [--objects N] [--python PATH] [--pyheap FILE]``: PATH is a Python that has guppy3
and objgraph, FILE PyHeap's ``dumper_inferior.py``. Prints CPU seconds, how much the process grew at most, and how many
objects each found. objgraph counts only what the collector knows, and writes nothing, as guppy3.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

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


def main() -> None:
    """Run each peer that is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--pyheap", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, (imports, work) in WORK.items():
            if name == "pyheap" and options.pyheap is None:
                continue
            names = {"library": str(LIBRARY), "out": str(Path(folder, "out")), "pyheap": str(options.pyheap)}
            program = PROGRAM.replace("{imports}", imports.format(**names)).replace(
                "{work}", work.format(**names)
            )
            command = [options.python, "-c", program, str(options.objects)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            said = [line for line in done.stdout.splitlines() if line.startswith("FOUND")]
            sys.stdout.write(f"{name:>10}  {said[0].removeprefix('FOUND') if said else done.stderr[-300:]}\n")


if __name__ == "__main__":
    main()
