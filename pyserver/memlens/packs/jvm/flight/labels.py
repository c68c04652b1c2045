"""The names of samples' labels, and of lines over time."""

from memlens.model.profile import AFTER_COLLECTIONS_BYTES

TYPE, THREAD, HELD_BY, ROOT, AGE = "type", "thread", "held by", "root", "age"

AFTER = AFTER_COLLECTIONS_BYTES
