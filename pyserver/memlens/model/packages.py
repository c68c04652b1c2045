"""The package or namespace that a type of a heap dump is in, by its name."""

import re

from memlens.packs import registry

NO_PACKAGE = ""

_ARRAY = re.compile(r"(\[[,\s]*\])+$")
_ARGUMENTS = re.compile(r"[<(\[]")


def package_of(name: str, kind: str) -> str:
    """The package of a type by its name, empty where the name has none; ``kind`` is the format."""
    if not registry.objects_of(kind).platform.has_packages:
        return NO_PACKAGE
    # what is between brackets are other types, and what follows a blank is where the type was loaded from
    head = _ARGUMENTS.split(_ARRAY.sub("", name.split(" (", 1)[0]), maxsplit=1)[0]
    return head.rpartition(".")[0]
