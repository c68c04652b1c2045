"""The realms of a heap dump and their objects. A realm has globals of its own, such as a frame of a page.

The pack of the dump's format knows which objects are realms, and what belongs to them.
"""

from typing import NamedTuple

import numpy as np
from msgspec import Struct

from memlens.arrays import I64, U32, Mask
from memlens.errors import BadRequestError
from memlens.kernels.graph.owners import SEVERAL
from memlens.model.distinct import counted
from memlens.model.graph import NONE
from memlens.model.timeline import NEVER
from memlens.packs import registry
from memlens.packs.api import Realms
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.heap.objects.rows import id_text
from memlens.views.selection.terms import Term
from memlens.views.selection.texts import Pattern

SHARED, OF_NONE = "shared", "none"
"""Values of ``realm:`` in filters for objects of several realms, and of none."""


class RealmRow(Struct, frozen=True):
    """The objects of one realm, of several realms, or of none."""

    object: int | None
    """The realm's own object; None for objects of several realms or none."""
    name: Text
    """The realm's address, and the script that defines most of its functions."""
    filter: str
    """A filter for the same objects, including unreachable ones."""
    objects: int
    """The number of reachable ones."""
    shallow_bytes: int


class Owners(NamedTuple):
    """The realms of a dump, and the realm of each object."""

    realms: list[int]
    """The objects that are realms."""
    owner: U32
    """One item per object: an index of ``realms``, SEVERAL or NONE."""


def has_realms(snapshot: Snapshot) -> bool:
    """Whether a dump has several realms."""
    return len(_realms(snapshot)) > 1


@kept
def owners(snapshot: Snapshot) -> Owners:
    """The realm of each object. Raises :class:`CancelledError`."""
    known, found = _of_pack(snapshot), _realms(snapshot)
    if known is None:
        return Owners([], np.full(len(snapshot.objects.type), NONE, np.uint32))
    return Owners(found, known.owners(snapshot, found))


@kept
def realms(snapshot: Snapshot) -> list[RealmRow]:
    """Return all realms, the largest first, then the objects of several and of none. The sums are the reachable heap's.

    Empty unless there are several realms.
    """
    return _summed(snapshot) if has_realms(snapshot) else []


def realm_of(snapshot: Snapshot, number: int) -> int | None:
    """Return the realm of an object; None for none, -1 for several."""
    found = owners(snapshot)
    owner = int(found.owner[number])
    return -1 if owner == SEVERAL else None if owner == NONE else found.realms[owner]


def in_realm(snapshot: Snapshot, term: Term) -> Mask:
    """Return a mask of the objects that match ``realm:``, by a part of the realm's name or by its id, ``@7651``.

    Raises :class:`BadRequestError` unless there are several realms.
    """
    if not has_realms(snapshot):
        raise BadRequestError(
            phrase(
                "'{term}': the heap dump has no realms to distinguish, such as the frames of a page",
                term=str(term),
            )
        )
    found, rows = owners(snapshot), {row.object: row for row in realms(snapshot)}
    chosen = np.zeros(len(found.realms) + 2, np.bool_)
    for value in term.values:
        if value in (SHARED, OF_NONE):
            chosen[-2 if value == SHARED else -1] = True
            continue
        for place, number in enumerate(found.realms):
            row = rows[number]
            chosen[place] |= row.filter == f"realm:{value}" or Pattern(value).matches(row.name.text)
    of_realms: Mask = chosen[_groups(found)]
    return of_realms


def _of_pack(snapshot: Snapshot) -> Realms | None:
    part = registry.objects_of(snapshot.info.kind).realms
    return None if part is None else part.load()


@kept
def _realms(snapshot: Snapshot) -> list[int]:
    known = _of_pack(snapshot)
    return [] if known is None else known.realms(snapshot)


def _groups(found: Owners) -> I64:
    """Return the realm of each object: the number of realms for several, one more for none."""
    groups = found.owner.astype(np.int64)
    groups[found.owner == SEVERAL] = len(found.realms)
    groups[found.owner == NONE] = len(found.realms) + 1
    return groups


def _summed(snapshot: Snapshot) -> list[RealmRow]:
    found, objects = owners(snapshot), snapshot.objects
    reached, count = objects.distance != NEVER, len(found.realms) + 2
    groups = _groups(found)[reached]
    counts = np.bincount(groups, minlength=count).tolist()
    sums = np.bincount(groups, objects.shallow[reached].astype(np.float64), count).astype(np.int64).tolist()
    known = _of_pack(snapshot)
    names = [
        known.name_of(snapshot, number, script)
        for number, script in zip(found.realms, _scripts(snapshot, found), strict=True)
        if known is not None
    ]
    ids = [id_text(int(objects.id[number]), snapshot.info.kind) for number in found.realms]
    named = [
        RealmRow(
            number, name if names.count(name) == 1 else phrase("{name} {id}", name=name, id=own), f"realm:{own}",
            counts[place], sums[place],
        )
        for place, (number, name, own) in enumerate(zip(found.realms, names, ids, strict=True))
    ]  # fmt: skip
    return [
        *sorted(named, key=lambda realm: -realm.shallow_bytes),
        RealmRow(None, phrase("(shared by several)"), f"realm:{SHARED}", counts[-2], sums[-2]),
        RealmRow(None, phrase("(of none)"), f"realm:{OF_NONE}", counts[-1], sums[-1]),
    ]


def _scripts(snapshot: Snapshot, found: Owners) -> list[str]:
    """Return the script that defines most functions and classes of each realm."""
    places = snapshot.objects.places
    scripts = [""] * len(found.realms)
    own = found.owner[places["object"]] if len(places) else np.empty(0, np.uint32)
    for number in range(len(scripts)):
        frames, counts = counted(places["frame"][own == number])
        rows, of_files = snapshot.frames.rows(frames.tolist()), dict[str, int]()
        for frame, count in zip(frames.tolist(), counts.tolist(), strict=True):
            file = rows[frame][0]
            if file:
                of_files[file] = of_files.get(file, 0) + count
        # ties are resolved the same way in every run
        scripts[number] = max(sorted(of_files), key=lambda file: of_files[file], default="")
    return scripts
