"""Frames in massif's and DHAT's files, ``0x10B2A4: main (tree.cpp:29)``.

Source: ``VG_(describe_IP)`` in ``coregrind/m_debuginfo/debuginfo.c``. The Rust crate dhat writes the same with a
column after the line.
"""

import re

from memlens.model.frames import MOST_NAME, MOST_PATH, SourceFrame, profiled_frame

MOST_TEXT = MOST_NAME + MOST_PATH

_ADDRESS = re.compile(r"0x([0-9A-Fa-f]+): ")
_PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d{1,10})(?::\d{1,10})?")


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
