"""Packages, namespaces and modules of types, and names of types without them."""

from typing import TYPE_CHECKING

import numpy as np

from memlens.model import frames as names_of_frames
from memlens.model.frames import USER
from memlens.model.packages import NO_PACKAGE, package_of
from memlens.packs import registry
from memlens.store.kept import kept
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.definitions import frames_of_types
from memlens.views.heap.objects.rows import type_names

if TYPE_CHECKING:
    from memlens.arrays import U32, Mask


def short_name(name: str, kind: str) -> str:
    """A type's name without its package and loader: ``Order$Line[]`` of ``shop.orders.Order$Line[]``."""
    package = package_of(name, kind)
    own = name.split(" (", 1)[0] if registry.objects_of(kind).platform.has_packages else name
    return own[len(package) + 1 :] if package else own


def is_platform(name: str, package: str, kind: str, type_kind: str) -> bool:
    """Whether a type's name says that it is the platform's or the engine's; ``kind`` is the format."""
    # artificial objects that group roots have names in brackets
    own = registry.objects_of(kind)
    if name.startswith(("[", "(", *own.platform.engine_types)) or name in own.platform.built_in:
        return True
    if own.platform.program_kinds:
        return type_kind not in own.platform.program_kinds
    if own.platform.is_package is not None:
        return own.platform.is_package.load()(package)
    is_of_platform = own.platform.packages is not None and own.platform.packages.match(package) is not None
    return is_of_platform or (not package and name[:1].islower())


class Packages:
    """The packages of a snapshot's types, by number; package 0 is that of types without one."""

    def __init__(self, snapshot: Snapshot) -> None:
        kind = graph_of(snapshot.info).kind
        names = type_names(snapshot)
        numbers: dict[str, int] = {NO_PACKAGE: 0}
        self.of_type: U32 = np.array(
            [numbers.setdefault(package_of(name, kind), len(numbers)) for name in names], np.uint32
        )
        of_frames = frames_of_types(snapshot)
        if not registry.objects_of(kind).platform.has_packages:
            self._of_scripts(snapshot, of_frames, numbers)
        self.names: list[str] = list(numbers)
        self.short = [short_name(name, kind) for name in names]
        kinds = snapshot.graph_names.type_kinds
        self.is_platform: Mask = np.array(
            [
                is_platform(name, self.names[package], kind, kinds[number])
                for name, package, number in zip(
                    names, self.of_type.tolist(), snapshot.types.kind.tolist(), strict=True
                )
            ],
            bool,
        )
        for number, frame in of_frames.items():
            self.is_platform[number] |= int(snapshot.frames.kind[frame]) != USER

    def _of_scripts(self, snapshot: Snapshot, frames: dict[int, int], numbers: dict[str, int]) -> None:
        """Return packages for classes without one in their name: those of the scripts that define them."""
        rows = snapshot.frames.rows(frames.values())
        for number, frame in frames.items():
            file, _, function, _ = rows[frame]
            package = names_of_frames.package_of(file, function, int(snapshot.frames.kind[frame]))
            self.of_type[number] = numbers.setdefault(package, len(numbers))


@kept
def packages_of(snapshot: Snapshot) -> Packages:
    """Return the packages of a snapshot's types, computed once."""
    return Packages(snapshot)
