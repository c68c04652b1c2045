"""Restores names that a build shortened, from packets of a trace.

Source: ``protos/perfetto/trace/profiling/deobfuscation.proto`` of Perfetto.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from memlens.packs.android.kernels import perfetto as kernel

Key = TypeVar("Key", str, tuple[str, str])


class Renames(NamedTuple):
    """The original names in an app, from one packet: of classes, and of members by class."""

    classes: dict[str, str]
    fields: dict[tuple[str, str], str]
    methods: dict[tuple[str, str], str]

    def name(self, name: str) -> str:
        """A class's name as in the source, also an array's."""
        own = name.rstrip("[]")
        return self.classes.get(own, own) + name[len(own) :]

    def field(self, owner: str, name: str) -> tuple[str, str]:
        """A field and its class as in the source."""
        return self.fields.get((owner, name), name), self.name(owner)

    def method(self, owner: str, name: str) -> tuple[str, str]:
        """A class and its method as in the source; a method may be of another class, which was inlined."""
        found = self.methods.get((owner, name), name)
        other, _, own = found.rpartition(".")
        return other or self.name(owner), own


class Deobfuscation:
    """All that a trace says, by app."""

    def __init__(self, messages: Iterable[tuple[bytes | memoryview, int, int]]) -> None:
        """``messages``: the bytes of mappings, where each begins and ends."""
        self._by_package: dict[str, Renames] = {}
        self.of_any = Renames({}, {}, {})
        """The names of all apps together; the first wins."""
        for package, said in (_renames_at(*each) for each in messages):
            self._by_package[package] = said
            _add(self.of_any.classes, said.classes)
            _add(self.of_any.fields, said.fields)
            _add(self.of_any.methods, said.methods)

    def __bool__(self) -> bool:
        return bool(self._by_package)

    def of(self, location: str) -> Renames:
        """The names for the code in a file, by its path."""
        package = package_of(location)
        return self._by_package.get(package, Renames({}, {}, {})) if package else self.of_any


def package_of(location: str) -> str:
    """The app that a file belongs to, if its path says so: /data/app/~~HASH/PACKAGE-HASH/base.apk."""
    if not location.startswith("/data/app/"):
        return ""
    return next(
        (part.partition("-")[0] for part in location.split("/")[3:-1] if not part.startswith("~~")), ""
    )


def _add(known: dict[Key, str], added: dict[Key, str]) -> None:
    for name, own in added.items():
        known.setdefault(name, own)


def _renames_at(data: bytes | memoryview, start: int, end: int) -> tuple[str, Renames]:
    classes: dict[str, str] = {}
    fields: dict[tuple[str, str], str] = {}
    methods: dict[tuple[str, str], str] = {}
    package = ""
    for number, found in kernel.fields_of(data, start, end):
        if number == 1 and isinstance(found, bytes):
            package = found.decode("utf-8", "replace")
        if number != 3 or not isinstance(found, bytes):
            continue
        said = kernel.fields_of(found, 0, len(found))
        short, own = _pair(said)
        if short and own:
            classes[short] = own
        for part, member in said:
            if part in (3, 4) and isinstance(member, bytes):
                short_member, own_member = _pair(kernel.fields_of(member, 0, len(member)))
                if part == 4:
                    methods[short, short_member] = own_member
                else:
                    # a member of another class is prefixed with that class's name
                    fields[short, short_member] = own_member.rpartition(".")[2]
    return package, Renames(classes, fields, methods)


def _pair(said: list[tuple[int, int | bytes]]) -> tuple[str, str]:
    texts = {number: value.decode("utf-8", "replace") for number, value in said if isinstance(value, bytes)}
    return texts.get(1, ""), texts.get(2, "")
