"""Frames as valgrind writes them, ``0x10B2A4: main (tree.cpp:29)``, in massif's and DHAT's files.

Source: ``VG_(describe_IP)`` in ``coregrind/m_debuginfo/debuginfo.c``. The Rust crate dhat writes the same with a
column behind the line.
"""

import re

from memlens.model.frames import LIBRARY, MOST_NAME, MOST_PATH, USER, SourceFrame, profiled_frame

MOST_TEXT = MOST_NAME + MOST_PATH

_ADDRESS = re.compile(r"0x([0-9A-Fa-f]+): ")
_PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d{1,10})(?::\d{1,10})?")
# valgrind and the crate write a file's name without its folder, so what stands in a library is told by the function:
# by its namespace, or by the underscore that C keeps for itself (C standard, 7.1.3)
_LIBRARY_FUNCTION = re.compile(
    r"^(?:void |bool )?(?:std::|__gnu_cxx::|operator new|operator delete|_|\(below main\)|"
    r"<?(?:&(?:mut )?|\[)?(?:[TI] as )?(?:alloc|core|std|hashbrown)::)"
)


def valgrind_frame(text: str) -> SourceFrame:
    """A frame of its text. Where no function is known it is called by its address.

    Without ``--fullpath-after=`` a file has no folder, so whose code it is goes by its name alone.
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
    frame = profiled_frame(file, line, function, module)
    if frame.kind == USER and "/" not in frame.file and _LIBRARY_FUNCTION.match(function):
        return SourceFrame(frame.file, frame.line, frame.function, LIBRARY)
    return frame
