"""Frames in massif's and DHAT's files, ``0x10B2A4: main (tree.cpp:29)``.

Source: ``VG_(describe_IP)`` in ``coregrind/m_debuginfo/debuginfo.c``. The Rust crate dhat writes the same with a
column after the line.
"""

import re
from collections.abc import Sequence

import numpy as np

from memlens.arrays import I64, Mask
from memlens.formats.containers import Source
from memlens.formats.symbols.lookup import Region, Symbols
from memlens.formats.warnings import counted_warnings
from memlens.model.distinct import without
from memlens.model.frames import MOST_LINE, MOST_NAME, MOST_PATH, Frames, SourceFrame, profiled_frame
from memlens.model.info import FileWarning

MOST_TEXT = MOST_NAME + MOST_PATH

_ADDRESS = re.compile(r"0x([0-9A-Fa-f]+): ")
_BARE = re.compile(r"0x(?P<address>[0-9A-Fa-f]{1,16}): \?\?\? \(in (?P<program>/.+)\)")
_LIBRARY = re.compile(r"\.so(?:\.[\d.]+)?$")
_PROGRAM_BASE = 0x108000
"""Where valgrind loads position-independent programs, ``ume_main`` in ``coregrind/m_ume/elf.c``."""
_WRONG_LINE = re.compile(r" \([^()]*?[^()\s]:(?:(?P<line>\d{1,10})|-?[\d.][\w.+-]*)(?::\d{1,10})?\)$")
_NOWHERE = re.compile(r"0x[0-9a-f]+")
"""The name of a frame outside of every function and mapped file."""
_PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d{1,10})(?::\d{1,10})?")


def valgrind_frames(texts: Sequence[str], source: Source) -> tuple[list[SourceFrame], I64, list[FileWarning]]:
    """Parse all frames; addresses in the program whose functions valgrind didn't know are looked up.

    Returns the frames in order, how many of them each text has become, and what is to be said about lookups. Where
    valgrind loaded libraries isn't in its files.
    """
    regions = {}
    for text in texts:
        bare = _BARE.fullmatch(text)
        if bare is not None and not _LIBRARY.search(bare["program"]):
            region = Region(bare["program"], 0, 0, 0, is_whole=False, program_base=_PROGRAM_BASE)
            regions[text] = int(bare["address"], 16), region
    symbols = Symbols(source)
    found = symbols.look_up(regions.values())
    frames: list[SourceFrame] = []
    lineless = 0
    sizes = np.ones(len(texts), np.int64)
    for number, text in enumerate(texts):
        places = found.get(regions[text]) if text in regions else None
        if places:
            module = regions[text][1].path
            frames += [profiled_frame(place.file, place.line, place.function, module) for place in places]
            sizes[number] = len(places)
        else:
            frames.append(valgrind_frame(text))
            wrong = _WRONG_LINE.search(text[:MOST_TEXT])
            lineless += wrong is not None and (
                wrong["line"] is None or not 0 <= int(wrong["line"]) <= MOST_LINE
            )
    warnings = symbols.warnings() if symbols.has_searched else []
    return frames, sizes, [*warnings, *counted_warnings(impossible_lines=lineless)]


def valgrind_frame(text: str) -> SourceFrame:
    """Parse a frame. If the function is unknown, its address is used as its name.

    Without ``--fullpath-after=`` files have no folders, so only the file's name decides whose code it is.
    """
    text = text[:MOST_TEXT]
    address = _ADDRESS.match(text)
    function, file, line, module = text[address.end() :] if address else text, "", 0, ""
    if function.endswith(")"):
        before, inside, after = function.rpartition(" (in ")
        if inside:
            function, module = before, after[:-1]
        else:
            before, inside, after = function.rpartition(" (")
            place = _PLACE.fullmatch(after[:-1]) if inside else None
            if place is not None:
                function, file, line = before, place["file"], int(place["line"])
    if function in ("", "???") and address:
        function = f"0x{address[1].lower()}"
    return profiled_frame(file, line, function, module)


def without_words_of_the_stack(frames: Frames) -> Frames:
    """Drop the outermost frames that are in no function and no file, as ``0x2`` and ``0x1fff00096b``.

    Beyond a program's entry valgrind takes the words there for return addresses: the number of arguments, and where
    these are. A stack of nothing else becomes empty. Such frames below others, as of generated code, stay.
    """
    nowhere = np.fromiter(
        (not frame.file and bool(_NOWHERE.fullmatch(frame.function)) for frame in frames.frames), np.bool_
    )
    starts = frames.starts.astype(np.int64)
    kept: Mask = np.ones(len(frames.sequence), np.bool_)
    last = starts[1:] - 1
    while True:
        last = last[last >= 0]
        last = last[kept[last] & nowhere[frames.sequence[last]]]
        if not len(last):
            break
        kept[last] = False
        last = without(last - 1, starts[1:] - 1)
    before = np.concatenate(([0], np.cumsum(kept)))
    return Frames(frames.frames, before[starts].astype(np.uint64), frames.sequence[kept])
