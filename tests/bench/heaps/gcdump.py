"""Reads the nodes of a .gcdump in plain Python, as a script for one dump would: types, sizes and children.

``python gcdump.py FILE``; the format is in ``pyserver/memlens/packs/dotnet/gcdump_file.py``.
"""

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "pyserver"))

from memlens.packs.dotnet.gcdump_file import read_file


def main() -> None:
    """Print the number of nodes, references and bytes."""
    data = Path(sys.argv[1]).read_bytes()
    dump = read_file(data)
    offsets = struct.unpack_from(f"<{dump.node_count}I", data, dump.table)
    nodes, references, total = [], 0, 0

    def number(at: int) -> tuple[int, int]:
        byte = data[at]
        value = (byte & 0x7F) - 128 if byte & 0x40 else byte & 0x7F
        while byte & 0x80:
            at += 1
            byte = data[at]
            value = value << 7 | byte & 0x7F
        return value, at + 1

    for index, offset in enumerate(offsets):
        word, at = number(dump.blob + offset)
        size = dump.sizes[word >> 1]
        if word & 1:
            size, at = number(at)
        count, at = number(at)
        children = []
        for _ in range(count):
            child, at = number(at)
            children.append(index + child)
        nodes.append((word >> 1, size, children))
        references += count
        total += size
    print(len(nodes), references, total)


if __name__ == "__main__":
    main()
