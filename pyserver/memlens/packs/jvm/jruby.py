"""The Ruby code that JRuby's threads run: frames of Ruby in place of the Java frames that stand for them.

Source: ``BacktraceData`` and ``BacktraceElement`` of JRuby 9. Its interpreter is one method of Java for all of Ruby's,
and each call of it has an element in the ``backtrace`` of the thread's ``ThreadContext``, up to ``backtraceIndex``. The
line of an element is one less. What its compiler made has Ruby's lines, and is named by ``jruby_names``.
"""

import re

import numpy as np

from memlens.arrays import I64, U32
from memlens.model.frames import profiled_frame
from memlens.model.graph import NONE, Threads
from memlens.packs.jvm.fields import Fields
from memlens.packs.jvm.jruby_names import called
from memlens.packs.jvm.stacks import Stacks

_CONTEXT = "org.jruby.runtime.ThreadContext"
_INTERPRETED = re.compile(r"org\.jruby\.(?:\w+\.)+INTERPRET_(METHOD|BLOCK|CLASS|MODULE|METACLASS|EVAL|ROOT)")


def add_jruby_frames(threads: Threads, stacks: Stacks, fields: Fields, names: U32) -> None:
    """Replace the interpreter's frames in the stacks of threads, and add Ruby's to the frames of ``stacks``.

    ``names`` has the texts of strings. Frames for which the dump has no element stay Java's.
    """
    variables = threads.variables
    rows = variables[np.isin(variables["object"], fields.instances(_CONTEXT))]
    ends = np.append(0, threads.rows["end"].astype(np.int64))
    numbers: dict[tuple[str, str, int], int] = {}
    for place in np.unique(rows["thread"], return_index=True)[1].tolist():
        # a thread has one; a fiber is a thread of Java
        thread, context = int(rows["thread"][place]), int(rows["object"][place])
        own = threads.frames[ends[thread] : ends[thread + 1]]
        interpreted = [
            (depth, found[1])
            for depth, frame in enumerate(own.tolist())
            if frame != NONE and (found := _INTERPRETED.fullmatch(stacks.frames[frame].function))
        ]
        elements = _elements(fields, context, len(interpreted))
        known = elements != NONE
        lines = np.where(known, fields.integers(elements, "line", absent=-1) + 1, 0)
        methods, files = (_texts(fields, names, elements, name) for name in ("method", "filename"))
        for (depth, kind), line, method, file in zip(
            interpreted, lines.tolist(), methods.tolist(), files.tolist(), strict=True
        ):
            if line > 0 and file:
                key = (stacks.text(file), called(kind, stacks.text(method) if method else ""), line)
                if key not in numbers:
                    numbers[key] = len(stacks.frames)
                    stacks.frames.append(profiled_frame(key[0], line, key[1]))
                own[depth] = numbers[key]


def _elements(fields: Fields, context: int, count: int) -> I64:
    """The elements of the innermost calls of the interpreter, NONE for those that the dump hasn't."""
    found = np.full(count, NONE, np.int64)
    array = int(fields.targets(np.array([context]), "backtrace")[0])
    last = int(fields.integers(np.array([context]), "backtraceIndex", absent=-1)[0])
    if array == NONE:
        return found
    indexes, targets = fields.elements(array)
    places = last - indexes.astype(np.int64)
    fits = (places >= 0) & (places < count)
    found[places[fits]] = targets[fits]
    return found


def _texts(fields: Fields, names: U32, objects: I64, field: str) -> U32:
    """The number of the text of a field of each of some objects, 0 for none."""
    targets = fields.targets(objects, field)
    found = np.zeros(len(objects), np.uint32)
    found[targets != NONE] = names[targets[targets != NONE]]
    return found
