"""The names of a trace's modules, with classes that sources have."""

from collections.abc import Iterable, Mapping

from memlens.model.inferred import module_path

Module = tuple[int, str, str]
"""Parent, name, path."""
Place = tuple[str, str, int]
"""What is named otherwise at a line: a module's name, empty for the function itself; its file; the line."""

_FUNCTION = "forward ("
_TORCH = "nn."


def places(
    names: list[str], parents: list[int], lines: Mapping[int, tuple[str, int]]
) -> Iterable[list[Place]]:
    """For each module the places whose sources may name its class, the best one first; none if it has one.

    ``lines`` are the files and lines of modules' frames, by module.
    """
    for number, (name, parent) in enumerate(zip(names, parents, strict=True)):
        found: list[Place] = []
        of_file = name.startswith(_TORCH) and name[len(_TORCH) :][:1].islower()
        if number in lines and (name.startswith(_FUNCTION) or of_file):
            found.append(("", *lines[number]))
        if of_file and parent in lines:
            # a file of PyTorch's that defines many modules: what its caller calls there has the class
            found.insert(0, (name, *lines[parent]))
        yield found


def named(
    modules: list[Module], lines: Mapping[int, tuple[str, int]], classes: Mapping[Place, str]
) -> list[Module]:
    """The modules with the names of their classes, where ``classes`` have these."""
    names, parents = [name for _, name, _ in modules], [parent for parent, _, _ in modules]
    found: list[Module] = []
    for (parent, old, _), known in zip(modules, places(names, parents, lines), strict=True):
        name = next((classes[place] for place in known if place in classes), old)
        found.append((parent, name, module_path(found[parent][2], name) if found else ""))
    return found
