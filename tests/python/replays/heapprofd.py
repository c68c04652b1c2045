"""Samples of native memory in traces of Perfetto, one packet after the other, by the numbers of the published fields.

Written from ``trace_packet.proto``, ``profile_packet.proto``, ``profile_common.proto`` and ``interned_data.proto``.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.python.protobuf import fields, varints
from tests.python.replays.stacks import Frame, Profile

from memlens.formats.symbols.names import plain_name

ART = "com.android.art"
JAVA = (".apk", ".jar", ".dex", ".odex", ".oat", ".vdex", ".art")
Message = list[tuple[int, Any]]


def first(message: Message, number: int, otherwise: Any = 0) -> Any:
    """The last value of a field that isn't repeated."""
    return next((value for field, value in reversed(message) if field == number), otherwise)


def every(message: Message, number: int) -> list[Any]:
    """The values of a repeated field."""
    return [value for field, value in message if field == number]


def numbers(message: Message, number: int) -> list[int]:
    """The numbers of a repeated field, packed or not."""
    return [
        each
        for value in every(message, number)
        for each in ([value] if isinstance(value, int) else varints(value))
    ]


def packets(data: bytes) -> Iterator[Message]:
    """A trace's packets, those within compressed ones in their place."""
    for number, data_of_packet in fields(data):
        assert number == 1
        packet = fields(data_of_packet)
        inside = first(packet, 50, None)
        if inside is None:
            yield packet
        else:
            yield from packets(zlib.decompress(inside))


class Tables:
    """What ids stand for."""

    def __init__(self) -> None:
        self.words: dict[tuple[str, int], bytes] = {}
        self.mappings: dict[int, Message] = {}
        self.frames: dict[int, Message] = {}
        self.stacks: dict[int, list[int]] = {}

    def add(self, message: Message, names: dict[int, str]) -> None:
        for field, value in message:
            kind = names.get(field)
            if kind is None:
                continue
            row = fields(value)
            number = first(row, 1)
            if kind == "mapping":
                self.mappings.setdefault(number, row)
            elif kind == "frame":
                self.frames.setdefault(number, row)
            elif kind == "stack":
                self.stacks.setdefault(number, numbers(row, 2))
            else:
                self.words.setdefault((kind, number), first(row, 2, b""))


INTERNED = {5: "function", 6: "frame", 7: "stack", 16: "build id", 17: "path", 18: "source", 19: "mapping"}
LOCAL = {1: "any", 2: "frame", 3: "stack", 4: "mapping"}


class Key(NamedTuple):
    """A stack of a heap, by the recorder's own number."""

    sequence: int
    pid: int
    heap: str
    stack: int
    frames: tuple[Frame, ...]


class Trace:
    """All samples of a trace."""

    def __init__(self, data: bytes) -> None:
        whole = list(packets(data))
        self.symbols: dict[tuple[str, bytes, int], list[Frame]] = {}
        self.renamed: dict[str, tuple[str, str]] = {}
        for packet in whole:
            for module in every(packet, 61):
                self._take_symbols(fields(module))
            for mapping in every(packet, 64):
                self._take_names(fields(mapping))
        self.totals: dict[Key, list[int]] = {}
        self.peaks: dict[tuple[int, int, str], tuple[int, dict[Key, list[int]]]] = {}
        self.art: set[Key] = set()
        interned: dict[int, Tables] = {}
        waiting: dict[int, list[tuple[Message, Message]]] = {}
        local: dict[int, Tables] = {}
        dumps = 0
        for packet in whole:
            sequence = first(packet, 10)
            if first(packet, 41) or first(packet, 13) & 1:
                interned[sequence] = Tables()
            if (said := first(packet, 12, None)) is not None:
                interned.setdefault(sequence, Tables()).add(fields(said), INTERNED)
            if (profile := first(packet, 37, None)) is None:
                continue
            message = fields(profile)
            local.setdefault(sequence, Tables()).add(message, LOCAL)
            for each in every(message, 5):
                process = fields(each)
                waiting.setdefault(sequence, []).extend((process, fields(one)) for one in every(process, 2))
            if not first(message, 6):
                dumps += 1
                tables = local.pop(sequence), interned.setdefault(sequence, Tables())
                for process, sample in waiting.pop(sequence, []):
                    self._take(dumps, sequence, process, sample, *tables)

    def _take(
        self, dump: int, sequence: int, process: Message, sample: Message, own: Tables, shared: Tables
    ) -> None:
        pid, heap = first(process, 1), first(process, 11, b"libc.malloc").decode()
        number = first(sample, 1)
        tables = own if number in own.stacks else shared
        key = Key(sequence, pid, heap, number, tuple(self._frames(number, tables, is_local=tables is own)))
        if any(field in (8, 9) for field, _ in sample):
            seen, held = self.peaks.get((sequence, pid, heap), (0, {}))
            held = held if seen == dump else {}
            held[key] = [first(sample, 8), first(sample, 9)]
            self.peaks[sequence, pid, heap] = dump, held
            return
        self.totals[key] = [
            max(before, first(sample, field))
            for before, field in zip(self.totals.get(key, [0] * 4), (2, 5, 3, 6), strict=True)
        ]
        if heap == ART:
            self.art.add(key)

    def _frames(self, number: int, tables: Tables, *, is_local: bool) -> Iterator[Frame]:
        """The innermost first."""
        for each in reversed(tables.stacks.get(number, [])):
            frame = tables.frames.get(each)
            if frame is None:
                yield Frame("(not in the trace)", "", 0)
                continue
            function, source = (
                tables.words.get(("any" if is_local else kind, first(frame, field)), b"").decode()
                for kind, field in (("function", 2), ("source", 5))
            )
            mapping = tables.mappings.get(first(frame, 3), [])
            parts = [
                tables.words.get(("any" if is_local else "path", part), b"") for part in numbers(mapping, 7)
            ]
            path = "".join(f"/{part.decode()}" for part in parts)
            path = path[1:] if path[:2] in ("//", "/[") else path
            build_id = tables.words.get(("any" if is_local else "build id", first(mapping, 2)), b"")
            yield from self._named(function, path, build_id, first(frame, 4), source, first(frame, 6))

    def _named(
        self, function: str, path: str, build_id: bytes, rel_pc: int, source: str, line: int
    ) -> Iterator[Frame]:
        lines = self.symbols.get((path, build_id, rel_pc))
        if lines:
            yield from (each._replace(module=path) for each in lines)
        elif (path.endswith(JAVA) or "jit-cache" in path) and "." in function:
            owner, method = self.renamed.get(function, function.rpartition(".")[::2])
            yield Frame(f"{owner}.{method}", f"{owner.partition('$')[0].replace('.', '/')}.java", 0)
        elif function.startswith("ERROR ") and not rel_pc:
            yield Frame("(stack cut off)", "", 0)
        elif function:
            yield Frame(plain_name(function), source, line, path)
        else:
            binary = "" if source else path.rpartition("/")[2]
            yield Frame(f"{binary} at 0x{rel_pc:x}" if binary else f"0x{rel_pc:x}", source, line, path)

    def _take_symbols(self, module: Message) -> None:
        for each in every(module, 3):
            address = fields(each)
            lines = [fields(line) for line in every(address, 2)]
            self.symbols[first(module, 1, b"").decode(), first(module, 2, b""), first(address, 1)] = [
                Frame(
                    plain_name(first(line, 1, b"").decode()) or "?",
                    first(line, 2, b"").decode(),
                    first(line, 3),
                )
                for line in lines
            ]

    def _take_names(self, mapping: Message) -> None:
        """Names of one app; the traces here have no others."""
        for each in every(mapping, 3):
            said = fields(each)
            short, own = first(said, 1, b"").decode(), first(said, 2, b"").decode()
            for method in every(said, 4):
                pair = fields(method)
                self.renamed[f"{short}.{first(pair, 1).decode()}"] = own, first(pair, 2).decode()


def read(path: Path) -> Profile:
    """The profile of a trace."""
    return profile_of(path.read_bytes())


def profile_of(data: bytes) -> Profile:
    """What is live, at the maximum, and allocated, by stack; and what was allocated of Java's objects."""
    trace = Trace(data)
    malloc = [key for key in trace.totals if key not in trace.art]
    has = {
        "live": bool(malloc), "peak": bool(trace.peaks), "allocated": bool(trace.totals),
        "java": bool(trace.art) and (bool(malloc) or bool(trace.peaks)),
    }  # fmt: skip
    order = [name for name, is_there in has.items() if is_there]
    profile = Profile([f"{name}_{unit}" for name in order for unit in ("bytes", "count")])

    def add(key: Key, **figures: list[int]) -> None:
        none = [0, 0]
        profile.add(key.frames, [each for name in order for each in figures.get(name, none)])

    for key, (allocated, allocations, freed, frees) in trace.totals.items():
        all_of_it = [allocated, allocations]
        if key not in trace.art:
            add(key, live=[allocated - freed, allocations - frees], allocated=all_of_it)
        elif has["java"]:
            add(key, java=all_of_it)
        else:
            add(key, allocated=all_of_it)
    for _, held in trace.peaks.values():
        for key, figures in held.items():
            add(key, peak=figures)
    return profile
