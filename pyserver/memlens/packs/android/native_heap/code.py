"""Frames of native memory's stacks: what the recorder called them, and what symbols say, of the trace or beside it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.stacks import CUT, distinct_frames, with_inlined
from memlens.formats.symbols.dwarf import Place
from memlens.formats.symbols.lookup import Region, Symbols
from memlens.formats.symbols.names import plain_name
from memlens.model.expansion import most_items
from memlens.model.frames import MOST_LINE, NATIVE, Frames, SourceFrame, profiled_frame
from memlens.model.info import FileWarning
from memlens.packs.android.deobfuscation import Deobfuscation
from memlens.packs.android.kernels import perfetto as kernel
from memlens.packs.android.native_heap.tables import FrameKey, Joined
from memlens.packs.android.packets import Buffer
from memlens.packs.jvm import OBJECTS
from memlens.packs.jvm.flight.code import source_file
from memlens.packs.jvm.obfuscation import Mapping, mapping_for
from memlens.texts import phrase

_UNKNOWN = SourceFrame("", 0, "(not in the trace)", NATIVE)
_ERROR = "ERROR "
"""How the recorder calls the outermost frame of a stack that it could not follow further."""

_JAVA = (".apk", ".jar", ".dex", ".odex", ".oat", ".vdex", ".art")
_COMPILED = ("jit-cache", "/memfd:", "[anon:dalvik-", "/dev/ashmem/dalvik-")
"""Where code of Java is: in an app's files, or where ART compiled it."""

_OF_SYSTEM = ("/system/", "/system_ext/", "/apex/", "/vendor/", "/product/", "/odm/")
_IN_APP = "!"
"""Between an app's file and the library that is mapped from within it."""


class Code(NamedTuple):
    """The frames and stacks of samples, and the warnings about them."""

    frames: Frames
    warnings: list[FileWarning]
    has_own_java: bool
    """Whether methods of the app's own are among them, which have no lines."""


class _Named(NamedTuple):
    """A frame of Java's: its class and its method."""

    owner: str
    method: str


def frames_of(joined: Joined, source: Source, symbols: "TraceSymbols", renames: Deobfuscation) -> Code:
    """The frames and stacks of samples. Raises :class:`DamagedSnapshotError`."""
    keys = joined.frames
    asked, found, warnings = _looked_up(keys, symbols, source)
    java = {number: named for number, key in enumerate(keys) if (named := _java(key, renames)) is not None}
    mapping = mapping_for(
        lambda: {each.owner for each in java.values()}, source.path, source.tools.source_folders
    )
    frames: list[SourceFrame] = []
    sizes = np.ones(len(keys), np.int64)
    for number, key in enumerate(keys):
        named = java.get(number)
        region = asked.get(number)
        places = symbols.of(key) or (found.get(region, []) if region is not None else [])
        if named is not None:
            frames.append(_of_java(named, mapping))
        elif places:
            frames += [profiled_frame(each.file, each.line, each.function, key.path) for each in places]
            sizes[number] = len(places)
        else:
            frames.append(_plain(key))
    count = int(sizes[joined.stack_frames].sum())
    if count > (most := most_items(source.length)):
        raise DamagedSnapshotError(
            phrase(
                "The stacks have {count} frames, which is more than {most}, the limit for the file's size",
                count=count,
                most=most,
            )
        )
    distinct, numbers = distinct_frames(frames)
    starts, places_of = with_inlined(joined.stack_starts.astype(np.uint64), joined.stack_frames, sizes)
    platform = OBJECTS.platform.packages
    has_own = any(platform is None or not platform.match(each.owner) for each in java.values())
    return Code(
        Frames(distinct, starts, numbers[places_of]), [*warnings, *mapping.warnings()], has_own_java=has_own
    )


class TraceSymbols:
    """The symbols of addresses in packets that ``traceconv symbolize`` appends to a trace."""

    def __init__(self, messages: Iterator[tuple[Buffer, int, int]]) -> None:
        self._places: dict[tuple[str, str, int], list[Place]] = {}
        for data, start, end in messages:
            said = kernel.fields_of(data, start, end)
            path, build_id = (
                next((each for number, each in said if number == field and isinstance(each, bytes)), b"")
                for field in (1, 2)
            )
            for number, symbols in said:
                if number == 3 and isinstance(symbols, bytes):
                    self._add(path.decode("utf-8", "replace"), build_id.hex(), symbols)

    def of(self, key: FrameKey) -> list[Place]:
        """The functions at a frame's address, the innermost first; empty if unknown."""
        return self._places.get((key.path, key.mapped.build_id, key.rel_pc), [])

    def _add(self, path: str, build_id: str, data: bytes) -> None:
        address, places = 0, []
        for number, value in kernel.fields_of(data, 0, len(data)):
            if number == 1 and isinstance(value, int):
                address = value
            elif number == 2 and isinstance(value, bytes):
                said = dict(kernel.fields_of(value, 0, len(value)))
                function, file = (
                    text.decode("utf-8", "replace") if isinstance(text := said.get(field), bytes) else ""
                    for field in (1, 2)
                )
                line = said.get(3, 0)
                line = line if isinstance(line, int) and line <= MOST_LINE else 0
                places.append(Place(plain_name(function) or "?", file, line))
        if places:
            self._places[path, build_id, address] = places


Asked = tuple[int, Region]


def _looked_up(
    keys: Sequence[FrameKey], symbols: TraceSymbols, source: Source
) -> tuple[dict[int, Asked], dict[Asked, list[Place]], list[FileWarning]]:
    """The addresses of frames that may be in a binary here, and what is known of them."""
    asked: dict[int, Asked] = {}
    for number, key in enumerate(keys):
        has_name = bool(key.function) and (key.path.startswith(_OF_SYSTEM) or key.line > 0)
        if key.is_known and key.path and not symbols.of(key) and not has_name and not _is_java(key):
            asked[number] = _place(key)
    lookup = Symbols(source)
    found = lookup.look_up(
        asked.values(), {place for number, place in asked.items() if keys[number].function}
    )
    return asked, found, lookup.warnings()


def _place(key: FrameKey) -> Asked:
    """Where a frame's address was in its process, of a library within an app's file as if it were beside that.

    The load bias isn't trusted, as Android 10 computes it wrongly: the place in the file is what it was taken from.
    """
    path, _, library = key.path.partition(_IN_APP)
    path = f"{path.rpartition('/')[0]}/{library.rpartition('/')[2]}" if library else path
    mapped = key.mapped
    address = key.rel_pc - mapped.load_bias + mapped.start - mapped.offset
    # of a debug file its place is known by the mapping's size
    is_whole = 0 < mapped.start < mapped.end
    region = Region(path, mapped.start, mapped.end, mapped.offset, mapped.build_id, is_whole)
    return address, region


def _is_java(key: FrameKey) -> bool:
    is_there = key.path.endswith(_JAVA) or any(part in key.path for part in _COMPILED)
    return is_there and "." in key.function and "::" not in key.function and not key.function.startswith("_Z")


def _java(key: FrameKey, renames: Deobfuscation) -> _Named | None:
    if not _is_java(key):
        return None
    owner, _, method = key.function.partition("(")[0].rpartition(" ")[2].rpartition(".")
    return _Named(*renames.of(key.path).method(owner, method))


def _of_java(named: _Named, mapping: Mapping) -> SourceFrame:
    owner, method, _ = mapping.frame(named.owner, named.method, 0)
    return profiled_frame(source_file(owner.replace(".", "/")), 0, f"{owner}.{method}" if owner else method)


def _plain(key: FrameKey) -> SourceFrame:
    if not key.is_known:
        return _UNKNOWN
    if key.function.startswith(_ERROR) and not key.rel_pc:
        return CUT
    name = plain_name(key.function) or f"0x{key.rel_pc:x}"
    return profiled_frame(key.source, key.line, name, key.path)
