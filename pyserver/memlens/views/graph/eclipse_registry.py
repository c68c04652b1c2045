"""The extension registry of Eclipse (Equinox) in heap dumps of Java: extension points, and what extends each.

By the classes of ``org.eclipse.core.internal.registry``. What an object of the registry is called lies in an array,
``extraInformation``, which the registry may have dropped, to read it from its cache again when somebody asks.
"""

from typing import NamedTuple

import numpy as np

from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.views.graph.contents import contents_of
from memlens.views.graph.fields import MOST_NAME, FieldReader, field_reader, number_array
from memlens.views.graph.stopped import stopped
from memlens.views.graph.types import instances_of

_REGISTRY = "org.eclipse.core.internal.registry."
_POINT, _EXTENSION = f"{_REGISTRY}ExtensionPoint", f"{_REGISTRY}Extension"
_MANAGER = f"{_REGISTRY}RegistryObjectManager"
_LABEL, _OF_POINT, _OF_EXTENSION = 0, 1, 2
"""Places in the array of an extension: its label, its extension point, its contributor."""
_POINT_NAME, _POINT_CONTRIBUTOR = 2, 4
"""Places in the array of an extension point."""
_MOST_CONTRIBUTORS = 100_000


class ExtensionPoint(NamedTuple):
    """An extension point by its number, with how many extensions it has; texts that aren't in memory are empty."""

    object: int
    id: str
    label: str
    contributor: str
    """The symbolic name of the bundle that declares it."""
    extensions: int


class Extension(NamedTuple):
    """An extension by its number; ``id`` is empty for one that has none."""

    object: int
    id: str
    point: str
    label: str
    contributor: str
    elements: int
    """Its configuration elements."""


def has_registry(snapshot: Snapshot) -> bool:
    """Whether a heap dump is of a program with an extension registry."""
    return snapshot.info.kind == "hprof" and snapshot.strings.find(snapshot.types.name, _MANAGER) >= 0


def extension_points(snapshot: Snapshot) -> list[ExtensionPoint]:
    """The extension points by their ids. Raises :class:`CancelledError`."""
    reader, contributors = field_reader(snapshot), _contributors(snapshot)
    found = []
    for number in _instances(snapshot, _POINT):
        texts = _texts(snapshot, reader, number)
        contributor = contributors.get(texts.get(_POINT_CONTRIBUTOR, ""), "")
        children = _children(snapshot, reader, number)
        found.append(
            ExtensionPoint(number, texts.get(_POINT_NAME, ""), texts.get(_LABEL, ""), contributor, children)
        )
    return sorted(found, key=lambda each: (each.id, each.object))


def extensions(snapshot: Snapshot) -> list[Extension]:
    """The extensions by the extension point, then by their ids. Raises :class:`CancelledError`."""
    reader, contributors = field_reader(snapshot), _contributors(snapshot)
    found = []
    for number in _instances(snapshot, _EXTENSION):
        texts = _texts(snapshot, reader, number)
        name, namespace = (
            _field(snapshot, reader, number, field) for field in ("simpleId", "namespaceIdentifier")
        )
        found.append(
            Extension(
                number, f"{namespace}.{name}" if name else "", texts.get(_OF_POINT, ""), texts.get(_LABEL, ""),
                contributors.get(texts.get(_OF_EXTENSION, ""), namespace), _children(snapshot, reader, number),
            )
        )  # fmt: skip
    return sorted(found, key=lambda each: (each.point, each.id, each.object))


def _instances(snapshot: Snapshot, name: str) -> list[int]:
    """The instances of a class that roots reach."""
    if not has_registry(snapshot):
        return []
    if snapshot.work.is_stopped:
        raise stopped()
    names = snapshot.keep(
        "eclipse registry types", lambda: np.array(snapshot.strings.texts(snapshot.types.name), object)
    )
    parts = [instances_of(snapshot, kind) for kind in np.flatnonzero(names == name).tolist()]
    numbers = np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.uint32)
    found: list[int] = numbers[snapshot.objects.distance[numbers] != NEVER].tolist()
    return found


def _contributors(snapshot: Snapshot) -> dict[str, str]:
    """The symbolic names of contributors by their ids."""
    reader, found = field_reader(snapshot), dict[str, str]()
    for manager in _instances(snapshot, _MANAGER):
        known = reader.references(manager).get("contributors")
        for each in (contents_of(snapshot, known) or ()) if known is not None else ():
            if len(found) >= _MOST_CONTRIBUTORS:
                break
            if each.key is not None and each.value is not None:
                name = _field(snapshot, reader, each.value, "actualContributorName")
                found[_name(snapshot, each.key)] = name
    return found


def _texts(snapshot: Snapshot, reader: FieldReader, number: int) -> dict[int, str]:
    """What an object of the registry is called, by the places in its array."""
    held = reader.references(number).get("extraInformation")
    if held is not None and not reader.type_name(held).endswith("[]"):
        # a soft reference to it
        held = reader.references(held).get("referent")
    if held is None:
        return {}
    places, targets = reader.elements(held)
    return {
        place: _name(snapshot, target)
        for place, target in zip(places.tolist(), targets.tolist(), strict=True)
    }


def _children(snapshot: Snapshot, reader: FieldReader, number: int) -> int:
    held = reader.references(number).get("children")
    row = None if held is None else number_array(snapshot, held)
    return 0 if row is None else int(row["length"])


def _field(snapshot: Snapshot, reader: FieldReader, number: int, name: str) -> str:
    held = reader.references(number).get(name)
    return "" if held is None else _name(snapshot, held)


def _name(snapshot: Snapshot, number: int) -> str:
    return snapshot.strings.head(int(snapshot.objects.name[number]), MOST_NAME)
