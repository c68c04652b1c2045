"""Which resource ran out when HotSpot dumped a heap: heap space, Metaspace, or system threads.

HotSpot writes the dump before it throws the error, so no object has the error's message: the errors in the heap were
allocated in advance, one for each message. The thread's stack shows the cause: if it was defining or linking a class,
and the heap wasn't full, there was no room for metadata. "GC overhead limit exceeded" and "Java heap space" leave the
same dump.
"""

from memlens.model.graph import NONE
from memlens.model.timeline import NEVER
from memlens.texts import Text, phrase
from memlens.units import format_bytes
from memlens.views.findings.answers import TextPart
from memlens.views.findings.graph.case import GraphCase
from memlens.views.heap.objects.fields import field_reader
from memlens.views.heap.objects.thread_table import table

_ERROR = "java.lang.OutOfMemoryError."
_DEFINES = frozenset((
    "java.lang.ClassLoader.defineClass", "java.lang.ClassLoader.defineClass0", "java.lang.ClassLoader.defineClass1",
    "java.lang.ClassLoader.defineClass2", "java.lang.ClassLoader.findBootstrapClass", "java.lang.Class.forName0",
    "java.lang.Class.getDeclaredMethods0", "java.lang.Class.getDeclaredConstructors0",
    "java.lang.Class.getDeclaredFields0", "java.lang.reflect.Proxy.defineClass0", "sun.misc.Unsafe.defineClass",
    "sun.misc.Unsafe.defineAnonymousClass", "jdk.internal.misc.Unsafe.defineClass0",
    "jdk.internal.misc.Unsafe.defineAnonymousClass0", "java.lang.invoke.MethodHandleNatives.resolve",
    "java.lang.invoke.MethodHandleNatives.init",
))  # fmt: skip
"""Functions of the JDK's in native code that define or link a class."""
_STARTS = "java.lang.Thread.start0"
_LIMITS = ("jdk.internal.misc.VM", "sun.misc.VM")
"""Classes whose static field ``directMemory`` is the heap's limit, unless ``-XX:MaxDirectMemorySize`` is given."""
_FULL_SHARE = 0.85
_MOST_SHARE = 1.05


def ran_out_of(case: GraphCase, thread: int, name: TextPart, where: Text | str) -> tuple[Text, Text] | None:
    """Return how a sentence about what a thread ran out of begins, and the reason; None if unknown."""
    numbers = [frame for frame in table(case.snapshot).frames_of(thread).tolist() if frame != NONE]
    rows = case.snapshot.frames.rows(numbers[:3])
    inner = next((rows[frame][2] for frame in numbers[:3] if not rows[frame][2].startswith(_ERROR)), "")
    limit = limit_of_heap(case)
    used = case.info.shallow_bytes
    is_full = limit is not None and _FULL_SHARE * limit <= used <= _MOST_SHARE * limit
    if inner == _STARTS:
        return (
            phrase("Thread {name} could not start another thread{where}", name=name, where=where),
            phrase(" Threads and their stacks lie outside the heap: a larger heap doesn't help."),
        )
    if inner in _DEFINES and not is_full:
        return (
            phrase("Thread {name} ran out of Metaspace{where}", name=name, where=where),
            phrase(
                " A class was being defined, and classes lie outside the heap (inferred): a larger heap doesn't help. "
                "Make fewer classes there, reuse them, or raise -XX:MaxMetaspaceSize."
            ),
        )
    if not is_full:
        return None
    return (
        phrase("Thread {name} ran out of memory{where}", name=name, where=where),
        phrase(
            " The heap was full, {used} of {limit}: it ran out of space, or the collector took too "
            "much time (GC overhead limit exceeded). Both leave the same dump.",
            used=format_bytes(used), limit=format_bytes(limit or 0),
        ),
    )  # fmt: skip


def limit_of_heap(case: GraphCase) -> int | None:
    """Return the maximum heap size in bytes, from the JDK's own objects; None if unknown."""
    objects = case.snapshot.types.object
    for kind in case.types_where(lambda name: name in _LIMITS) if objects is not None else ():
        number = int(objects[kind]) if objects is not None else NEVER
        if number == NEVER:
            continue
        limit = field_reader(case.snapshot).values(number).get("directMemory")
        if isinstance(limit, int) and limit > 0:
            return limit
    return None
