"""The texts of V8's concatenated strings, which a file has only in the parts that they consist of."""

from typing import NamedTuple

import numpy as np

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
"""How many bytes all texts may have, for each file and for each of its objects: an object takes more than that of a
file. Strings that grow at their beginning would otherwise have a text of 1,024 characters for every step."""


class JoinedTexts(NamedTuple):
    """The texts of objects: their numbers, 0 for one that isn't known, and those that are new."""

    objects: U32
    numbers: U32
    texts: Texts
    left_out: int
    """How many have no text because all would be too large."""

    def warnings(self) -> list[FileWarning]:
        """What is to be said of them."""
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
    # nothing has the number of what isn't in the file
    internal, first, second = snapshot.edge_type("internal"), *map(snapshot.text_number, ("first", "second"))
    references, objects, texts = snapshot.references, snapshot.objects, snapshot.texts
    # from a file whose values were removed, that name is gone as well, and what contains a slice stays unknown
    is_string = snapshot.is_of_type("string")
    is_string |= snapshot.is_named(snapshot.is_of_type(_SLICED), texts.mask(UNKNOWN_PART))
    most = _MOST_BYTES + _MOST_BYTES_OF_OBJECT * len(objects.ids)
    joined = Joined(
        references.start, references.target, references.kind, references.name, len(snapshot.edge_types), internal,
        first, second, chosen, is_string, objects.name, texts.utf8, texts.end, len(before), most,
    )  # fmt: skip
    numbers, utf8, ends = map(np.asarray, joined.take())
    return JoinedTexts(chosen, numbers, Texts(utf8, ends), joined.left_out)
