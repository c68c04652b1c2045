"""memray's captures, by memray's own reader: each record added up one by one.

What follows a capture's header is private to memray, so nothing else can read it. ``PROGRAM`` runs in an interpreter
that has memray and prints how many of :data:`VALUES` the capture has, and for each stack what they are. An aggregated
capture has the peak and the end alone.
"""

import json
import subprocess
from pathlib import Path

from tests.python.replays.stacks import Frame, Profile

VALUES = (
    "peak_bytes", "peak_allocations", "leaked_bytes", "leaked_allocations", "temporary_bytes",
    "temporary_allocations", "total_bytes", "total_allocations",
)  # fmt: skip

PROGRAM = r"""
import json, sys
import memray

reader = memray.FileReader(sys.argv[1])
native = sys.argv[2:] == ["native"]
sums, numbers, known = [], {}, {}

def stack_of(record):
    key = (record.stack_id, record.native_stack_id, record.native_segment_generation)
    if key not in known:
        trace = record.hybrid_stack_trace() if native else record.stack_trace()
        known[key] = tuple(map(tuple, trace))
    return known[key]

def add(record, column, size, count):
    stack = stack_of(record)
    if stack not in numbers:
        numbers[stack] = len(numbers)
        sums.append([0] * 8)
    sums[numbers[stack]][column] += size
    sums[numbers[stack]][column + 1] += count

# memray before 1.11 doesn't say it
aggregated = getattr(reader.metadata, "file_format", None) == memray.FileFormat.AGGREGATED_ALLOCATIONS
kinds = ["high_watermark", "leaked", "temporary"]
for column, kind in enumerate(kinds[:2] if aggregated else kinds):
    # temporary: freed before anything else was allocated, where memray's own reports let one other come between
    options = {"threshold": 0} if kind == "temporary" else {}
    for record in getattr(reader, f"get_{kind}_allocation_records")(merge_threads=True, **options):
        add(record, 2 * column, record.size, record.n_allocations)
frees = {memray.AllocatorType.FREE, memray.AllocatorType.MUNMAP, memray.AllocatorType.PYMALLOC_FREE}
if not aggregated:
    for record in reader.get_allocation_records():
        if memray.AllocatorType(record.allocator) not in frees:
            add(record, 6, record.size, record.n_allocations)
print(json.dumps(4 if aggregated else 8))
for stack, number in numbers.items():
    print(json.dumps([stack, sums[number]]))
"""


def read(path: Path, python: Path, *, native: bool = False) -> Profile:
    """Read a capture, with an interpreter that has the matching memray.

    With ``native`` the stacks of a capture of ``--native`` have C's frames, which memray names by the binaries that are
    here now; else Python's alone.
    """
    command = [str(python), "-c", PROGRAM, str(path), *(["native"] if native else [])]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    reported, *lines = printed.splitlines()
    values = json.loads(reported)
    profile = Profile(VALUES[:values])
    for line in lines:
        stack, figures = json.loads(line)
        profile.add([Frame(function, file, number) for function, file, number in stack], figures[:values])
    return profile
