"""The names of a trace's modules, with classes that sources have."""

from collections.abc import Iterable, Mapping

from memlens.model.inferred import Place, module_path

Module = tuple[int, str, str]
"""Parent, name, path."""


def named(modules: list[Module], places: Iterable[list[Place]], classes: Mapping[Place, str]) -> list[Module]:
    """The modules with the names of their classes, as far as ``classes`` has them at the modules' places."""
    found: list[Module] = []
    for (parent, old, _), known in zip(modules, places, strict=True):
        name = next((classes[place] for place in known if place in classes), old)
        found.append((parent, name, module_path(found[parent][2], name) if found else ""))
    return found
