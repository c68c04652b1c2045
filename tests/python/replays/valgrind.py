"""Frames in massif's and DHAT's files, as valgrind describes them (``VG_(describe_IP)``)."""

import re
from collections.abc import Sequence
from functools import cache

from tests.python.replays.stacks import Frame

_ADDRESS = re.compile(r"0x([0-9A-Fa-f]+): (.*)", re.DOTALL)
_IN_MODULE = re.compile(r"(.*) \(in (.+)\)", re.DOTALL)
_AT_LINE = re.compile(r"(.*) \((.+?):(\d+)(?::\d+)?\)", re.DOTALL)


@cache
def frame_of(text: str) -> Frame:
    """Parse a frame; without a name its address is used."""
    address, described = "", text
    found = _ADDRESS.fullmatch(text)
    if found is not None:
        address, described = f"0x{found[1].lower()}", found[2]
    file, line, module = "", 0, ""
    if (found := _IN_MODULE.fullmatch(described)) is not None:
        described, module = found[1], found[2]
    elif (found := _AT_LINE.fullmatch(described)) is not None:
        described, file, line = found[1], found[2], int(found[3])
    return Frame(address if address and described in ("", "???") else described, file, line, module)


def entered(stack: Sequence[Frame]) -> tuple[Frame, ...]:
    """A stack, innermost first, up to where the program is entered: beyond are words that are no code's addresses."""
    known = [
        n for n, frame in enumerate(stack, 1) if frame.file or frame.module or frame.function[:2] != "0x"
    ]
    return tuple(stack[: max(known, default=0)])
