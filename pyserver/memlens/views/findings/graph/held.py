"""The holder of an object in words: names along a short path from a root, without the runtime's own steps."""

import re
from typing import NamedTuple

import numpy as np

from memlens.model.frames import USER
from memlens.model.graph import ENTRY, NONE
from memlens.model.packages import package_of
from memlens.packs import registry
from memlens.texts import Text, in_a_row, phrase
from memlens.units import plain_name, shortened
from memlens.views.findings.answers import LineLink, ObjectsLink, TextPart
from memlens.views.findings.graph.case import (
    RUNTIME_KINDS,
    GraphCase,
    is_class,
    is_internal,
    short_type,
    typed_id,
)  # fmt: skip
from memlens.views.findings.writing import base_line, linked
from memlens.views.heap.objects.packages import is_platform
from memlens.views.heap.objects.rows import ObjectRow
from memlens.views.heap.objects.thread_table import table
from memlens.views.heap.paths.to_object import Path, paths

_LOCAL_VARIABLE = "local variable"
"""The kind of references from a thread to the targets of its frames' variables, named after the frame."""
_THREAD = "thread"
_STATIC_FIELD = "static field"
_FIRST_STEPS, _LAST_STEPS = 3, 2
_MOST_PATHS, _MORE_PATHS, _MOST_PATH = 3, 8, 200
_MOST_CLOSURES = 100
_STEPS = re.compile(r"\.[^.\[]*|\[[^\]]*\]?|[^.\[]+")


class _Variable(NamedTuple):
    """A variable of a thread's frame: its name, empty where that isn't known, the thread's name, and the frame."""

    name: str
    thread: str
    frame: LineLink | None


def held_by(case: GraphCase, number: int) -> Text | None:
    """The holder of an object, as ``Leak.CACHE.table``; None if nothing holds it."""
    nearest: Text | None = None
    for path in _paths(case, number):
        kinds = ", ".join(dict.fromkeys(root.kind for root in path.roots[:2]))
        first, names = _way(case, path)
        detail = next((root.detail for root in path.roots if root.detail), "")
        is_first = first.object == path.root.object and not _has_names(case, first)
        if is_first and (variable := _variable(case, path)):
            # here the first reference leads from the thread to the variable's object
            return _held_by_variable(case, path, variable, names[1:] if _is_local(path) else names)
        if first.object == path.root.object and (thread := _thread_of(case, path)):
            return _held_by_thread(case, path, thread, names)
        if names:
            way = "".join(names)
            shown: str | Text = shortened((_short_name(case, first) + way).lstrip("."), _MOST_PATH)
            if not way and is_class(first):
                # its name alone would mean its instances' type
                shown = phrase("the class {name}", name=shown)
            elif first.type == case.known.scopes.variables_type and sum(map(bool, names)) == 1:
                shown = phrase("the variable {name}", name=shown)
            named = _named_first(case, path, first)
            path_part = linked(
                shown, line=_own_line(case, named), objects=ObjectsLink("object", named.object)
            )
            # the path to a class adds nothing if a static field holds the object
            has_name = _has_names(case, first) and (
                first.object != path.root.object or not case.known.scopes.has_static_fields
            )
            if not kinds or case.known.scopes.global_object is not None or has_name:
                return path_part
            return in_a_row([path_part, f"({_root(case, kinds, detail)})"], " ")
        if not path.steps and detail and registry.objects_of(case.info.kind).scopes.static_roots:
            # a static field is a root itself, with its name
            return linked(_root(case, kinds, detail), objects=ObjectsLink("object", path.root.object))
        nearest = nearest or (phrase("a root: {kinds}", kinds=kinds) if kinds else phrase("a root"))
    return nearest


def _root(case: GraphCase, kinds: str, detail: str) -> str:
    """The beginning of a path: the kind of root, and its detail, as ``static var Shop.Program.Open``."""
    if registry.objects_of(case.info.kind).scopes.mute_roots:
        return f"root: {kinds}"
    if not detail or detail.startswith(f"{kinds.removesuffix('s')} "):
        return plain_name(detail) or kinds
    return f"{kinds}: {plain_name(detail)}"


def and_held(holder: Text | None) -> Text | str:
    """The result of :func:`held_by` as the end of a sentence."""
    return "" if holder is None else phrase(", held by {holder}", holder=holder)


def keeper_of(case: GraphCase, number: int) -> TextPart | None:
    """The closure with a line that keeps a function's variables, the one nearest to a root, if the dump says so."""
    stored, objects = case.snapshot.references, case.snapshot.objects
    if case.type_names()[int(objects.type[number])] != case.known.scopes.variables_type:
        return None
    begin, end = (int(stored.referrer_start[number + after]) for after in (0, 1))
    found = stored.referrer[begin:end]
    found = found[
        np.isin(objects.type[found], case.types_of_kind("closure")) & (objects.distance[found] != NONE)
    ]
    for closure in found[np.argsort(objects.distance[found], kind="stable")][:_MOST_CLOSURES].tolist():
        line = case.line(closure)
        if line is not None:
            row = case.row(closure)
            shown = f"{plain_name(row.name)} ({base_line(line)})" if row.name else base_line(line)
            return linked(shown, line=line, objects=ObjectsLink("object", closure))
    return None


def _paths(case: GraphCase, number: int) -> list[Path]:
    """Paths to an object, the most informative first.

    A variable of a module's frame is an attribute of the module as well, a root of which nothing is known says nothing,
    and what a static field of the program's holds stays when the method that uses it has returned.
    """
    found = paths(case.snapshot, number, _MOST_PATHS).paths
    if case.known.scopes.frame_variables is not None:
        return sorted(found, key=lambda path: _is_known_otherwise(case, path))
    if case.known.scopes.global_object is not None:
        return sorted(found, key=lambda path: not _begins_with_a_name(case, path))
    if not case.known.scopes.has_static_fields:
        return found
    if found and not any(_says_a_field(case, path) for path in found):
        found += paths(case.snapshot, number, _MORE_PATHS, soon=True).paths[len(found) :]
    return sorted(found, key=lambda path: not _says_a_field(case, path))


def _begins_with_a_name(case: GraphCase, path: Path) -> bool:
    """True if a path passes a global object or a function's variables; those of the stack have no names."""
    rows = (path.root, *(step.object for step in path.steps))
    return any(row.type == case.known.scopes.variables_type or case.is_global(row.type) for row in rows[:-1])


def _says_a_field(case: GraphCase, path: Path) -> bool:
    """Whether a path passes a static field of a class of the program's."""
    rows, kind = (path.root, *(step.object for step in path.steps)), case.info.kind
    return any(
        step.kind == _STATIC_FIELD
        and is_class(row)
        and not _is_generated(case, row)
        and not is_platform(row.name, package_of(row.name, kind), kind, "")
        for row, step in zip(rows, path.steps, strict=False)
    )


def _is_generated(case: GraphCase, row: ObjectRow) -> bool:
    known = case.known.scopes.generated
    return known is not None and known.search(row.name) is not None


def _is_known_otherwise(case: GraphCase, path: Path) -> bool:
    if _has_names(case, _way(case, path)[0]):
        return False
    variable = _variable(case, path)
    if variable is None:
        return True
    return _is_at_module_level(case, variable.frame)


def _is_at_module_level(case: GraphCase, line: LineLink | None) -> bool:
    """Whether a frame runs a module, whose variables are global ones."""
    known = case.known.scopes.frame_variables
    return known is not None and line is not None and line.function == known.module_level


def _is_local(path: Path) -> bool:
    """Whether a path begins with a variable of a thread's frame, through a reference named after the frame."""
    return bool(path.steps) and path.steps[0].kind == _LOCAL_VARIABLE


def _variable(case: GraphCase, path: Path) -> _Variable | None:
    """The variable of a thread's frame with which a path begins."""
    if _is_local(path):
        thread = next((root.detail for root in path.roots if root.detail), "")
        return _Variable("", thread, _frame_of_local(case, path))
    of_frames = case.known.scopes.frame_variables
    if of_frames is None or all(root.kind != of_frames.root for root in path.roots):
        return None
    known = table(case.snapshot)
    rows = known.variables[known.variables["object"] == path.root.object]
    rows = rows[rows["depth"] != NONE]
    if not len(rows):
        return None
    rows = rows[:_MOST_PATHS]
    frames = known.frames[known.frame_rows(rows)].tolist()
    names = case.snapshot.strings.texts(rows["name"])
    threads = case.snapshot.strings.texts(known.name[rows["thread"]])
    found = [
        _Variable(name, thread, case.line_of(frame))
        for name, thread, frame in zip(names, threads, frames, strict=True)
    ]
    # a function that holds what a module names as well says where it is used
    return min(found, key=lambda each: each.frame is None or _is_at_module_level(case, each.frame))


def _thread_of(case: GraphCase, path: Path) -> str:
    """The name of the thread whose object a path begins with; empty if it has none."""
    if case.known.thread_values is None or not any(root.kind == _THREAD for root in path.roots):
        return ""
    return path.root.name or next((root.detail for root in path.roots if root.detail), "")


def _held_by_thread(case: GraphCase, path: Path, thread: str, names: list[str]) -> Text:
    """``the thread local Shop.CONTEXT of thread main``, or ``thread reports, through queue``."""
    name = linked(plain_name(thread), objects=ObjectsLink("object", path.root.object))
    values = None if case.known.thread_values is None else case.known.thread_values.load()
    entries = (
        at
        for at, step in enumerate(path.steps)
        if values is not None and values.is_entry(_own_type_name(step.object))
    )
    entry = next(entries, None)
    if values is None or entry is None or entry == len(path.steps) - 1:
        names = [] if entry is not None else names
        way = shortened("".join(names).lstrip("."), _MOST_PATH)
        return (
            phrase("thread {name}, through {path}", name=name, path=way)
            if way
            else phrase("thread {name}", name=name)
        )
    known = values.entry_of(case.snapshot, path.steps[entry].object.object)
    # after the entry comes its value, which is what the variable refers to
    after = [_step(step.name, step.kind) for step in path.steps[entry + 2 :]]
    way = shortened("".join(after).lstrip("."), _MOST_PATH)
    field = None if known is None else plain_name(".".join(known[0].rsplit(".", 2)[-2:]))
    return phrase(
        "{variable} of thread {name}{path}",
        variable=phrase("a thread-local variable") if field is None
        else phrase("the thread-local variable {field}", field=field),
        name=name, path=phrase(", through {path}", path=way) if way else "",
    )  # fmt: skip


def _frame_of_local(case: GraphCase, path: Path) -> LineLink | None:
    """The frame with the variable through which a path continues."""
    known, step = table(case.snapshot), path.steps[0]
    of_thread = known.object[known.variables["thread"]] == path.root.object
    rows = known.variables[of_thread & (known.variables["object"] == step.object.object)]
    rows = rows[rows["depth"] != NONE]
    for frame in dict.fromkeys(known.frames[known.frame_rows(rows)].tolist()):
        line = case.line_of(frame)
        if line is not None and step.name == _called(line):
            return line
    return None


def _called(line: LineLink) -> str:
    """The names of references from frames' variables in files."""
    return f"{line.function} ({base_line(line)})"


def _held_by_variable(case: GraphCase, path: Path, variable: _Variable, names: list[str]) -> Text:
    """``a local variable of Shop.main (Shop.kt:7) in thread main, through orders.table``."""
    held = path.steps[0].object.object if _is_local(path) else path.root.object
    line = variable.frame
    called = _short_frame(path.steps[0].name if _is_local(path) else _called(line) if line else "")
    objects = ObjectsLink("object", held)
    is_global = _is_at_module_level(case, line)
    if not variable.name:
        shown = linked(phrase("a local variable"), objects=objects)
    elif is_global:
        shown = linked(phrase("the global variable {name}", name=plain_name(variable.name)), objects=objects)
    else:
        shown = linked(phrase("the local variable {name}", name=plain_name(variable.name)), objects=objects)
    frame = linked(base_line(line) if line and is_global else shortened(called, _MOST_PATH), line=line)
    return phrase(
        "{variable}{frame}{thread}{names}",
        variable=shown,
        frame=phrase(" of {frame}", frame=frame) if called else "",
        thread=phrase(" in thread {name}", name=plain_name(variable.thread))
        if variable.thread and not is_global
        else "",
        names=phrase(", through {path}", path=shortened("".join(names).lstrip("."), _MOST_PATH))
        if any(names)
        else "",
    )


def _short_frame(frame: str) -> str:
    """A frame without the packages of its function."""
    function, place, where = frame.partition(" (")
    return plain_name(".".join(function.split(".")[-2:]) + place + where)


def _way(case: GraphCase, path: Path) -> tuple[ObjectRow, list[str]]:
    """The program's first object on a path, or the class whose static field holds, and the references from there on."""
    ends = [path.root, *(step.object for step in path.steps)]
    runtime = max((place for place, row in enumerate(ends[:-1]) if _is_runtime(case, row)), default=-1)
    classes = [place for place, row in enumerate(ends[:-1]) if _has_names(case, row)]
    # a class also holds its loader, by a reference without a name; then a static field before it says more
    named = [
        place
        for place in classes
        if _step(path.steps[place].name, path.steps[place].kind) and not _is_generated(case, ends[place])
    ]
    begin = max((named or classes or [0])[-1], runtime + 1, _variable_s_function(case, ends))
    steps = path.steps[begin:]
    names = [_step(step.name, step.kind) for step in steps]
    if case.known.scopes.namespaces is not None:
        # the contents of such an object are another's attributes
        own = f".{case.known.scopes.namespaces.attribute}"
        names = ["" if name == own and steps[1:] else name for name in names]
    if steps and not any(names):
        # where references have no names, what they lead to is said up to the object itself
        said = [step.object for step in steps[:-1] if not is_internal(step.object.type)]
        names = [f" > {short_type(_own_type_name(each))}" for each in said] or [""]
    if case.known.collections.entries is not None and case.known.collections.entries.search("".join(names)):
        # the bucket or slot of an element is irrelevant, and a key is a string's content
        names = _STEPS.findall(case.known.collections.entries.sub("[…]", "".join(names)))
    if len(names) > _FIRST_STEPS + _LAST_STEPS + 1:
        names = [*names[:_FIRST_STEPS], "…", *names[-_LAST_STEPS:]]
    return ends[begin], names


def _variable_s_function(case: GraphCase, ends: list[ObjectRow]) -> int:
    """The place of the last function's variables on a path: how these are reached is the engine's concern."""
    variables = case.known.scopes.variables_type
    return max((place for place, row in enumerate(ends[:-1]) if row.type == variables), default=0)


def _named_first(case: GraphCase, path: Path, first: ObjectRow) -> ObjectRow:
    """The object that the first name on a way is of: of a function's variables what the variable refers to."""
    rows = [path.root, *(step.object for step in path.steps)]
    after = [row.object for row in rows].index(first.object) + 1
    is_variable = first.type == case.known.scopes.variables_type
    return rows[after] if is_variable and after < len(path.steps) else first


def _has_names(case: GraphCase, row: ObjectRow) -> bool:
    """Whether an object has names for what it holds, and one of its own: a class or a module."""
    return is_class(row) or _is_module(case, row)


def _is_module(case: GraphCase, row: ObjectRow) -> bool:
    return bool(row.name) and row.type == case.known.scopes.module_type


def _short_name(case: GraphCase, row: ObjectRow) -> str:
    """What a path begins with: a class's name, a module's, a function's, or else a type with its id."""
    if _is_module(case, row):
        return plain_name(row.name)
    if row.type == case.known.scopes.variables_type:
        return ""
    known = case.known.scopes.global_object
    if is_class(row) or (row.name and known is not None):
        found = None if known is None else known.fullmatch(row.name)
        return short_type(row.name if found is None else found[1])
    return typed_id(case, row)


def _own_line(case: GraphCase, row: ObjectRow) -> LineLink | None:
    """The definition of a path's first object in the user's own code."""
    line = case.line(row.object)
    return line if line and int(case.snapshot.frames.kind[line.frame]) == USER else None


def _own_type_name(row: ObjectRow) -> str:
    """A type without its module."""
    return row.type if row.type.startswith("(") else row.type.split(" (", 1)[0]


def _is_runtime(case: GraphCase, row: ObjectRow) -> bool:
    """True for an artificial object that groups the roots of the runtime."""
    kinds = case.snapshot.graph_names.type_kinds
    kind = kinds[int(case.snapshot.types.kind[int(case.snapshot.objects.type[row.object])])]
    return kind in RUNTIME_KINDS or row.type.startswith(("[", *case.known.scopes.global_scopes))


def _step(name: str, kind: str) -> str:
    if kind == ENTRY:
        # a key is a string's content
        return "[…]"
    if name.startswith("["):
        return name if kind == "element" else ""
    return f".{plain_name(name)}" if name else ""
