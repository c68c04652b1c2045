"""Joins the texts of V8's concatenated strings, of which a file has only the parts."""

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.arrays import U32
from memlens.formats.interned import Interned
from memlens.model.info import FileWarning
from memlens.model.texts import Texts
from memlens.packs.v8.kernels.texts import Joined
from memlens.packs.v8.snapshot import Snapshot
from memlens.texts import phrase, plural

CONCATENATED = "concatenated string"
_SLICED = "sliced string"
UNKNOWN_PART = "(sliced string)"
"""The name of all strings that are slices of others. Which slices they are isn't in the file."""

_MOST_BYTES, _MOST_BYTES_OF_OBJECT = 64 << 20, 32
"""Limits on the bytes of all texts: in total, and per object of the file, each of which takes more in the file itself.
Without them, strings that grow at their beginning would have a text of 1,024 characters for every step."""


_ENTRY = re.compile(rb"part of key \(.* (?=@\d+\) -> )(.*?\) -> value \().* (?=@\d+\) pair)", re.DOTALL)


def without_entries(texts: Texts, chosen: npt.NDArray[np.intp]) -> Texts:
    """Shorten the ``chosen`` texts, which name entries of WeakMaps, to the ids of both ends.

    V8 writes the key and the value as well, "N / part of key (Session @ID) -> value (a string's text @ID) pair in
    WeakMap (table @ID)": what an object contains would be the name of a reference.
    """
    if not len(chosen):
        return texts
    ends, utf8 = texts.end.data, texts.utf8.data
    pieces: list[bytes | memoryview] = []
    less = np.zeros(len(texts), np.uint64)
    done = 0
    for number in chosen.tolist():
        start, end = int(ends[number - 1]), int(ends[number])
        short = _ENTRY.sub(rb"part of key (\1", bytes(utf8[start:end]))
        pieces += (utf8[done:start], short)
        less[number] = end - start - len(short)
        done = end
    pieces.append(utf8[done:])
    return Texts(np.frombuffer(b"".join(pieces), np.uint8), texts.end - np.cumsum(less, dtype=np.uint64))


class JoinedTexts(NamedTuple):
    """The texts of objects: their numbers, 0 for one that isn't known, and those that are new."""

    objects: U32
    numbers: U32
    texts: Texts
    left_out: int
    """The number of objects without a text because of these limits."""

    def warnings(self) -> list[FileWarning]:
        """The warnings about them."""
        if not self.left_out:
            return []
        said = phrase(
            plural(
                self.left_out,
                "{n} concatenated string has no text here: those of all would take more memory than the file.",
                "{n} concatenated strings have no text here: those of all would take more memory than the file.",
            ),
            n=self.left_out,
        )
        return [FileWarning("left-out-texts", said)]


def joined_texts(snapshot: Snapshot, before: Interned) -> JoinedTexts | None:
    """Join the texts of concatenated strings; those that are new are numbered after ``before``. None without any."""
    chosen = np.flatnonzero(snapshot.is_of_type(CONCATENATED)).astype(np.uint32)
    if not len(chosen):
        return None
    # no object has the number of a missing string
    parts = snapshot.text_number("first"), snapshot.text_number("second")
    objects, texts = snapshot.objects, snapshot.texts
    # in a redacted file that name is gone as well, and strings that contain a slice stay unknown
    is_string = snapshot.is_of_type("string")
    is_string |= snapshot.is_named(snapshot.is_of_type(_SLICED), texts.mask(UNKNOWN_PART))
    most = _MOST_BYTES + _MOST_BYTES_OF_OBJECT * len(objects.ids)
    joined = Joined(
        snapshot.edges(), parts, chosen, is_string, objects.name, texts.utf8, texts.end, len(before), most
    )
    numbers, utf8, ends = map(np.asarray, joined.take())
    return JoinedTexts(chosen, numbers, Texts(utf8, ends), joined.left_out)
