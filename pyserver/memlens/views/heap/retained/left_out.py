"""Heap dumps without some references: who else holds an object, and what these references alone keep alive."""

from collections.abc import Collection

import numpy as np
from msgspec import Struct

from memlens.arrays import U8, U32, Mask
from memlens.errors import BadRequestError, finished
from memlens.kernels.graph.columns import Sizes
from memlens.kernels.graph.freed import Holding
from memlens.kernels.graph.left_out import LeftOut
from memlens.model.distinct import distinct
from memlens.model.graph import NONE, Strength
from memlens.store.kept import kept
from memlens.store.objects.columns import ObjectColumns, ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.objects.native_memory import native_or_none, own_native
from memlens.views.heap.objects.reference_kinds import engine_s_own, kinds_where, named_by_code, named_kind
from memlens.views.heap.objects.references import references_of
from memlens.views.heap.objects.rows import (
    Numbers,
    ObjectRow,
    check_object,
    number_of,
    object_rows,
    type_names,
)
from memlens.views.heap.objects.types import instances_of
from memlens.views.heap.reachable.from_roots import (
    distances_through,
    followed,
    held_distances,
    is_entry,
    unchecked_incoming,
    unchecked_outgoing,
)
from memlens.views.heap.retained.freed import Freed


class OneObject(Struct, frozen=True, tag_field="is", tag="object"):
    """All references of an object, by its number."""

    object: int


class OneType(Struct, frozen=True, tag_field="is", tag="type"):
    """All references of the objects of a type, by its name."""

    type: str


class OneName(Struct, frozen=True, tag_field="is", tag="name"):
    """References of a name: of a type's objects and its class, or of all objects if ``type`` is None.

    ``map (internal)`` means the engine's own references, as does ``map`` if there is no such property.
    """

    name: str
    type: str | None


LeavesOut = OneObject | OneType | OneName
"""References to leave out. An object whose references are left out can still be held itself."""


class WithoutAnswer(Struct, frozen=True):
    """The memory that only the omitted references keep alive, and the objects whose references are omitted."""

    objects: list[ObjectRow]
    freed_objects: int
    freed_bytes: int
    freed_native_bytes: int | None
    """Memory outside of the heap; None if the dump records no such memory."""


class Without:
    """A heap dump without some references. Raises :class:`BadRequestError` and :class:`CancelledError`."""

    def __init__(self, snapshot: Snapshot, chosen: Collection[LeavesOut]) -> None:
        # questions about paths by these distances may follow
        snapshot.work.within(0, 0.6)
        self.left_out = left_out_of(snapshot)
        for each in chosen:
            match each:
                case OneObject(number):
                    check_object(snapshot, number)
                    self.left_out.add_objects(np.array([number], np.uint32))
                case OneType(name):
                    self.left_out.add_objects(_instances(snapshot, name))
                case OneName():
                    _leave_out_name(snapshot, self.left_out, each)
        self._held_distances = held_distances(snapshot).copy()
        self._held = holding(snapshot, self.left_out, followed(snapshot), self._held_distances)
        self._objects = [each.object for each in chosen if isinstance(each, OneObject)]
        self._freed = finished(self._held.move_away(np.empty(0, np.uint32), snapshot.work))
        self.is_entry = _entries_left(snapshot, self)

    def answer(self, snapshot: Snapshot) -> WithoutAnswer:
        """Return what is left out, and what that frees, for an answer."""
        count, freed, outside = self._freed
        return WithoutAnswer(
            object_rows(snapshot, self._objects), count, freed, native_or_none(snapshot, outside)
        )

    def distances(self, snapshot: Snapshot, through: Collection[Strength]) -> U32:
        """Return each object's distance from a root; see :func:`distances_through`."""
        before = distances_through(snapshot, through)
        if before is held_distances(snapshot):
            return self._held_distances

        snapshot.work.within(0.6, 0.95)
        distance = before.copy()
        dropped = np.flatnonzero(is_entry(snapshot) & ~self.is_entry).astype(np.uint32)
        held = holding(snapshot, self.left_out, followed(snapshot, through), distance)
        finished(held.move_away(dropped, snapshot.work))
        return distance

    def are_out(self, sources: Numbers, rows: Numbers) -> Mask:
        """Return a mask of some references, given by number and source: those that are omitted."""
        out = np.empty(len(rows), np.uint8)
        self.left_out.are_out(sources.astype(np.uint32), rows.astype(np.uint64), out)
        return out.view(np.bool_)

    def freed_by_cuts(
        self, snapshot: Snapshot, sources: Numbers, targets: Numbers, most: int
    ) -> tuple[Freed | None, int]:
        """Return the bytes that would be freed if the references from some objects to others were omitted as well.

        Also returns the number of visited references; the bytes are None if that exceeds about ``most``.
        """
        freed, looked_at = finished(self._held.freed(
            distinct(sources).astype(np.uint32), distinct(targets).astype(np.uint32), most, snapshot.work
        ))  # fmt: skip
        return None if freed is None else Freed(*freed), looked_at


def left_out_of(snapshot: Snapshot) -> LeftOut:
    """Return a heap dump's set of left-out references, empty at first."""
    stored = snapshot.references
    return LeftOut(
        stored.unchecked(ReferenceColumns.start), stored.unchecked(ReferenceColumns.target), stored.kind
    )


def holding(snapshot: Snapshot, left_out: LeftOut, follows: U8, distance: U32) -> Holding:
    """Return a heap dump's columns for computing what would be freed; see :class:`Holding`."""
    sizes = Sizes(snapshot.objects.unchecked(ObjectColumns.shallow), own_native(snapshot))
    references = unchecked_outgoing(snapshot, follows)
    return Holding(references, unchecked_incoming(snapshot, follows), sizes, distance, left_out)


def without(snapshot: Snapshot, chosen: Collection[LeavesOut]) -> Without | None:
    """Return the heap dump without some references; None if none are omitted."""
    if not chosen:
        return None
    return _without(snapshot, tuple(chosen))


@kept
def _without(snapshot: Snapshot, chosen: tuple[LeavesOut, ...]) -> Without:
    return Without(snapshot, chosen)


def parsed(snapshot: Snapshot, text: str) -> LeavesOut:
    """Parse the references that ``TYPE``, ``TYPE.field``, ``.field`` or ``@id`` leaves out.

    Raises :class:`BadRequestError`.
    """
    if text.startswith("@"):
        digits = text[1:]
        try:
            return OneObject(number_of(snapshot, int(digits, 16 if digits[:2].lower() == "0x" else 10)))
        except ValueError:
            raise BadRequestError(
                phrase("{text} is not the id or the address of an object", text=text)
            ) from None
    if _types_called(snapshot, text):
        return OneType(text)
    at = text.rfind(".")
    while at > 0:
        if _types_called(snapshot, text[:at]):
            return OneName(text[at + 1 :], text[:at])
        at = text.rfind(".", 0, at)
    if at == 0:
        return OneName(text[1:], None)
    raise BadRequestError(
        phrase("{text} is neither a type of the heap dump nor a type with a name after a dot", text=text),
        advice=phrase(".NAME leaves out all references with a name, and @ID one object."),
    )


def _entries_left(snapshot: Snapshot, left: Without) -> U8:
    """Return one item per object: 1 for those at which reachability still begins.

    If the graph has its own root, roots are the targets of its groups of roots, which are objects themselves.
    """
    known, root = is_entry(snapshot), snapshot.graph_names.root
    if root is None:
        return known
    stored, found = snapshot.references, np.zeros(len(known), np.uint8)
    is_strong = kinds_where(snapshot, lambda kind: kind.strength == "strong")
    found[root] = 1
    seen, waiting = {root}, [root]
    for group in waiting:
        own = references_of(snapshot, group)
        rows, targets = np.arange(own.start, own.stop), stored.items(ReferenceColumns.target, own)
        kept = is_strong[stored.kind[own]] & ~left.are_out(np.full(len(rows), group), rows)
        found[targets[kept]] = known[targets[kept]]
        below = set(targets[kept & (known[targets] == 0)].tolist()) - seen
        seen |= below
        waiting += below
    return found


def _types_called(snapshot: Snapshot, name: str) -> list[int]:
    """Return the numbers of the types of a name: with its module, or else without."""
    found = [number for number, each in enumerate(type_names(snapshot)) if each == name]
    if not found and snapshot.types.module is not None:
        texts = snapshot.strings.texts(snapshot.types.name)
        found = [number for number, each in enumerate(texts) if each == name]
    return found


def _instances(snapshot: Snapshot, name: str) -> U32:
    found = [instances_of(snapshot, number) for number in _types_called(snapshot, name)]
    if not found:
        raise BadRequestError(phrase("The heap dump has no type {name}", name=name))
    return np.concatenate(found)


def _instances_and_class(snapshot: Snapshot, name: str) -> U32:
    instances, classes = _instances(snapshot, name), snapshot.types.object
    if classes is None:
        return instances
    own = classes[_types_called(snapshot, name)]
    return distinct(np.concatenate((instances, own[own != NONE].astype(np.uint32))))


def _leave_out_name(snapshot: Snapshot, left_out: LeftOut, each: OneName) -> None:
    by_text, own = named_by_code(snapshot), engine_s_own(snapshot)
    # a static field belongs to its class
    instances = None if each.type is None else _instances_and_class(snapshot, each.type)
    name, kind = named_kind(each.name)
    # a property wins over the engine's own reference of its name, which "map (internal)" means
    meant = [(each.name, by_text & ~own), (each.name, by_text & own)]
    if kind is not None:
        meant.append((name, by_text & own))
    if not any(_leave_out(snapshot, left_out, name, kinds, instances) for name, kinds in meant):
        raise BadRequestError(
            phrase("No reference is called {name}", name=each.name)
            if each.type is None
            else phrase("No {type} has a reference called {name}", type=each.type, name=each.name)
        )


def _leave_out(snapshot: Snapshot, left_out: LeftOut, name: str, kinds: Mask, instances: U32 | None) -> int:
    """Leave out the references of a name and of some kinds, of some objects or all; return their number."""
    stored, strings, by_kind = snapshot.references, snapshot.strings, kinds.view(np.uint8)
    wanted = (
        strings.find(np.arange(1, len(strings.end), dtype=np.int64), name) if name and kinds.any() else -1
    )
    if wanted < 0:
        return 0
    return finished(
        left_out.add_name(stored.name, by_kind, wanted, snapshot.work)
        if instances is None
        else left_out.add_names(stored.name, by_kind, wanted, instances, snapshot.work)
    )
