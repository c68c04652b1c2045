"""The whole contents of an array of numbers or a string of a Java heap dump, of which the archive has the beginning."""

from collections.abc import Iterator

import numpy as np

from memlens.errors import BadRequestError
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.objects.dump_bytes import DumpReader, NotReadError, spans_of
from memlens.views.heap.objects.fields import Value, field_reader, number_array
from memlens.views.heap.objects.rows import check_object

_STRING, _CHARS = "java.lang.String", "char[]"
_ELEMENTS = {
    "boolean[]": "u1", "byte[]": "i1", "char[]": ">u2", "short[]": ">i2", "int[]": ">i4", "long[]": ">i8",
    "float[]": ">f4", "double[]": ">f8",
}  # fmt: skip
_PART_BYTES = 1 << 20
"""So much of an array is read at a time."""


def numbers_in(snapshot: Snapshot, number: int, dump: DumpReader) -> Iterator[int | float]:
    """The elements of an array of numbers, in order; nothing for another object.

    Booleans are 0 and 1, characters units of UTF-16. What the archive lacks is read from the dump in parts. Raises
    :class:`BadRequestError` if the dump no longer has it, and :class:`CancelledError`.
    """
    row, kind = number_array(snapshot, number), _ELEMENTS.get(field_reader(snapshot).type_name(number))
    if row is None or kind is None:
        return
    kept, offset, size = (
        row["head"].tobytes(),
        int(row["offset"]),
        int(row["length"]) * np.dtype(kind).itemsize,
    )
    if size <= len(kept):
        yield from np.frombuffer(kept[:size], kind).tolist()
        return
    for start in range(0, size, _PART_BYTES):
        wanted = min(_PART_BYTES, size - start)
        try:
            part = dump.read(offset + start, wanted)
        except NotReadError as error:
            raise BadRequestError(error.said) from None
        yield from np.frombuffer(part, kind, len(part) // np.dtype(kind).itemsize).tolist()
        if len(part) < wanted:
            return


def whole_contents(snapshot: Snapshot, number: int) -> bytes:
    """The elements of an array of numbers, big-endian, or the text of a string or an array of characters in UTF-8.

    Raises :class:`BadRequestError` for another object, and if the dump no longer has it.
    """
    reader = field_reader(snapshot)
    kind = reader.type_name(check_object(snapshot, number))
    if kind == _STRING:
        array, known = reader.references(number).get("value"), reader.values(number)
        if array is None or number_array(snapshot, array) is None:
            # a short one is in the archive
            name = snapshot.objects.name[number : number + 1]
            return snapshot.strings.texts(name)[0].encode()
        if reader.type_name(array) == _CHARS:
            first, count = _whole(known.get("offset"), 0), _whole(known.get("count"), NEVER)
            return (
                _elements(snapshot, array)[2 * first : 2 * (first + count)]
                .decode("utf-16-be", "replace")
                .encode()
            )
        # in the byte order of the processor: see the reader
        coding = "utf-16-le" if known.get("coder") == 1 else "latin-1"
        return _elements(snapshot, array).decode(coding, "replace").encode()
    found = _elements(snapshot, number)
    return found.decode("utf-16-be", "replace").encode() if kind == _CHARS else found


def _whole(value: Value | None, absent: int) -> int:
    return value if isinstance(value, int) else absent


def _elements(snapshot: Snapshot, number: int) -> bytes:
    row = number_array(snapshot, number)
    if row is None:
        raise BadRequestError(phrase("The object is neither a string nor an array of numbers with elements"))
    span = (int(row["offset"]), int(row["length"]) * int(row["element_bytes"]))
    try:
        (found,) = spans_of(snapshot, [span])
    except NotReadError as error:
        raise BadRequestError(error.said) from None
    return found
