"""The classes of PyTorch's modules, by the Python source of the lines at which their functions run.

A module's class is that around its ``forward``. Files of PyTorch's such as ``conv.py`` have many, and a base class with
the ``forward`` of all: there it is what the caller's line calls, ``self.conv(x)`` where ``self.conv = nn.Conv2d(…)``.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from memlens.model.inferred import ModuleClasses, Place
from memlens.sources.declarations import text_of
from memlens.sources.functions import syntax_of

_MOST_FILES = 500
_FORWARD = "forward"
_TORCH = "nn."


class _Class(NamedTuple):
    """A class: its name, the ranges of lines of its ``forward``, and what its attributes are made of."""

    name: str
    forwards: list[tuple[int, int]]
    attributes: dict[str, str]


class TorchClasses(ModuleClasses):
    """Finds a module's class around its ``forward``, or by the call that runs it."""

    def places(
        self, names: list[str], parents: list[int], lines: Mapping[int, tuple[str, int]]
    ) -> Iterable[list[Place]]:
        """For each module the places whose sources may name its class."""
        for number, (name, parent) in enumerate(zip(names, parents, strict=True)):
            found: list[Place] = []
            of_file = name.startswith(_TORCH) and name[len(_TORCH) :][:1].islower()
            if number in lines and (name.startswith(f"{_FORWARD} (") or of_file):
                found.append(("", *lines[number]))
            if of_file and parent in lines:
                # a file of PyTorch's that defines many modules: what its caller calls there has the class
                found.insert(0, (name, *lines[parent]))
            yield found

    def classes_at(
        self, asked: Mapping[str, Iterable[Place]], local: Callable[[str], str | None]
    ) -> dict[Place, str]:
        """The classes at some lines, by place.

        A file of which any line isn't in a function ``forward`` is another one, or has changed since, and says nothing.
        """
        found: dict[Place, str] = {}
        for file, places in list(asked.items())[:_MOST_FILES]:
            path = local(file)
            text = text_of(path) if path is not None else ""
            classes, lines = _classes(text), text.split("\n")
            own: dict[Place, _Class] = {}
            of_file = list(places)
            for place in of_file:
                around = _around(classes, place[2])
                if around is None:
                    break
                own[place] = around
            if len(own) == len(of_file):
                found |= {place: name for place, each in own.items() if (name := _name(each, place, lines))}
        return found


def _name(around: _Class, place: Place, lines: list[str]) -> str:
    """The class that a place names; empty for base classes of PyTorch's, and where its caller calls several."""
    known = place[0]
    if not known:
        return "" if around.name.startswith("_") else around.name
    # a call may go on over several lines; the one that runs is that of its beginning or of an argument
    line = lines[place[2] - 1] if place[2] <= len(lines) else ""
    stem = known.removeprefix(_TORCH).removesuffix("ing").rstrip("_")
    named = {
        made
        for name, made in around.attributes.items()
        if f"self.{name}(" in line and made.startswith(_TORCH)
    }
    if len(named) > 1:
        named = {made for made in named if stem in made.lower()}
    return named.pop() if len(named) == 1 else ""


def _around(classes: list[_Class], line: int) -> _Class | None:
    inside = [
        (end - start, number)
        for number, each in enumerate(classes)
        for start, end in each.forwards
        if start <= line <= end
    ]
    return classes[min(inside)[1]] if inside else None


def _classes(text: str) -> list[_Class]:
    tree = syntax_of(text)
    return [] if tree is None else [_class(node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def _class(node: ast.ClassDef) -> _Class:
    functions = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    forwards = [
        (min([each.lineno, *(by.lineno for by in each.decorator_list)]), each.end_lineno or each.lineno)
        for each in functions
        if each.name == _FORWARD
    ]
    return _Class(node.name, forwards, dict(_attributes(functions)))


def _attributes(functions: Iterable[ast.FunctionDef]) -> Iterator[tuple[str, str]]:
    """Attributes of ``self`` that a call of a class is assigned to, with the class: ``("conv", "nn.Conv2d")``."""
    for function in functions:
        for each in ast.walk(function):
            if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call):
                for target in each.targets:
                    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                        yield target.attr, _called(each.value.func)


def _called(function: ast.expr) -> str:
    """The class that a call makes: ``nn.Conv2d`` for PyTorch's by their usual names, else its bare name."""
    if isinstance(function, ast.Attribute):
        of_nn = isinstance(function.value, ast.Name | ast.Attribute) and ast.unparse(function.value) in (
            "nn", "torch.nn",
        )  # fmt: skip
        return f"{_TORCH}{function.attr}" if of_nn else function.attr
    return function.id if isinstance(function, ast.Name) else ""
