"""Writes .gcdump files with what the recordings lack: types without names, samples, damage."""

import struct
from collections.abc import Sequence

Node = tuple[int, int | None, Sequence[int]]
"""Type, size (None for that of the type), children."""


def number(value: int) -> bytes:
    """A signed number of 7 bits a byte, the highest first."""
    groups = [value & 0x7F]
    while not -64 <= value < 64:
        value >>= 7
        groups.append(value & 0x7F)
    return bytes([*(group | 0x80 for group in reversed(groups[1:])), groups[0]])


def text(value: str | None) -> bytes:
    return struct.pack("<i", -1) if value is None else struct.pack("<i", len(value.encode())) + value.encode()


def begin(name: str, version: int = 1, reader: int = 0) -> bytes:
    return b"\x04\x04\x01" + struct.pack("<ii", version, reader) + text(name) + b"\x06"


def gcdump(
    types: Sequence[tuple[str | None, int, str | None]],
    nodes: Sequence[Node],
    *,
    root: int = 0,
    deferred: Sequence[tuple[int, str, str]] = (),
    multipliers: Sequence[float] = (),
    multiplier: float = 1.0,
    wide: bool = True,
    total: int | None = None,
    segments: int = 0,
    tool: str = "dotnet-gcdump",
) -> bytes:
    """A whole file. ``deferred`` types have a number, a module and the end of a name."""
    blob, offsets = bytearray(), []
    whole = 0
    for index, (kind, size, children) in enumerate(nodes):
        offsets.append(len(blob))
        blob += number(kind << 1 | (size is not None)) + (b"" if size is None else number(size))
        blob += number(len(children)) + b"".join(number(child - index) for child in children)
        whole += types[kind][1] if size is None else size
    out = b"\x14\0\0\0!FastSerialization.1" + begin("GCHeapDump", 10, 8)
    out += begin("Graphs.MemoryGraph", 1, 1 if deferred else 0)
    out += struct.pack("<qii", whole if total is None else total, root, len(types))
    for name, size, module in types:
        out += text(name) + struct.pack("<i", size) + text(module)
    out += struct.pack(f"<i{len(offsets)}Ii", len(offsets), *offsets, len(blob)) + blob
    if deferred:
        out += struct.pack("<ii", 0, len(deferred))
        for type_id, module, suffix in deferred:
            out += struct.pack("<I", type_id) + begin("Graphs.Module") + text(module)
            out += struct.pack("<qiq", 0x1000, 77, 0) + text(None) + bytes(20) + b"\x06" + text(suffix)
        out += b"\x06"
    # the nodes that describe the dump itself have no address
    own = [
        (types[kind][0] or "").startswith("[") and types[kind][0] != "[]c__DisplayClass1_0"
        for kind, *_ in nodes
    ]
    addresses = [0 if own[index] else 0x1000 + 64 * index for index in range(len(nodes))]
    out += struct.pack(f"<i{len(addresses)}q", len(addresses), *addresses) + bytes([8, wide, 6])
    out += struct.pack("<?ff", wide, multiplier, multiplier) + b"\x01"
    if segments:
        out += begin("DotNetHeapInfo") + struct.pack("<qi", 1 << 20, segments)
        place = len(out) + 1
        for each in range(segments):
            out += begin("GCHeapDumpSegment", 1) if not each else b"\x04\x02" + struct.pack("<i", place)
            out += struct.pack("<7q", *range(7)) + b"\x06"
        out += b"\x06"
    else:
        out += b"\x01"
    out += text("a log") + struct.pack("<q", 635_560_517_203_750_000) + text("MACHINE") + text("app")
    out += struct.pack("<iqqi", 42, 0, 8192, len(multipliers)) + struct.pack(
        f"<{len(multipliers)}f", *multipliers
    )
    return (
        out
        + b"\x0c\0\0\0\0\x01\x0d"
        + text(tool)
        + b"\x06\x06"
        + struct.pack("<iii", 0, len(out), len(out) + 4)
    )


def small() -> bytes:
    """A heap with some of everything."""
    return gcdump(
        [
            ("[.NET Roots]", 0, None), ("[static vars]", 0, None), ("[static var App.Program.cache]", 0, None),
            ("App.Cache", 24, "C:\\app\\App.dll"), ("System.String[]", -1, "System.Private.CoreLib"),
            ("System.String", -1, "System.Private.CoreLib"), ("[]c__DisplayClass1_0", 32, None),
        ],
        [
            (0, None, [1]), (1, None, [2]), (2, None, [3]), (3, None, [4, 3]), (4, 5_000, [5, 6, 5]),
            (5, 64, []), (5, 200, []), (6, None, [3]), (5, 2**31 - 1, []),
        ],
        multipliers=[1, 1, 1, 2.5, 1, 8, 1], multiplier=3.5, segments=2,
    )  # fmt: skip
