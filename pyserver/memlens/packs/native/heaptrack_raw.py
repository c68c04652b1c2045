"""Raw recordings of heaptrack (``heaptrack --raw``): which binary an address is in, and stacks with inlined frames.

Source: ``src/track/libheaptrack.cpp``, which writes what ``dl_iterate_phdr`` says of each binary.
"""

import re
from bisect import bisect_right

import numpy as np

from memlens.arrays import I64, U32
from memlens.formats.symbols.lookup import Region

_MOST_REGIONS = 1 << 20
_NUMBERS = rb"(?P<numbers>(?: [0-9a-f]{1,16})+)"
_PROGRAM = re.compile(rb"x (?:[0-9a-f]{1,8} )?(?P<path>.+)")
_MODULE = re.compile(rb"m (?P<path>.*?)" + _NUMBERS)
_SIZED = re.compile(rb"m (?P<length>[0-9a-f]{1,8}) ")


class Mapped:
    """The parts of binaries that were mapped at any time. Where later ones overlap earlier ones, the first wins."""

    def __init__(self, lines: bytes, version: int) -> None:
        """``lines`` are those of the recording, whose file has ``version``."""
        regions: dict[Region, None] = {}
        program = ""
        for line in lines.splitlines():
            named = _PROGRAM.fullmatch(line)
            if named is not None:
                program = program or named["path"].decode("utf-8", "replace")
                continue
            path, numbers = _module(line, version)
            if len(numbers) < 3 or len(regions) > _MOST_REGIONS:
                continue
            binary = program if path == "x" else path
            bias = numbers[0]
            for address, size in zip(numbers[1::2], numbers[2::2], strict=False):
                start = bias + address
                regions.setdefault(Region(binary, start, start + size, address, is_whole=False, bias=bias))
        ordered = sorted(regions, key=lambda region: region.start)
        self._regions = ordered
        self._starts = [region.start for region in ordered]

    def at(self, address: int) -> Region | None:
        """Return what was mapped at an address."""
        row = bisect_right(self._starts, address) - 1
        return self._regions[row] if row >= 0 and address < self._regions[row].end else None


def _module(line: bytes, version: int) -> tuple[str, list[int]]:
    """Return the path and the numbers of a line; none if it isn't valid, or only says that a new list begins."""
    sized = _SIZED.match(line) if version >= 3 else None
    if sized is not None:
        end = sized.end() + int(sized["length"], 16)
        path, rest = line[sized.end() : end], line[end:]
        found = re.fullmatch(_NUMBERS, rest)
    else:
        found = _MODULE.fullmatch(line)
        path = found["path"] if found is not None else b""
    if found is None:
        return "", []
    return path.decode("utf-8", "replace"), [int(number, 16) for number in found["numbers"].split()]


def with_inlined(parents: U32, node_rows: U32, numbers: U32, sizes: I64) -> tuple[U32, U32, I64]:
    """Give each node of a prefix tree as many nodes as its row has frames.

    ``numbers`` are the frames of all rows, innermost first, and ``sizes`` how many each row has. Returns the parents
    and the frames of the new nodes, and the number of the innermost new node of each old one.
    """
    if len(node_rows) == 1:
        # no stack was recorded, so there may be no row either
        return parents, node_rows, np.zeros(1, np.int64)
    counts = sizes[node_rows]
    counts[0] = 1
    first = np.cumsum(counts) - counts
    last = first + counts - 1
    total = int(counts.sum())
    new_parents = np.arange(-1, total - 1, dtype=np.int64)
    new_parents[first] = last[parents]
    new_parents[0] = parents[0]
    # nodes are numbered from the outermost
    end_of_row = np.cumsum(sizes)
    within = np.arange(total) - np.repeat(first, counts)
    places = np.repeat(end_of_row[node_rows] - 1, counts) - within
    frames = numbers[places]
    return new_parents.astype(np.uint32), frames.astype(np.uint32), last
