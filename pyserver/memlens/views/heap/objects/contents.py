"""Contents of collections and values of objects, as far as the pack of a dump's format knows them."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from memlens.errors import BadRequestError
from memlens.packs import registry
from memlens.packs.api import Contents
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.objects.dump_bytes import DumpReader
from memlens.views.heap.objects.fields import Numbers


class Content(NamedTuple):
    """An element of a collection or an entry of a map: the numbers of its key (None for elements) and its value."""

    key: int | None
    value: int | None
    """None for null, and for members of sets."""
    position: int
    """The index in a list, else the number of contents before it."""


class Usage(NamedTuple):
    """Per object: the number of slots of its arrays, and of those that aren't null."""

    slots: Numbers
    used: Numbers


class Collections(NamedTuple):
    """Collections in the order of their numbers."""

    objects: Numbers
    sizes: Numbers
    """-1 if unknown."""
    slots: Numbers
    """0 for collections without an array of their own."""
    used: Numbers


def known_contents(snapshot: Snapshot) -> Contents | None:
    """The module that knows the contents of a dump's objects; None if its pack has none."""
    part = registry.objects_of(snapshot.info.kind).contents
    return None if part is None else part.load()


def contents_of(snapshot: Snapshot, number: int) -> Iterator[Content] | None:
    """Return a collection's contents; None for other objects."""
    known = known_contents(snapshot)
    return None if known is None else known.contents_of(snapshot, number)


def count_of(snapshot: Snapshot, number: int) -> int:
    """Return a collection's size by its own field, else by counting; 0 for other objects."""
    known = known_contents(snapshot)
    return 0 if known is None else known.count_of(snapshot, number)


def some_contents(snapshot: Snapshot, number: int, offset: int, limit: int) -> list[Content]:
    """Return a page of a collection's contents; nothing for other objects."""
    return list(islice(contents_of(snapshot, number) or iter(()), offset, offset + limit))


def words_of(snapshot: Snapshot, number: int) -> str:
    """Return an object's value as text; "" for classes whose values Memlens doesn't know."""
    known = known_contents(snapshot)
    return "" if known is None else known.words_of(snapshot, number)


def numbers_in(snapshot: Snapshot, number: int, dump: DumpReader) -> Iterator[int | float]:
    """Return the elements of an array of numbers, in order; nothing for other objects.

    Booleans are 0 and 1, characters are UTF-16 units. Elements that aren't archived are read from the dump. Raises
    :class:`BadRequestError` if the dump no longer has it, and :class:`CancelledError`.
    """
    known = known_contents(snapshot)
    return iter(()) if known is None else known.numbers_in(snapshot, number, dump)


def whole_contents(snapshot: Snapshot, number: int) -> bytes:
    """Return an array of numbers in big-endian bytes, or the text of a string or an array of characters in UTF-8.

    Raises :class:`BadRequestError` for another object, and if the dump no longer has it.
    """
    known = known_contents(snapshot)
    if known is None:
        raise BadRequestError(phrase("The object is neither a string nor an array of numbers with elements"))
    return known.whole_contents(snapshot, number)
