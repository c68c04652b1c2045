"""Recognises files that Memlens doesn't read, mostly other profiles of the same tools, for a better error message.

Sources: ``stackcollapse-perf.pl`` of FlameGraph for folded stacks,
``CoreDump.proto`` of Firefox,
https://protobuf.dev/programming-guides/encoding/ for protocol buffers.
"""

import re

from memlens.formats.errors import NotASnapshotError
from memlens.packs import registry
from memlens.texts import Text, in_a_row, phrase

_FOLDED = re.compile(rb"[^;\n]+(?:;[^;\n]*)+ \d{1,18}(?:\.\d+)?\r?")

_TEXTS: tuple[tuple[re.Pattern[bytes], Text, Text], ...] = (
    (
        re.compile(rb"\x7fELF[\x01\x02](?:\x01.{10}\x04\x00|\x02.{10}\x00\x04)", re.DOTALL),
        phrase(
            "it is the core dump of a process, which has no types of objects and no stacks of allocations"
        ),
        in_a_row([pack.core_advice for pack in registry.packs() if pack.core_advice.text], " "),
    ),
    (
        re.compile(rb"PERFILE2"),
        phrase("it is a recording of Linux's perf, which is about CPU time"),
        Text(""),
    ),
    (
        re.compile(rb"BZh[1-9]1AY&SY"),
        phrase("it is compressed with bzip2"),
        phrase("Decompress it with bunzip2, and open the result."),
    ),
    (
        re.compile(rb"\xfd7zXZ\0"),
        phrase("it is compressed with xz"),
        phrase("Decompress it with unxz, and open the result."),
    ),
)

_HEAD_BYTES = 4096
_CONTROL = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f]")
"""Bytes that no text has."""
_NUMBER, _BYTES = 0, 2
_FIXED_BYTES = {1: 8, 5: 4}
"""Encodings of a protocol buffer's fields, and how many bytes the fixed ones have."""
_MOST_FIELD = 2000
_NUMBER_1 = 0x08
"""The key of a field that is a number and the first of its message."""
_OPEN_TELEMETRY = re.compile(rb"\n.\n.service\.name\x12|telemetry\.sdk\.", re.DOTALL)
_FIREFOX_NAME = ".fxsnapshot"
_FIREFOX = phrase("Open it in the Memory panel of Firefox's developer tools.")


def refusal(head: bytes, name: str) -> NotASnapshotError:
    """Return the error for a file that no reader recognises, by its first bytes and its name."""
    description, advice = _described(head)
    if name.endswith(_FIREFOX_NAME) or (description is None and _is_firefox(head)):
        description, advice = phrase("it is a heap snapshot of Firefox"), _FIREFOX
    elif description is None and _is_protobuf(head):
        if _OPEN_TELEMETRY.search(head):
            description = phrase("it is data of OpenTelemetry, such as a profile or traces")
        else:
            description = phrase("it is a protocol buffer, but not a profile")
    if description is None:
        return NotASnapshotError(phrase("The file is not of a format that Memlens reads"))
    return NotASnapshotError(
        phrase("The file is not of a format that Memlens reads: {description}", description=description),
        advice=in_a_row([each for each in (advice, NotASnapshotError.advice) if each.text], " "),
    )


def _described(head: bytes) -> tuple[Text | None, Text]:
    """Return a clause that describes the file, and advice; None and no advice if the file is unknown."""
    for pattern, description, advice in _TEXTS:
        if pattern.match(head):
            return description, advice
    for known in registry.foreign():
        if known.recognises(head):
            return known.description, known.advice
    first = head.split(b"\n", 1)[0]
    # the first stack may be longer than the head
    if _FOLDED.fullmatch(first) or (len(first) == len(head) and first.count(b";") >= 8 and first.isascii()):
        return (
            phrase(
                "it contains folded stacks, which have neither the unit of their values nor the paths of files"
            ),
            phrase("Open the profile from which they were made."),
        )
    return None, Text("")


def _is_firefox(head: bytes) -> bool:
    """Whether the first bytes are those of a heap snapshot of Firefox, unpacked.

    Messages follow each other, each after its length: first the time alone, then objects, which begin with their ids.
    """
    try:
        length, at = _varint(head, 0)
        number, end = _varint(head, at + 1)
        _, object_at = _varint(head, end)
        return head[at] == head[object_at] == _NUMBER_1 and end == at + length and number > 0
    except IndexError:
        return False


def _is_protobuf(head: bytes) -> bool:
    """Whether the first bytes are fields of a protocol buffer, and one of them is a message that is complete."""
    if not _CONTROL.search(head):
        return False
    parts, ended = _parts(head)
    cut = len(head) >= _HEAD_BYTES
    return (ended or cut) and any(part and _parts(part)[1] for part in parts)


def _parts(message: bytes) -> tuple[list[bytes], bool]:
    """Return a message's fields of bytes, without one that is cut off, and whether it consists of whole fields."""
    parts: list[bytes] = []
    at = 0
    try:
        while at < len(message):
            key, at = _varint(message, at)
            encoding = key & 7
            if not 0 < key >> 3 <= _MOST_FIELD or encoding not in (_NUMBER, _BYTES, *_FIXED_BYTES):
                return [], False
            if encoding == _NUMBER:
                _, at = _varint(message, at)
                continue
            length = _FIXED_BYTES.get(encoding, 0)
            if encoding == _BYTES:
                length, at = _varint(message, at)
                parts.append(message[at : at + length])
            if at + length > len(message):
                return parts[:-1] if encoding == _BYTES else parts, False
            at += length
    except IndexError:
        return parts, False
    return parts, True


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at an offset, and the offset of its end. Raises IndexError if it ends too late."""
    value = 0
    for shift in range(0, 70, 7):
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    raise IndexError(at)
