"""The bundles and services of Equinox, the OSGi framework of Eclipse, in heap dumps of Java.

By the classes of Equinox 3.10 and later: a ``Module`` is what is installed, its ``ModuleRevision`` what was read from
its manifest, and a ``ModuleClassLoader`` has loaded its classes; a ``ServiceRegistrationImpl`` is a service.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.model.distinct import distinct
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.views.graph.contents import contents_of
from memlens.views.graph.fields import MOST_NAME, FieldReader, field_reader
from memlens.views.graph.kinds import kinds_where
from memlens.views.graph.retained import retained_by
from memlens.views.graph.rows import referrers_of
from memlens.views.graph.stopped import stopped
from memlens.views.graph.types import instances_of

_EQUINOX = "org.eclipse.osgi."
_MODULE, _REVISION = f"{_EQUINOX}container.Module", f"{_EQUINOX}container.ModuleRevision"
_BUNDLE, _LOADER = (
    f"{_EQUINOX}internal.framework.EquinoxBundle",
    f"{_EQUINOX}internal.loader.ModuleClassLoader",
)
_SERVICE = f"{_EQUINOX}internal.serviceregistry.ServiceRegistrationImpl"
_SERVICE_STATES = ("registered", "unregistering", "unregistered")
_UNINSTALLED = "UNINSTALLED"
_MOST_ELEMENTS = 10_000


class Bundle(NamedTuple):
    """A bundle: its ``Module`` and what else is its own, with its class loaders, all by their numbers."""

    object: int
    id: int | None
    name: str
    version: str
    state: str
    """As the framework calls it: INSTALLED, RESOLVED, ACTIVE, UNINSTALLED and others."""
    location: str
    loaders: tuple[int, ...]
    stale: tuple[int, ...]
    """Those from before the bundle was uninstalled or updated: somebody still holds what they have loaded."""
    parts: tuple[int, ...]
    """The module, the bundle, their revisions and class loaders, and the classes that these have loaded."""


class Service(NamedTuple):
    """A service by its registration: what it is registered as, by which bundle, and which use it."""

    object: int
    id: int | None
    classes: str
    state: str
    ranking: int | None
    bundle: str
    used_by: str
    service: int | None
    """The service's own object; None once it is unregistered."""


def has_equinox(snapshot: Snapshot) -> bool:
    """Whether a heap dump is of a program with Equinox."""
    return snapshot.info.kind == "hprof" and snapshot.strings.find(snapshot.types.name, _MODULE) >= 0


def bundles(snapshot: Snapshot) -> list[Bundle]:
    """The bundles by their ids, also those that are uninstalled and still in memory. Raises :class:`CancelledError`."""
    return snapshot.keep("equinox bundles", lambda: _bundles(snapshot))


def _bundles(snapshot: Snapshot) -> list[Bundle]:
    reader = field_reader(snapshot)
    revisions, own = dict[int, list[int]](), dict[int, int]()
    loaders = dict[int, dict[int, int]]()
    for number in _instances(snapshot, _REVISION):
        module = _follow(reader, number, "revisions", "module")
        if module is not None:
            revisions.setdefault(module, []).append(number)
    for number in _instances(snapshot, _LOADER):
        # the system bundle's is an inner class of its loader
        loader = _follow(reader, number, "delegate") or _follow(reader, number, "this$0")
        revision = None if loader is None else _follow(reader, loader, "wiring", "revision")
        module = None if revision is None else _follow(reader, revision, "revisions", "module")
        if revision is not None and module is not None:
            loaders.setdefault(module, {})[number] = revision
    for number in _instances(snapshot, _BUNDLE):
        module = _follow(reader, number, "module")
        if module is not None:
            own[module] = number
    found, classes = [], classes_of(snapshot, [each for of_module in loaders.values() for each in of_module])
    for number in _instances(snapshot, _MODULE):
        if snapshot.work.is_stopped:
            raise stopped()
        known = revisions.get(number, [])
        current = next(iter([*_revisions(snapshot, reader, number), *known]), None)
        parts = [number, *known, *loaders.get(number, ()), *([own[number]] if number in own else [])]
        for revision in known:
            info = _follow(reader, revision, "revisionInfo")
            parts += [] if info is None else [info]
        for loader in loaders.get(number, ()):
            parts += classes[loader]
        state = _text(snapshot, reader, _follow(reader, number, "state"), "name")
        found.append(
            Bundle(
                object=number,
                id=_boxed(reader, number, "id"),
                name=_text(snapshot, reader, current, "symbolicName"),
                version=_version(snapshot, reader, current),
                state=state,
                location=_text(snapshot, reader, number, "location"),
                loaders=tuple(loaders.get(number, ())),
                stale=tuple(
                    loader
                    for loader, revision in loaders.get(number, {}).items()
                    if state == _UNINSTALLED or revision != current
                ),
                parts=tuple(sorted({*parts})),
            )
        )
    return sorted(found, key=lambda each: (each.id is None, each.id or 0, each.object))


def classes_of(snapshot: Snapshot, loaders: Sequence[int]) -> dict[int, list[int]]:
    """The classes that each of some class loaders has loaded."""
    stored, found = snapshot.references, {each: list[int]() for each in loaders}
    is_loader = kinds_where(snapshot, lambda kind: kind.name == "class loader")
    for loader in found:
        part = referrers_of(snapshot, loader)
        found[loader] = stored.referrer[part][is_loader[stored.referrer_kind[part]]].tolist()
    return found


def retained_by_bundle(snapshot: Snapshot, bundle: Bundle) -> int:
    """What would be freed without a bundle: its own objects and classes, and what only these keep alive."""
    return retained_by(snapshot, bundle.parts).retained_bytes


def services(snapshot: Snapshot) -> list[Service]:
    """The services by their ids. Raises :class:`CancelledError`."""
    return snapshot.keep("equinox services", lambda: _services(snapshot))


def _services(snapshot: Snapshot) -> list[Service]:
    reader = field_reader(snapshot)
    names = {part: each.name for each in bundles(snapshot) for part in each.parts}
    found = []
    for number in _instances(snapshot, _SERVICE):
        if snapshot.work.is_stopped:
            raise stopped()
        known, values = reader.references(number), reader.values(number)
        state = values.get("state")
        users = [
            names.get(_follow(reader, context, "bundle") or NEVER, "")
            for context in _listed(snapshot, known.get("contextsUsing"))
        ]
        found.append(
            Service(
                object=number,
                id=reader.integer(number, "serviceid"),
                classes=", ".join(_texts(snapshot, reader, known.get("clazzes"))),
                state=_SERVICE_STATES[state] if isinstance(state, int) and 0 <= state <= 2 else "",
                ranking=reader.integer(number, "serviceranking"),
                bundle=names.get(known.get("bundle", NEVER), ""),
                used_by=", ".join(sorted({name for name in users if name})),
                service=known.get("service"),
            )
        )
    return sorted(found, key=lambda each: (each.id is None, each.id or 0, each.object))


def _types(snapshot: Snapshot, name: str) -> list[int]:
    """The numbers of Equinox's types that are of a class or inherit from it."""

    def make() -> dict[str, list[int]]:
        if snapshot.info.kind != "hprof":
            return {}
        reader, found = field_reader(snapshot), dict[str, list[int]]()
        for kind, text in enumerate(snapshot.strings.texts(snapshot.types.name)):
            instances = instances_of(snapshot, kind)[:1] if text.startswith(_EQUINOX) else ()
            for number in instances:
                for above in reader.classes(int(number)):
                    found.setdefault(above, []).append(kind)
        return found

    return snapshot.keep("equinox types", make).get(name, [])


def _instances(snapshot: Snapshot, name: str) -> list[int]:
    """The instances that roots reach of a class, and of those that inherit from it."""
    parts = [instances_of(snapshot, kind) for kind in _types(snapshot, name)]
    numbers: npt.NDArray[np.uint32] = distinct(np.concatenate(parts)) if parts else np.zeros(0, np.uint32)
    found: list[int] = numbers[snapshot.objects.distance[numbers] != NEVER].tolist()
    return found


def _follow(reader: FieldReader, number: int, *fields: str) -> int | None:
    """The object that some fields lead to, one after the other."""
    at: int | None = number
    for name in fields:
        at = reader.references(at).get(name) if at is not None else None
    return at


def _revisions(snapshot: Snapshot, reader: FieldReader, module: int) -> list[int]:
    """The revisions that a module has, the one that counts now first; none once it is uninstalled."""
    return _listed(snapshot, _follow(reader, module, "revisions", "revisions"))


def _listed(snapshot: Snapshot, number: int | None) -> list[int]:
    contents = None if number is None else contents_of(snapshot, number)
    found = []
    for place, each in enumerate(contents or ()):
        if place >= _MOST_ELEMENTS:
            break
        if each.value is not None:
            found.append(each.value)
    return found


def _texts(snapshot: Snapshot, reader: FieldReader, array: int | None) -> list[str]:
    if array is None:
        return []
    numbers = reader.elements(array)[1][:_MOST_ELEMENTS].tolist()
    return [snapshot.strings.head(int(snapshot.objects.name[each]), MOST_NAME) for each in numbers]


def _text(snapshot: Snapshot, reader: FieldReader, number: int | None, field: str) -> str:
    held = None if number is None else reader.references(number).get(field)
    return "" if held is None else snapshot.strings.head(int(snapshot.objects.name[held]), MOST_NAME)


def _boxed(reader: FieldReader, number: int, field: str) -> int | None:
    held = reader.references(number).get(field)
    return reader.integer(number, field) if held is None else reader.integer(held, "value")


def _version(snapshot: Snapshot, reader: FieldReader, revision: int | None) -> str:
    """``1.2.3.qualifier``, empty where the dump has no values."""
    version = None if revision is None else _follow(reader, revision, "version")
    if version is None:
        return ""
    numbers = [reader.integer(version, name) for name in ("major", "minor", "micro")]
    qualifier = _text(snapshot, reader, version, "qualifier")
    if None in numbers:
        return ""
    return ".".join([*map(str, numbers), *([qualifier] if qualifier else [])])
