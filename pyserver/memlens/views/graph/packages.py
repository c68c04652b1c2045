"""The package, namespace or module that a type belongs to, and what a type is called without it."""

import re

import numpy as np
import numpy.typing as npt

from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.views.graph.rows import type_names

NO_PACKAGE = ""

_PLATFORM = re.compile(r"(java|javax|jdk|sun|com\.sun|kotlin|scala|System|Microsoft|Windows|Interop)(\.|$)")
"""Packages of the platform, which no user of it writes."""
_ARRAY = re.compile(r"(\[[,\s]*\])+$")
_ARGUMENTS = re.compile(r"[<(\[]")


def package_of(name: str, kind: str) -> str:
    """The package of a type by its name, empty where the name has none; ``kind`` is the format."""
    if kind == "v8":
        return NO_PACKAGE
    # what is between brackets are other types, and what follows a blank is where the type was loaded from
    head = _ARGUMENTS.split(_ARRAY.sub("", name.split(" (", 1)[0]), maxsplit=1)[0]
    return head.rpartition(".")[0]


def short_name(name: str, kind: str) -> str:
    """A type's name without its package and loader: ``HashMap$Node[]`` of ``java.util.HashMap$Node[]``."""
    package = package_of(name, kind)
    own = name.split(" (", 1)[0] if kind != "v8" else name
    return own[len(package) + 1 :] if package else own


class Packages:
    """The packages of a snapshot's types, by number; package 0 is that of types without one."""

    def __init__(self, snapshot: Snapshot) -> None:
        kind = graph_of(snapshot.info).kind
        names = type_names(snapshot)
        numbers: dict[str, int] = {NO_PACKAGE: 0}
        self.of_type: npt.NDArray[np.uint32] = np.array(
            [numbers.setdefault(package_of(name, kind), len(numbers)) for name in names], np.uint32
        )
        self.names: list[str] = list(numbers)
        self.short = [short_name(name, kind) for name in names]
        kinds = snapshot.graph_names.type_kinds
        internal = kind == "v8"
        self.is_platform: npt.NDArray[np.bool_] = np.array(
            [
                kinds[number] not in ("object", "closure") or name.startswith(("system /", "("))
                if internal
                else bool(_PLATFORM.match(self.names[package])) or (not package and name[:1].islower())
                for name, package, number in zip(
                    names, self.of_type.tolist(), snapshot.types.kind.tolist(), strict=True
                )
            ],
            bool,
        )


def packages_of(snapshot: Snapshot) -> Packages:
    """The packages of a snapshot's types, made once."""
    return snapshot.keep("type packages", lambda: Packages(snapshot))
