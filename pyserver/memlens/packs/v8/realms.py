"""The realms of V8: frames of a page, and contexts of Node.js's module vm.

A realm is a "native context", with global objects and built-in classes of its own. Objects of JavaScript are of the
realm that made their hidden class. Objects without one, such as strings, arrays of elements and objects of the browser,
belong to the realm whose objects lead to them, or are shared if several do. DevTools' server for language models sums
up a page the same way; source: ``HeapSnapshot.ts`` of ChromeDevTools/devtools-frontend, version 1.0.1705227.
"""

import numpy as np

from memlens.arrays import U32
from memlens.errors import finished
from memlens.kernels.graph.owners import named_targets, spread_owners
from memlens.model.distinct import distinct
from memlens.model.graph import NONE
from memlens.packs.v8 import REALM
from memlens.store.objects.columns import ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.units import shortened
from memlens.views.heap.objects.fields import MOST_NAME
from memlens.views.heap.objects.reference_kinds import kinds_where
from memlens.views.heap.objects.types import instances_of
from memlens.views.heap.reachable.from_roots import outgoing

_DETACHED = "Detached "
"""The prefix of the name of a realm whose page is gone."""
_LEFT_OUT = ("shortcut", "weak")
"""Reference kinds that don't make the target part of the source's realm."""
_MOST_SCRIPT = 60


def realms(snapshot: Snapshot) -> list[int]:
    """The native contexts, ascending."""
    names = snapshot.strings.texts(snapshot.types.name)
    kinds = [
        kind
        for kind, name in enumerate(names)
        if f"{name.removeprefix(_DETACHED)} / ".startswith(f"{REALM} / ")
    ]
    return sorted(number for kind in kinds for number in instances_of(snapshot, kind).tolist())


def owners(snapshot: Snapshot, found: list[int]) -> U32:
    """One item per object: the index of its realm, SEVERAL or NONE. Raises :class:`CancelledError`."""
    count = len(snapshot.objects.type)
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
    finished(spread_owners(outgoing(snapshot, leads.view(np.uint8)), owner, snapshot.work))
    return owner


def _targets(snapshot: Snapshot, objects: U32, name: str) -> U32:
    """The target of each object's internal reference with a name; NONE if it has none. ``objects`` may be NONE, too."""
    strings, found = snapshot.strings, np.full(len(objects), NONE, np.uint32)
    wanted = strings.find(np.arange(1, len(strings.end), dtype=np.int64), name)
    if wanted >= 0:
        internal = kinds_where(snapshot, lambda kind: kind.name == "internal").view(np.uint8)
        names = snapshot.references.items(ReferenceColumns.name, slice(None))
        named_targets(outgoing(snapshot, internal), names, objects, wanted, found)
    return found


def name_of(snapshot: Snapshot, number: int, script: str) -> Text:
    """Its address, with the script that defines most of its functions: ``http://localhost:8080 (/orders.html)``."""
    name = snapshot.strings.head(int(snapshot.objects.name[number]), MOST_NAME)
    is_detached = name.startswith(_DETACHED)
    address = name.removeprefix(_DETACHED).removeprefix(REALM).removeprefix(" / ")
    own = script.removeprefix(address) if address and script.startswith(address) else ""
    short = shortened(own or script.rstrip("/").rpartition("/")[2], _MOST_SCRIPT)
    called = " ".join(part for part in (address, f"({short})" if short else "") if part)
    if not called:
        return phrase("(without an address)")
    return phrase("{name}, detached", name=called) if is_detached else Text(called)
