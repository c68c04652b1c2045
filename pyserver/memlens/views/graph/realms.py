"""What belongs to each realm of V8: a frame of a page, or a context of Node.js's module vm.

A realm is a "native context", with global objects and built-in classes of its own. Objects of JavaScript are of the
realm that made their hidden class. What has none, such as strings, arrays of elements and objects of the browser, is of
the realm whose objects lead to it, or shared if those of several do. So DevTools' server for language models sums up a
page; source: ``HeapSnapshot.ts`` of ChromeDevTools/devtools-frontend, version 1.0.1705227.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.kernels.graph.owners import SEVERAL, named_targets, spread_owners
from memlens.model.distinct import counted, distinct
from memlens.model.graph import NONE
from memlens.model.timeline import NEVER
from memlens.store.models import graph_of
from memlens.store.objects.columns import ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.units import id_text, shortened
from memlens.views.graph.fields import MOST_NAME
from memlens.views.graph.kinds import kinds_where
from memlens.views.graph.stopped import finished
from memlens.views.graph.types import instances_of
from memlens.views.selection.filters import Term
from memlens.views.selection.texts import Pattern

U32 = npt.NDArray[np.uint32]

REALM, _DETACHED = "system / NativeContext", "Detached "
"""What V8 calls a page's or a program's realm, from which everything that is global hangs, and what it is when the page
is gone."""
_LEFT_OUT = ("shortcut", "weak")
"""Kinds of references by which nothing belongs to what has them."""

SHARED, OF_NONE = "shared", "none"
"""Values of ``realm:`` in filters for what belongs to several realms, and to none."""
_MOST_SCRIPT = 60

Mask = npt.NDArray[np.bool_]


class RealmRow(Struct, frozen=True):
    """What belongs to a realm, to several or to none."""

    object: int | None
    """Its native context; None for what is shared or of none."""
    name: Text
    """The realm's address, with the script in which most of its functions are defined."""
    filter: str
    """A filter over the dump for the same objects, also those that no root reaches."""
    objects: int
    """Those that are reachable."""
    shallow_bytes: int


class Owners(NamedTuple):
    """The realms of a dump, and which each object belongs to."""

    realms: list[int]
    """Their native contexts."""
    owner: U32
    """One item per object: an index of ``realms``, SEVERAL or NONE."""


def has_realms(snapshot: Snapshot) -> bool:
    """Whether a dump has several realms, so that something may belong to one or another."""
    return len(_realms(snapshot)) > 1


def owners(snapshot: Snapshot) -> Owners:
    """Which realm each object belongs to. Raises :class:`CancelledError`."""
    return snapshot.keep("owners", lambda: _owners(snapshot))


def realms(snapshot: Snapshot) -> list[RealmRow]:
    """All realms, the largest first, then what is shared and what is of none: together the reachable heap.

    Empty where there is one realm at most.
    """
    return snapshot.keep("realms", lambda: _summed(snapshot) if has_realms(snapshot) else [])


def realm_of(snapshot: Snapshot, number: int) -> int | None:
    """The native context that an object belongs to; None for none, -1 for several."""
    found = owners(snapshot)
    owner = int(found.owner[number])
    return -1 if owner == SEVERAL else None if owner == NONE else found.realms[owner]


def in_realm(snapshot: Snapshot, term: Term) -> Mask:
    """The objects that a term ``realm:`` is about: of a realm by a part of its name, or by its id as ``@7651``.

    Raises :class:`BadRequestError` where there is one realm at most.
    """
    if not has_realms(snapshot):
        raise BadRequestError(
            phrase(
                "'{term}': the heap dump has no realms to tell apart, as the frames of a page", term=str(term)
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


def _realms(snapshot: Snapshot) -> list[int]:
    def make() -> list[int]:
        if graph_of(snapshot.info).kind != "v8":
            return []
        names = snapshot.strings.texts(snapshot.types.name)
        kinds = [
            kind
            for kind, name in enumerate(names)
            if f"{name.removeprefix(_DETACHED)} / ".startswith(f"{REALM} / ")
        ]
        return sorted(number for kind in kinds for number in instances_of(snapshot, kind).tolist())

    return snapshot.keep("numbers of realms", make)


def _owners(snapshot: Snapshot) -> Owners:
    found, stored, count = _realms(snapshot), snapshot.references, len(snapshot.objects.type)
    number_of = np.full(count + 1, NONE, np.uint32)
    number_of[found] = np.arange(len(found))
    everything = np.arange(count, dtype=np.uint32)
    maps = _targets(snapshot, everything, "map")
    # the map of a map is that of its realm
    metas_of = _targets(snapshot, maps, "map")
    metas = distinct(metas_of)
    realm_of = number_of[np.minimum(_targets(snapshot, metas, "native_context"), count)]
    owner = np.ascontiguousarray(realm_of[np.searchsorted(metas, metas_of)])
    owner[found] = np.arange(len(found))
    leads = kinds_where(snapshot, lambda kind: kind.name not in _LEFT_OUT)
    finished(
        spread_owners(stored.start, stored.target, stored.kind, leads.view(np.uint8), owner, snapshot.work)
    )
    return Owners(found, owner)


def _targets(snapshot: Snapshot, objects: U32, name: str) -> U32:
    """What each of some objects refers to by an internal reference of a name; NONE for none, as ``objects`` may be."""
    stored, strings, found = snapshot.references, snapshot.strings, np.full(len(objects), NONE, np.uint32)
    wanted = strings.find(np.arange(1, len(strings.end), dtype=np.int64), name)
    if wanted >= 0:
        internal = kinds_where(snapshot, lambda kind: kind.name == "internal").view(np.uint8)
        named_targets(
            stored.start, stored.target, stored.kind, stored.items(ReferenceColumns.name, slice(None)),
            objects, internal, wanted, found,
        )  # fmt: skip
    return found


def _groups(found: Owners) -> npt.NDArray[np.int64]:
    """One item per object: its realm, one more than the last for several, and one more for none."""
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
    names = [
        _name(snapshot, number, script)
        for number, script in zip(found.realms, _scripts(snapshot, found), strict=True)
    ]
    ids = [id_text(int(objects.id[number]), "v8") for number in found.realms]
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
    """The script in which most functions and classes of each realm are defined."""
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
        # of equally many, the same one in every run
        scripts[number] = max(sorted(of_files), key=lambda file: of_files[file], default="")
    return scripts


def _name(snapshot: Snapshot, number: int, script: str) -> Text:
    """``http://localhost:8080 (/orders.html)``."""
    name = snapshot.strings.head(int(snapshot.objects.name[number]), MOST_NAME)
    is_detached = name.startswith(_DETACHED)
    address = name.removeprefix(_DETACHED).removeprefix(REALM).removeprefix(" / ")
    own = script.removeprefix(address) if address and script.startswith(address) else ""
    short = shortened(own or script.rstrip("/").rpartition("/")[2], _MOST_SCRIPT)
    called = " ".join(part for part in (address, f"({short})" if short else "") if part)
    if not called:
        return phrase("(without an address)")
    return phrase("{name}, detached", name=called) if is_detached else Text(called)
