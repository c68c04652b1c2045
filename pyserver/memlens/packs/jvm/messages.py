"""A Java virtual machine's last words: OutOfMemoryError, hs_err files, and what Native Memory Tracking counts.

Sources: ``vmError.cpp``, ``debug.cpp``, ``memReporter.cpp`` and ``java.nio.Bits`` of OpenJDK 8 to 24.
"""

import re
from collections.abc import Callable

from memlens.explain.answers import Amount, Explanation, Memory, NotMemory, Recording
from memlens.explain.text import Log, amount_of, bytes_of
from memlens.texts import Text, in_a_row, phrase
from memlens.units import format_bytes, format_share, plain_name

_ERROR = re.compile(
    r"java\.lang\.OutOfMemoryError(?:: ([^\n]{0,500}))?|OutOfMemory encountered: ([^\n]{0,500})"
)
_FRAME = re.compile(r"\s{0,8}at (?:[\w.@-]{1,100}/)?([\w.$<>]{1,300})\(([^)\n]{1,200})\)")
_DUMP = re.compile(r"Dumping heap to (\S{1,500})")
_DIRECT = re.compile(
    r"Cannot reserve (\d{1,18}) bytes of direct buffer memory \(allocated: (\d{1,18}), limit: (\d{1,18})\)"
)
_NATIVE = re.compile(r"request (\d{1,18}) bytes for ([^\n]{1,200}?)\. Out of swap space\?")
_OUTSIDE = [
    Recording(
        "Java",
        "java -XX:NativeMemoryTracking=summary -jar app.jar",
        phrase(
            "`jcmd PID VM.native_memory baseline`, and some time later `jcmd PID VM.native_memory "
            "summary.diff`, say what grows outside of the heap; Memlens explains that, too."
        ),
    )
]
"""A heap dump says nothing about what is outside of the heap."""
_MOST_FRAMES = 200
_AROUND = 6
"""Lines in which a report of the same error may say where its heap dump is."""


class _Reason:
    """A reason that an OutOfMemoryError gives."""

    def __init__(self, begins: tuple[str, ...], memory: Memory, conclusion: Text, setting: Text) -> None:
        self.begins = begins
        self.memory: Memory = memory
        self.conclusion = conclusion
        self.setting = setting


_REASONS = (
    _Reason(
        ("Java heap space",),
        "heap",
        phrase(
            "The heap was full of objects that are still reachable, or the requested object is larger than "
            "what was free. The line is where memory ran out, not necessarily what keeps it."
        ),
        phrase("-Xmx, or -XX:MaxRAMPercentage of the container's memory (a quarter of it if neither is given)."),
    ),
    _Reason(
        ("GC overhead limit exceeded",),
        "heap",
        phrase(
            "Nearly all of the time went into collections that freed almost nothing: the heap was as good as full of "
            "objects that are still reachable."
        ),
        phrase("-Xmx. -XX:-UseGCOverheadLimit only defers the end."),
    ),
    _Reason(
        ("Metaspace", "Compressed class space"),
        "outside",
        phrase(
            "Metadata of classes was full, which is outside of the heap: too many classes, or class "
            "loaders that are never freed. A heap dump shows both."
        ),
        phrase("-XX:MaxMetaspaceSize, or -XX:CompressedClassSpaceSize."),
    ),
    _Reason(
        ("unable to create native thread", "unable to create new native thread"),
        "outside",
        phrase(
            "The system gave no further thread, or no memory for its stack; the heap has nothing to do "
            "with it. A larger -Xmx makes it worse."
        ),
        phrase(
            "ulimit -u, pids.max of the container, kernel.threads-max, ulimit -v; -Xss is the size of each stack. "
            "`jcmd PID Thread.print` lists the threads."
        ),
    ),
    _Reason(
        ("Direct buffer memory", "Cannot reserve "),
        "outside",
        phrase(
            "Direct buffers (java.nio, as network libraries use them) were at their limit, which is "
            "outside of the heap. They are freed only when their small objects in the heap are collected."
        ),
        phrase("-XX:MaxDirectMemorySize, which is as much as -Xmx if it isn't given."),
    ),
    _Reason(
        (
            "Requested array size exceeds VM limit",
            "Required length exceeds implementation limit",
            "Required array length too large",
        ),
        "heap",
        phrase(
            "The program requested an array of about two billion items, more than an array can have: no "
            "limit helps. Usually a length was computed wrongly, or a buffer grew without end."
        ),
        phrase("None: the line that requests it has to change."),
    ),
    _Reason(
        ("Map failed",),
        "outside",
        phrase("A file couldn't be mapped: address space or the number of mappings was at its limit, not the heap."),
        phrase("vm.max_map_count, ulimit -v."),
    ),
)  # fmt: skip


def out_of_memory_error(log: Log, number: int) -> Explanation | NotMemory | None:
    """An OutOfMemoryError, with the stack below it."""
    line = log.line(number)
    found = _ERROR.search(line)
    if found is None:
        return None
    if "OutOfMemoryError thrown from the" in line:
        return _without_reason(number)
    reason = (found[1] or found[2] or "").strip()
    if not reason:
        return None
    native = _NATIVE.search(reason)
    known = next((each for each in _REASONS if reason.startswith(each.begins)), None)
    if known is None and native is None:
        return NotMemory(
            title=phrase(
                "Memlens doesn't know the reason of this OutOfMemoryError: {reason}",
                reason=plain_name(reason),
            ),
            advice=phrase("A library may throw it for a limit of its own; its stack says where."),
            first_line=number + 1,
        )
    last, frames = _frames(log, number)
    amounts: list[Amount] = []
    if direct := _DIRECT.search(reason):
        labels = (
            phrase("requested"),
            phrase("allocated in direct buffers"),
            phrase("limit of direct buffers"),
        )
        amounts = [Amount(label, int(size)) for label, size in zip(labels, direct.groups(), strict=True)]
    conclusions, settings = list[Text](), list[Text]()
    if native is not None:
        amounts = [Amount(phrase("requested"), int(native[1]))]
        conclusions.append(
            phrase(
                "The virtual machine itself could not get memory from the system ({purpose}); that memory is "
                "outside of the heap.",
                purpose=plain_name(native[2]),
            )
        )
        settings.append(_NATIVE_SETTING)
    elif known is not None:
        conclusions.append(known.conclusion)
        settings.append(known.setting)
    if frames:
        conclusions.append(phrase("It was thrown in {frame}.", frame=plain_name(frames[0])))
    dump = _dump_beside(log, number)
    if dump:
        conclusions.append(
            phrase(
                "There is a heap dump, {file}: open it, it has the thread that ran out.",
                file=plain_name(dump),
            )
        )
    memory: Memory = "outside" if known is None else known.memory
    return Explanation(
        title=phrase("The Java virtual machine ran out of memory: {reason}", reason=plain_name(reason)),
        first_line=number + 1,
        last_line=last + 1,
        ended_by="runtime",
        memory=memory,
        next_time=_OUTSIDE if memory == "outside" else [],
        amounts=amounts,
        conclusions=conclusions,
        settings=settings,
    )


def _without_reason(number: int) -> Explanation:
    return Explanation(
        title=phrase(
            "The Java virtual machine ran out of memory, and again while it reported that: the reason is lost"
        ),
        first_line=number + 1,
        last_line=number + 1,
        ended_by="runtime",
        memory="unknown",
        conclusions=[phrase("Usually it is the heap, as reporting an error of a thread needs some of it.")],
        settings=[_REASONS[0].setting],
    )


def _frames(log: Log, number: int) -> tuple[int, list[str]]:
    """The last line of the stack below an error, and its frames: the first outside of Java's own packages, or none."""
    last, frames = number, list[str]()
    for each, line in log.lines(number + 1, _MOST_FRAMES):
        frame = _FRAME.match(line)
        if frame is None:
            break
        last = each
        if not frame[1].startswith(("java.", "javax.", "jdk.", "sun.")):
            frames.append(f"{frame[1]}({frame[2]})")
    return last, frames


def _dump_beside(log: Log, number: int) -> str:
    for _, line in (*log.before(number, _AROUND), *log.lines(number, _AROUND)):
        if found := _DUMP.search(line):
            return found[1]
    return ""


_NATIVE_SETTING = phrase(
    "The limit is the system's: the container's or machine's memory, ulimit -v, vm.overcommit_memory. A smaller -Xmx "
    "leaves more for what is outside of the heap; -XX:NativeMemoryTracking=summary counts that."
)

_FAILED = re.compile(
    r"Native memory allocation \((\w{1,20})\) failed to (?:map|allocate|commit|reserve)"
    r" (\d{1,18}) bytes(?: for |\. Error detail: )?([^\n]{0,200})"
)
_HEAP_LINE = re.compile(r" *([\w -]{1,40}?) +total (\d{1,15})([KMG]), used (\d{1,15})([KMG]) ")
_PHYSICAL = re.compile(
    r"Memory: \w{1,6} page, physical (\d{1,15})k\((\d{1,15})k free\)(?:, swap (\d{1,15})k\((\d{1,15})k free\))?"
)
_RESIDENT = re.compile(r"Resident Set Size: (\d{1,15})K")
_ADDRESS_SPACE = re.compile(r"Virtual Size: (\d{1,15})K")
_GROUP_LIMIT = re.compile(r"memory_limit_in_bytes: (\d{1,18})( k)?")
_RLIMIT = re.compile(r"rlimit.{0,400}? AS (\d{1,15})k/")
_COMMAND = re.compile(r"Command Line: ([^\n]{0,2000})")
_HEAP_OPTION = re.compile(
    r"-Xm[sx]\S{1,30}|-XX:(?:MaxRAMPercentage|MaxHeapSize|MaxMetaspaceSize|MaxDirectMemorySize)=\S{1,30}"
)
_MOST_HS_ERR = 6_000
_END = "END."


def hs_err(log: Log, number: int) -> Explanation | NotMemory | None:
    """An hs_err file of a virtual machine that got no memory from the system."""
    failed, line_of_failure = None, number
    for each, line in log.lines(number, 3):
        if found := _FAILED.search(line):
            failed, line_of_failure = found, each
            break
    if failed is None:
        return None
    facts, last = _report(log, number)
    asked = Amount(phrase("requested"), int(failed[2]))
    conclusions = [
        phrase(
            "The system refused memory to the virtual machine ({purpose}). That isn't an OutOfMemoryError: "
            "the heap may have had room.",
            purpose=plain_name(failed[3].strip().rstrip(".") or failed[1]),
        )
    ]
    settings = [_NATIVE_SETTING]
    space, limit = facts.get("space"), facts.get("rlimit")
    if space is not None and limit is not None and space.bytes >= limit.bytes:
        conclusions.append(
            phrase(
                "Its address space, {space}, is beyond the limit of {limit}: the limit refused it, not the machine.",
                space=format_bytes(space.bytes),
                limit=format_bytes(limit.bytes),
            )
        )
        settings = [
            phrase("The limit is ulimit -v (RLIMIT_AS), which counts address space, not what is in memory.")
        ]
    if options := facts.options:
        conclusions.append(phrase("It was started with {options}.", options=plain_name(options)))
    return Explanation(
        title=phrase(
            "The Java virtual machine ended because it could not get {asked} from the system",
            asked=format_bytes(asked.bytes),
        ),
        first_line=number + 1,
        last_line=max(last, line_of_failure) + 1,
        ended_by="runtime",
        memory="outside",
        next_time=_OUTSIDE,
        amounts=[asked, *facts.amounts()],
        conclusions=conclusions,
        settings=settings,
    )


class _Facts(dict[str, Amount]):
    """What an hs_err file says of the machine and the heap; the first of each, which is that of the end."""

    options = ""

    def amounts(self) -> list[Amount]:
        return [self[name] for name in _FACTS if name in self]


_FACTS: dict[str, tuple[re.Pattern[str], Callable[[re.Match[str]], Amount | None]]] = {
    "heap_used": (_HEAP_LINE, lambda m: amount_of(phrase("used of the heap"), m[4], m[5])),
    "heap": (_HEAP_LINE, lambda m: amount_of(phrase("the heap as large as it was then"), m[2], m[3])),
    "resident": (_RESIDENT, lambda m: amount_of(phrase("resident memory of the process"), m[1], "K")),
    "space": (_ADDRESS_SPACE, lambda m: amount_of(phrase("address space of the process"), m[1], "K")),
    "rlimit": (_RLIMIT, lambda m: amount_of(phrase("limit of the address space"), m[1], "K")),
    "group": (_GROUP_LIMIT, lambda m: amount_of(phrase("limit of the container"), m[1], "K" if m[2] else "")),
    "physical": (_PHYSICAL, lambda m: amount_of(phrase("memory of the machine"), m[1], "K")),
    "free": (_PHYSICAL, lambda m: amount_of(phrase("free on the machine"), m[2], "K")),
}  # fmt: skip


def _report(log: Log, number: int) -> tuple[_Facts, int]:
    facts, last = _Facts(), number
    for each, line in log.lines(number, _MOST_HS_ERR):
        for name, (pattern, amount) in _FACTS.items():
            if name not in facts and (found := pattern.match(line)) and (size := amount(found)):
                facts[name] = size
                last = each
        if not facts.options and (command := _COMMAND.match(line)):
            facts.options = " ".join(_HEAP_OPTION.findall(command[1]))
        if line.startswith(_END):
            last = each
            break
    return facts, last


_CRASH = re.compile(r"#\s{1,4}(SIG\w{2,10}|EXCEPTION_\w{1,40}) \(0x")


def crash(log: Log, number: int) -> Explanation | NotMemory | None:
    """An hs_err file of another kind of end: a crash, or the one that -XX:+CrashOnOutOfMemoryError makes."""
    for each, line in log.lines(number, 6):
        if found := _CRASH.match(line):
            return NotMemory(
                title=phrase(
                    "The Java virtual machine crashed with {signal}, which isn't caused by a lack of memory",
                    signal=found[1],
                ),
                advice=phrase("The problematic frame, some lines below, says in whose code."),
                first_line=each + 1,
            )
        if "OutOfMemory encountered" in line:
            return None
    return None


_CATEGORY = re.compile(
    r"-\s{1,40}([A-Z][\w ]{1,40}) \(reserved=(\d{1,15})([KMG]?B)"
    r"(?: [+-]\d{1,15}[KMG]?B)?, committed=(\d{1,15})([KMG]?B)(?: ([+-]\d{1,15})([KMG]?B))?\)"
)
_TOTAL = re.compile(
    r"Total: reserved=(\d{1,15})([KMG]?B)(?: [+-]\d{1,15}[KMG]?B)?, committed=(\d{1,15})([KMG]?B)(?:"
    r" ([+-]\d{1,15})([KMG]?B))?"
)
_MOST_NMT = 1_500
_SHOWN = 4
_HEAP_CATEGORY = "Java Heap"
_OF_CATEGORIES = {
    "Class": phrase("Class, metadata of classes: -XX:MaxMetaspaceSize."),
    "Metaspace": phrase("Metaspace, metadata of classes: -XX:MaxMetaspaceSize."),
    "Thread": phrase("Thread, stacks of threads: fewer threads, or -Xss."),
    "Code": phrase("Code, compiled methods: -XX:ReservedCodeCacheSize."),
    "Other": phrase("Other, mostly direct buffers: -XX:MaxDirectMemorySize."),
    "Internal": phrase("Internal; before Java 11 it has direct buffers: -XX:MaxDirectMemorySize."),
    "GC": phrase("GC, the collector's own tables, which grow with -Xmx; -XX:+UseSerialGC has the smallest."),
}


def native_memory(log: Log, number: int) -> Explanation | None:
    """The summary of Native Memory Tracking, or its difference from a baseline."""
    unit, total, committed, grown, last = 0, None, dict[str, int](), dict[str, int](), number
    for each, line in log.lines(number, _MOST_NMT):
        if found := _TOTAL.match(line):
            if total is not None:
                break
            sizes = bytes_of(found[3], found[4])
            total, last = None if sizes is None else sizes[0], each
            unit = (bytes_of("1", found[4]) or (0, 0))[0]
            if total is None:
                return None
            _add_grown(grown, "", found[5], found[6])
        elif found := _CATEGORY.match(line):
            sizes = bytes_of(found[4], found[5])
            if sizes is not None:
                committed[found[1]] = sizes[0]
            _add_grown(grown, found[1], found[6], found[7])
            last = each
        elif total is not None and line[:1] not in ("", " ", "-", "\t", "("):
            break
    if total is None or _HEAP_CATEGORY not in committed:
        return None
    heap = committed[_HEAP_CATEGORY]
    outside = max(total - heap, 0)
    largest = sorted(
        ((name, size) for name, size in committed.items() if name != _HEAP_CATEGORY),
        key=lambda each: -each[1],
    )[:_SHOWN]
    conclusions = [
        phrase(
            "Of what the virtual machine has committed, {share} is the heap. The largest of the rest: {listed}.",
            share=format_share(heap, total),
            listed=in_a_row(
                [phrase("{name} {size}", name=name, size=format_bytes(size)) for name, size in largest], ", "
            ),
        ),
        phrase(
            "Committed isn't resident, and what native libraries allocate isn't counted: if the process "
            "is much larger, look there, and at its smaps."
        ),
    ]
    growth = sorted(
        ((name, size) for name, size in grown.items() if name and size > 0), key=lambda each: -each[1]
    )
    if growth:
        conclusions.append(
            phrase(
                "Since the baseline {listed}.",
                listed=in_a_row(
                    [
                        phrase("{name} grew by {size}", name=name, size=format_bytes(size))
                        for name, size in growth[:_SHOWN]
                    ],
                    ", ",
                ),
            )
        )
    return Explanation(
        title=phrase(
            "A Java virtual machine has committed {total}: {heap} of heap, {outside} outside of it",
            total=format_bytes(total),
            heap=format_bytes(heap),
            outside=format_bytes(outside),
        ),
        first_line=number + 1,
        last_line=last + 1,
        ended_by="nobody",
        memory="outside" if outside > heap else "heap",
        next_time=_OUTSIDE if outside > heap else [],
        amounts=[
            Amount(phrase("committed"), total, unit),
            Amount(phrase("of it the heap"), heap, unit),
            Amount(phrase("of it outside of the heap"), outside, unit),
        ],
        conclusions=conclusions,
        settings=[_OF_CATEGORIES[name] for name, _ in largest[:2] if name in _OF_CATEGORIES],
    )


def _add_grown(grown: dict[str, int], name: str, number: str | None, unit: str | None) -> None:
    if number is None or unit is None:
        return
    sizes = bytes_of(number[1:], unit)
    if sizes is not None:
        grown[name] = -sizes[0] if number[0] == "-" else sizes[0]


def no_stack(log: Log, number: int) -> NotMemory | None:
    """A stack that was too deep."""
    if "java.lang.StackOverflowError" not in log.line(number):
        return None
    return NotMemory(
        title=phrase(
            "A StackOverflowError means that calls are nested too deeply; it has nothing to do with the heap"
        ),
        advice=phrase("The repeated frames in its stack are the recursion; -Xss is the size of a stack."),
        first_line=number + 1,
    )
