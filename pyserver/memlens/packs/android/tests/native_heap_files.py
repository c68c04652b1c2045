"""Writes traces of Perfetto with samples of native memory, as heapprofd does: samples first, then what they are of."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tests.python import perfetto_files
from tests.python.perfetto_files import Packet

from memlens.packs.go.tests.pprof_files import encode

_TABLES = {"MAPPED": {
    1: "int iid", 2: "int build_id", 3: "int start_offset", 4: "int start", 5: "int end", 6: "int load_bias",
    7: "ints path", 8: "int exact_offset",
}, "FRAMED": {1: "int iid", 2: "int function", 3: "int mapping", 4: "int rel_pc", 5: "int source", 6: "int line"},
    "CALLED": {1: "int iid", 2: "ints frames"}, "WORD": {1: "int iid", 2: "bytes text"},
}  # fmt: skip
SCHEMA = {
    **perfetto_files.SCHEMA, **_TABLES,
    "PACKET": {
        **perfetto_files.SCHEMA["PACKET"], 12: "INTERNED interned", 13: "int flags", 41: "int forgotten",
        61: "SYMBOLS symbols",
    },
    "INTERNED": {
        5: "WORD functions", 6: "FRAMED frames", 7: "CALLED stacks", 16: "WORD build_ids", 17: "WORD paths",
        18: "WORD sources", 19: "MAPPED mappings",
    },
    "PROFILE": {
        1: "WORD strings", 2: "FRAMED frames", 3: "CALLED stacks", 4: "MAPPED mappings", 5: "HEAP heaps",
        6: "int continued", 7: "int index",
    },
    "HEAP": {
        1: "int pid", 2: "SAMPLE samples", 3: "int from_startup", 4: "int rejected", 5: "STATS stats",
        6: "int disconnected", 7: "int overran", 8: "int corrupted", 9: "int time", 10: "int guardrail",
        11: "string name", 12: "int interval", 14: "int error", 15: "int begin",
    },
    "STATS": {1: "int unwinding_errors"},
    "SAMPLE": {
        1: "int stack", 2: "int allocated", 3: "int freed", 5: "int allocations", 6: "int frees", 8: "int peak",
        9: "int peak_count",
    },
    "SYMBOLS": {1: "string path", 2: "bytes build_id", 3: "ADDRESS addresses"},
    "ADDRESS": {1: "int address", 2: "LINE lines"},
    "LINE": {1: "string function", 2: "string file", 3: "int line"},
    "CLASS": {1: "string short", 2: "string name", 3: "MEMBER members", 4: "MEMBER methods"},
}  # fmt: skip
"""Fields by their numbers, as ``profile_packet``, ``profile_common`` and ``interned_data`` of Perfetto have them."""

SECOND_NS = 10**9


class Code(NamedTuple):
    """A place in a binary: ``rel_pc`` is an address as linked."""

    function: str = ""
    path: str = "/data/app/~~AAAA==/com.example.notes-BBBB==/lib/arm64/libnotes.so"
    rel_pc: int = 0x1000
    build_id: bytes = b"\x12\x34\x56\x78"
    start: int = 0x7000_0000
    end: int = 0x7001_0000
    offset: int = 0
    load_bias: int = 0
    source: str = ""
    line: int = 0


Stack = tuple[Code, ...]
"""The innermost first."""


class Interning:
    """Numbers texts, mappings, frames and stacks; what was added since the last :meth:`taken` is written with that."""

    def __init__(self, *, local: bool = False) -> None:
        """``local``: in tables of a profile's own, as Android 10 writes them."""
        self._local = local
        self._known: dict[Any, int] = {}
        self._new: Packet = {}

    def stack(self, stack: Stack) -> int:
        """The id of a stack."""
        return self._id("stacks", stack, lambda: {"frames": [self._frame(code) for code in reversed(stack)]})

    def taken(self) -> Packet:
        """The tables' new rows."""
        new, self._new = self._new, {}
        return new

    def _frame(self, code: Code) -> int:
        path = [self._word("paths", part) for part in code.path.removeprefix("/").split("/")]
        mapped = (code.path, code.build_id, code.start, code.end, code.offset, code.load_bias)
        build_id = self._word("build_ids", code.build_id) if code.build_id else 0
        mapping = self._id("mappings", mapped, lambda: {
            "build_id": build_id, "start": code.start, "end": code.end, "exact_offset": code.offset,
            "load_bias": code.load_bias, "path": path,
        }) if code.path else 0  # fmt: skip
        function = self._word("functions", code.function) if code.function else 0
        source = self._word("sources", code.source) if code.source else 0
        return self._id("frames", code, lambda: {
            "function": function, "mapping": mapping, "rel_pc": code.rel_pc, "source": source, "line": code.line,
        })  # fmt: skip

    def _word(self, table: str, text: str | bytes) -> int:
        data = text if isinstance(text, bytes) else text.encode()
        return self._id("strings" if self._local else table, data, lambda: {"text": data})

    def _id(self, table: str, what: Any, row: Any) -> int:
        key = table, what
        if key not in self._known:
            made = row()
            # one number for all tables, as heapprofd has it
            self._known[key] = 1 + len(self._known)
            self._new.setdefault(table, []).append({"iid": self._known[key], **made})
        return self._known[key]


def heap(
    pid: int,
    samples: Iterable[tuple[int, dict[str, int]]],
    *,
    name: str = "libc.malloc",
    at: float = 0,
    **more: Any,
) -> Packet:
    """What a dump has of a heap: pairs of a stack's id and its figures. ``at`` is in seconds."""
    rows = [{"stack": stack, **figures} for stack, figures in samples]
    said = {"interval": 4096, "time": round(at * SECOND_NS) if at else None, **more}
    return {"pid": pid, "name": [name] if name else [], "samples": rows, **said}


def dump(
    heaps: list[Packet], interning: Interning, *, index: int = 0, sequence: int = 7, in_a_row: bool = True
) -> list[Packet]:
    """The packets of a dump: with ``in_a_row`` one for each heap, then what is interned, then an empty one."""

    def packet(number: int, **more: Any) -> Packet:
        return {"sequence": sequence, "timestamp": 10, "profile": [{"index": number, **more}]}

    if not in_a_row:
        return [{**packet(index, heaps=heaps), "interned": [interning.taken()]}]
    found = [packet(index + each, heaps=[one], continued=1) for each, one in enumerate(heaps)]
    return [
        *found, {"sequence": sequence, "interned": [interning.taken()]}, packet(index + len(heaps)),
    ]  # fmt: skip


def beginning(sequence: int = 7) -> Packet:
    """The first packet of a sequence, which forgets what was interned before and interns nothing."""
    return {"sequence": sequence, "flags": 1, "interned": [{}]}


def trace(packets: list[Packet], *, packed: bool = True) -> bytes:
    """The bytes of a trace."""
    return encode({"packet": packets}, "TRACE", packed=packed, schema=SCHEMA)


NOTES = "/home/me/notes/app/src/main/cpp"
MALLOC = Code("malloc", "/apex/com.android.runtime/lib64/bionic/libc.so", 0x4A0, b"\xbb" * 16)
RUN = Code("art_quick_invoke_stub", "/apex/com.android.art/lib64/libart.so", 0x99, b"\xcc" * 16)
OPEN = Code("com.example.notes.a.b", "/data/app/~~AAAA==/com.example.notes-BBBB==/base.apk", 0x77, b"")
LOAD, SHOW, PARSE = (
    Code(name, rel_pc=rel_pc)
    for name, rel_pc in (("_ZN5notes5Cache4loadEi", 0x1000), ("_ZN5notes4showEi", 0x2000),
                         ("_ZN5notes5parseEPKc", 0x3000))
)  # fmt: skip
LINES = {
    LOAD: (
        ("notes::Cache::decode(int)", f"{NOTES}/cache.h", 12),
        ("notes::Cache::load(int)", f"{NOTES}/cache.cpp", 31),
    ),
    SHOW: (("notes::show(int)", f"{NOTES}/show.cpp", 8),),
    PARSE: (("notes::parse(char const*)", f"{NOTES}/parse.cpp", 77),),
}
"""The lines of the library, with inlined functions first."""

Figures = dict[str, int]


def _of_app(dumps: Iterable[dict[Stack, Figures]]) -> bytes:
    """A trace of an app with a dump a second, and of a service that holds 64 KiB; packets have lines and names."""
    words = Interning()
    packets: list[Packet] = [
        {"process_tree": [{"processes": [
            {"pid": 1, "ppid": 0, "cmdline": ["init"]},
            {"pid": 4321, "ppid": 1, "cmdline": ["com.example.notes"]},
            {"pid": 99, "ppid": 1, "cmdline": ["surfaceflinger"]},
        ]}]},
        beginning(),
    ]  # fmt: skip
    for number, stacks in enumerate(dumps):
        of_time: dict[str, Any] = {"at": 101 + number, "begin": 100 * SECOND_NS}
        rows = [(words.stack((MALLOC, *stack, OPEN, RUN)), figures) for stack, figures in stacks.items()]
        is_peak = any("peak" in figures for _, figures in rows)
        held = {"peak": 65_536, "peak_count": 4} if is_peak else {"allocated": 65_536, "allocations": 4}
        other = [(words.stack((MALLOC, RUN)), held)]
        packets += dump([heap(4321, rows, **of_time), heap(99, other, **of_time)], words, index=3 * number)
    addresses = [
        {
            "address": code.rel_pc,
            "lines": [
                {"function": [function], "file": [file], "line": line} for function, file, line in lines
            ],
        }
        for code, lines in LINES.items()
    ]
    packets.append({"symbols": [{"path": [LOAD.path], "build_id": LOAD.build_id, "addresses": addresses}]})
    methods = [{"short": ["b"], "name": ["openNote"]}]
    classes = [{"short": ["com.example.notes.a"], "name": ["com.example.notes.NoteList"], "methods": methods}]
    packets.append({"mapping": [{"package": ["com.example.notes"], "classes": classes}]})
    return trace(packets)


def _figures(allocated: int, freed: int = 0, piece: int = 4_096) -> Figures:
    return {
        "allocated": allocated,
        "freed": freed,
        "allocations": allocated // piece,
        "frees": freed // piece,
    }


def leaking() -> bytes:
    """An app that keeps the thumbnails of all notes that it showed."""
    return _of_app(
        {
            (LOAD, SHOW): _figures(524_288 * second),
            (PARSE, SHOW): _figures(409_600 * second, 409_600 * second - 8_192),
        }
        for second in range(1, 11)
    )


def steady() -> bytes:
    """The same app with a cache of 1 MiB: what it parses it frees, and a picture that grows for a while as well."""
    pictures = (0, 512, 1_024, 1_536, 2_048, 0, 512, 1_024, 2_048, 0)
    shown = 0
    dumps: list[dict[Stack, Figures]] = []
    for second, picture in enumerate(pictures, 1):
        shown += picture
        dumps.append({
            (LOAD, SHOW): _figures(1 << 20),
            (PARSE, SHOW): _figures(second << 22, second << 22),
            (SHOW,): _figures(shown << 10, (shown - picture) << 10),
        })  # fmt: skip
    return _of_app(dumps)


def at_maximum() -> bytes:
    """The same app, of which the sizes at the maximum were recorded."""
    peaks = {(LOAD, SHOW): 3 << 20, (PARSE, SHOW): 1 << 20}
    return _of_app([{stack: {"peak": size, "peak_count": size >> 12} for stack, size in peaks.items()}])


def both() -> bytes:
    """A heap graph and samples of native memory."""
    return perfetto_files.small() + leaking()


FILES = {"example": leaking, "steady": steady, "maximum": at_maximum, "both": both}
"""The traces beside this file."""


def path_of(name: str) -> Path:
    """Where one of them is."""
    return Path(__file__).with_name(f"{name}.pftrace")


if __name__ == "__main__":
    for name, make in FILES.items():
        path_of(name).write_bytes(make())
