"""Writes profiles anew without the names of people and machines in their texts; figures, functions and files stay.

Only formats that are simple to write: JSON, pickles of plain data, and what packs write. A file is read whole
before, so that one with anything else in it is refused.
"""

import json
import re
from collections.abc import Iterator

from memlens.errors import BadRequestError
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.redacted import Wanted
from memlens.formats.redaction.output import Output
from memlens.formats.redaction.people import People, without_arguments
from memlens.packs import registry
from memlens.progress import Report
from memlens.texts import phrase

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CHUNK_BYTES = 1 << 20
_MOST_STRING_BYTES = 64 << 20

"""Formats that aren't written anew, and what they may have."""

_EXPORTED = phrase(
    "Save a profile of it with: memlens export FILE {option}, and redact that.",
    option=registry.readable_output(),
)


def refuse_unwritable(format_: str) -> None:
    """Raise :class:`BadRequestError` for a format that isn't written anew, with what it may have."""
    of_pack = registry.format_named(format_)
    if of_pack is not None and of_pack.not_redacted is not None:
        what, advice = of_pack.not_redacted
        raise BadRequestError(what, advice=advice if advice.text else _EXPORTED)


def redact_profile(format_: str, source: Source, output: Output, wanted: Wanted, report: Report) -> People:
    """Write a profile that was read without an error, and return what was replaced. Raises MemlensError."""
    people = People()
    source.unpack()
    head = bytes(source.data[:64]).lstrip(b"\xef\xbb\xbf \t\r\n")
    of_pack = registry.format_named(format_)
    if of_pack is not None and of_pack.without_people is not None:
        parts = of_pack.without_people.load()(source, people, keeps_time=wanted.keeps_time)
    elif head[:1] == b"\x80":
        parts = _pickle(source, people)
    elif head[:1] in (b"{", b"["):
        parts = _json(source, people, keeps_time=wanted.keeps_time)
    else:
        raise BadRequestError(
            phrase("Only snapshots that are pickles or JSON can be redacted, not pages"),
            advice=phrase("Redact the pickle that the page was made from."),
        )
    done = 0
    for offset, part in parts:
        output.write(part)
        if offset - done >= _CHUNK_BYTES:
            done = offset
            source.release(offset)
            report("writing", offset / max(source.length, 1))
    return people


_Parts = Iterator[tuple[int, bytes]]
"""What is written, with the offset in the file up to which it was read."""


def _json(source: Source, people: People, *, keeps_time: bool) -> _Parts:
    """JSON: its strings, and the command and the process id that some have."""
    at, data, before = 0, source.data, b""
    while at < source.length:
        found = _STRING.search(data, at)
        if found is None:
            yield source.length, bytes(data[at:])
            return
        between = bytes(data[at : found.start()])
        if before == b'"pid"' and not keeps_time:
            between = re.sub(rb"\d+", b"0", between, count=1)
        yield found.start(), between
        text = found[0]
        changed = _changed(text, people)
        if before == b'"cmd"' and between.strip() == b":":
            changed = json.dumps(people.replaced(without_arguments(json.loads(text)))).encode()
        yield found.end(), changed
        before, at = text if len(text) < len(b'"pid"') + 1 else b"", found.end()


def _changed(quoted: bytes, people: People) -> bytes:
    if len(quoted) > _MOST_STRING_BYTES:
        raise DamagedSnapshotError(phrase("A text is too long for a profile"))
    try:
        text = json.loads(quoted)
    except ValueError as error:
        raise DamagedSnapshotError(phrase("A text is not JSON")) from error
    new = people.replaced(text)
    return quoted if new == text else json.dumps(new, ensure_ascii=False).encode("utf-8", "surrogatepass")


# ---- pickles ---------------------------------------------------------------------------------------------------

_NO_ARGUMENT = b"(.012NQR]abdeslptu})\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x93\x94"
_ARGUMENT_BYTES = {
    **dict.fromkeys(_NO_ARGUMENT, 0), ord("K"): 1, ord("M"): 2, ord("J"): 4, ord("G"): 8, ord("h"): 1, ord("j"): 4,
    ord("q"): 1, ord("r"): 4, 0x80: 1,
}  # fmt: skip
_COUNTED = {
    ord("X"): 4, 0x8C: 1, 0x8D: 8, 0x8A: 1, 0x8B: 4, ord("C"): 1, ord("B"): 4, 0x8E: 8, ord("U"): 1, ord("T"): 4,
}  # fmt: skip
"""Opcodes that are followed by so many bytes of a length, and the argument."""

_TEXTS = (ord("X"), 0x8C, 0x8D)
_FRAME, _GLOBAL = 0x95, ord("c")
_FRAME_BYTES = 8


def _pickle(source: Source, people: People) -> _Parts:
    """A pickle: its texts, and no frames, whose lengths would be others."""
    data, at, kept, out = source.data, 0, 0, bytearray()
    while at < source.length:
        code = data[at]
        size = _ARGUMENT_BYTES.get(code)
        if size is not None:
            at += 1 + size
            if at - kept > _CHUNK_BYTES:
                out += data[kept:at]
                kept = at
                yield at, bytes(out)
                out.clear()
            continue
        out += data[kept:at]
        if code == _FRAME:
            at += 1 + _FRAME_BYTES
        elif code == _GLOBAL:
            end = data.find(b"\n", data.find(b"\n", at) + 1) + 1
            out += data[at:end]
            at = end
        elif code in _COUNTED:
            width = _COUNTED[code]
            start = at + 1 + width
            end = start + int.from_bytes(data[at + 1 : start], "little")
            if end > source.length:
                raise DamagedSnapshotError(
                    phrase("A length in the pickle is larger than the whole file"), offset=at
                )
            out += _text_opcode(bytes(data[start:end]), people) if code in _TEXTS else data[at:end]
            at = end
        else:
            raise DamagedSnapshotError(phrase("The pickle is not plain data"), offset=at)
        kept = at
    yield at, bytes(out) + bytes(data[kept:at])


def _text_opcode(data: bytes, people: People) -> bytes:
    new = people.replaced(data.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
    return b"X" + len(new).to_bytes(4, "little") + new
