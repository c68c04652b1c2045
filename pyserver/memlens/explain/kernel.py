"""Lines of the kernel's out-of-memory killer, of dmesg or a journal.

Sources: ``mm/oom_kill.c`` and ``mm/memcontrol.c`` of Linux, from 3.10 to 6.18.
"""

import re
from typing import NamedTuple

from memlens.explain.answers import Amount, Explanation
from memlens.explain.groups import limit_of_group
from memlens.explain.text import Log, unstamped
from memlens.texts import Text, in_a_row, phrase
from memlens.units import format_bytes, plain_name

_MOST_BEFORE = 5_000
"""Lines that are looked at before the one that names the killed process: the table has one for each process."""
_SHOWN_PROCESSES = 5
_KILLED = re.compile(r"Killed process (\d{1,10})(?:, UID \d{1,10},)? \(([^)\n]{1,64})\)")
_SIZE = re.compile(r"(total-vm|anon-rss|file-rss|shmem-rss):(\d{1,15})kB")
_CONSTRAINT = re.compile(r"oom-kill:constraint=(\w{1,40}),")
_GROUP = re.compile(r"oom_memcg=([^,\n]{1,1000}),")
_OLD_GROUP = re.compile(r"killed as a result of limit of (\S{1,1000})")
_USAGE = re.compile(r"memory: usage (\d{1,15})kB, limit (\d{1,15})kB")
_STATISTIC = re.compile(r"(\w{1,40}) (\d{1,20})")
_TOTAL_SWAP = re.compile(r"Total swap = (\d{1,15})kB")
_RAM = re.compile(r"(\d{1,15}) pages RAM")
_ROW = re.compile(r"\[ *(\d{1,10})\] ")
_PAGE_KIB = (4, 16, 64)
"""Sizes of pages that Linux has; the table counts in pages."""
_NEAR = 0.1
_UNLIMITED_KIB = 1 << 50


class _Process(NamedTuple):
    """A row of the table of tasks."""

    pid: int
    name: str
    pages: int


class _Event:
    """What the lines before the killed process say, which are read backwards up to the beginning of the event."""

    def __init__(self, log: Log, killed: int) -> None:
        self.first = killed
        self.constraint = self.group = ""
        self.is_of_group = False
        self.usage_kib: int | None = None
        self.limit_kib: int | None = None
        self.swap_kib: int | None = None
        self.ram_pages: int | None = None
        self.statistics: dict[str, int] = {}
        self.processes: list[_Process] = []
        self.columns: list[str] = []
        rows: list[str] = []
        statistics: dict[str, int] = {}
        for number, raw in log.before(killed, _MOST_BEFORE):
            line = unstamped(raw)
            if "Killed process " in line:
                break
            if self._has(line):
                self.first = number
            if row := _ROW.match(line):
                rows.append(line[row.end() :] if not row[1].isdigit() else f"{row[1]} {line[row.end() :]}")
            elif "[ pid ]" in line or "[  pid  ]" in line:
                self.columns = ["pid", *line.rpartition("]")[2].split()]
                self.first = number
            elif "Memory cgroup stats for" in line:
                self.statistics = self.statistics or statistics
                self.first = number
            elif statistic := _STATISTIC.fullmatch(line.strip()):
                statistics.setdefault(statistic[1], int(statistic[2]))
            if "invoked oom-killer" in line:
                break
        self.processes = [each for row in rows if (each := self._process(row)) is not None]

    def _has(self, line: str) -> bool:
        """Take what a line says; whether it is the killer's."""
        before = (self.constraint, self.group, self.usage_kib, self.swap_kib, self.ram_pages)
        if found := _CONSTRAINT.search(line):
            self.constraint = found[1]
        if found := _GROUP.search(line) or _OLD_GROUP.search(line):
            self.group = self.group or found[1]
        if found := _USAGE.search(line):
            self.usage_kib, self.limit_kib = int(found[1]), int(found[2])
        if found := _TOTAL_SWAP.search(line):
            self.swap_kib = int(found[1])
        if found := _RAM.search(line):
            self.ram_pages = int(found[1])
        if "Memory cgroup out of memory" in line:
            self.is_of_group = True
            return True
        after = (self.constraint, self.group, self.usage_kib, self.swap_kib, self.ram_pages)
        return after != before or "oom-killer" in line or "Kill process " in line

    def _process(self, row: str) -> _Process | None:
        if "rss" not in self.columns or not self.columns or self.columns[-1] != "name":
            return None
        cells = row.split(maxsplit=len(self.columns) - 1)
        if len(cells) != len(self.columns):
            return None
        pid, pages = cells[0], cells[self.columns.index("rss")]
        if not (pid.isdecimal() and pages.isdecimal()):
            return None
        return _Process(int(pid), cells[-1].strip(), int(pages))


def killed_by_kernel(log: Log, number: int) -> Explanation | None:
    """A process that the kernel killed, for the limit of a control group or because the machine had no more."""
    line = unstamped(log.line(number))
    killed = _KILLED.search(line)
    if killed is None:
        return None
    pid, name = int(killed[1]), killed[2]
    sizes = {each[1]: int(each[2]) << 10 for each in _SIZE.finditer(line)}
    event = _Event(log, number)
    of_group = event.constraint == "CONSTRAINT_MEMCG" or (
        not event.constraint
        and ("Memory cgroup out of memory" in line or event.is_of_group or bool(event.group))
    )
    program = phrase("{name} (process {pid})", name=plain_name(name), pid=str(pid))
    amounts = _amounts(sizes, event)
    limit = next((each.bytes for each in amounts if each.label == _LIMIT), None)
    if of_group:
        title = (
            phrase(
                "The kernel killed {program}, because its control group reached its limit", program=program
            )
            if limit is None
            else phrase(
                "The kernel killed {program}, because its control group reached its limit of {limit}",
                program=program,
                limit=format_bytes(limit),
            )
        )
        settings = [limit_of_group(event.group)]
    elif event.constraint in ("CONSTRAINT_CPUSET", "CONSTRAINT_MEMORY_POLICY"):
        title = phrase(
            "The kernel killed {program}, because the memory nodes that it may use were full", program=program
        )
        settings = [
            phrase("A cpuset or a NUMA policy (numactl --membind) leaves only some of the machine's memory.")
        ]
    elif event.constraint == "CONSTRAINT_NONE" or "Out of memory" in line:
        title = phrase("The kernel killed {program}, because the machine had no memory left", program=program)
        settings = [
            phrase(
                "No limit did it: all processes together had too much. A limit for one of them (a container's, or "
                "MemoryMax= of its unit) keeps the others alive."
            )
        ]
    else:
        title = phrase("The kernel killed {program}, because it ran out of memory", program=program)
        settings = []
    return Explanation(
        title=title,
        first_line=event.first + 1,
        last_line=number + 1,
        ended_by="kernel",
        memory="process",
        amounts=amounts,
        conclusions=[*_of_group(sizes, event, limit), *_others(pid, sizes, event, of_group=of_group)],
        settings=settings,
        program=name,
    )


_RESIDENT = phrase("resident memory of the process")
_ANONYMOUS = phrase("of it anonymous: heaps, stacks")
_FILES = phrase("of it files: code, libraries, mapped files")
_SHARED = phrase("of it shared memory")
_LIMIT = phrase("limit of the control group")


def _amounts(sizes: dict[str, int], event: _Event) -> list[Amount]:
    amounts = []
    parts = [sizes[key] for key in ("anon-rss", "file-rss", "shmem-rss") if key in sizes]
    if parts:
        amounts.append(Amount(_RESIDENT, sum(parts)))
    for key, label in (("anon-rss", _ANONYMOUS), ("file-rss", _FILES), ("shmem-rss", _SHARED)):
        if key in sizes:
            amounts.append(Amount(label, sizes[key]))
    if "total-vm" in sizes:
        amounts.append(Amount(phrase("address space of the process"), sizes["total-vm"]))
    if event.limit_kib is not None and event.usage_kib is not None:
        if event.limit_kib < _UNLIMITED_KIB:
            amounts.append(Amount(_LIMIT, event.limit_kib << 10))
        amounts.append(Amount(phrase("used by the control group"), event.usage_kib << 10))
    return amounts


def _of_group(sizes: dict[str, int], event: _Event, limit: int | None) -> list[Text]:
    """What the control group's memory was."""
    if event.usage_kib is None or limit is None:
        return []
    used = event.usage_kib << 10

    def most(*names: str) -> str | None:
        """A size of the statistics if it is more than half of the group's memory."""
        size = next((event.statistics[name] for name in names if name in event.statistics), 0)
        return format_bytes(size) if 2 * size > used else None

    found = []
    if size := most("total_rss", "anon"):
        found.append(
            phrase("{size} of the group's memory is anonymous: heaps and stacks of its processes.", size=size)
        )
    if size := most("total_shmem", "shmem"):
        found.append(
            phrase(
                "{size} of the group's memory is shared memory: files in /dev/shm and in memory file systems, which "
                "stay until they are deleted.",
                size=size,
            )
        )
    if size := most("kernel", "slab"):
        found.append(phrase("{size} of the group's memory is the kernel's, for its processes.", size=size))
    own = sizes.get("anon-rss", 0) + sizes.get("shmem-rss", 0)
    if 2 * own < used and sizes:
        found.append(
            phrase(
                "The killed process itself had only {own} of the group's {used}; the rest is other "
                "processes', page cache, shared memory, or the kernel's.",
                own=format_bytes(own),
                used=format_bytes(used),
            )
        )
    return found


def _others(pid: int, sizes: dict[str, int], event: _Event, *, of_group: bool) -> list[Text]:
    """The largest processes, if the table's unit is known; and whom the kernel chooses."""
    if not of_group and len(event.processes) > 1:
        found = [
            phrase(
                "The kernel kills the process with the highest score, which is usually the largest one: that another "
                "process grew is possible."
            )
        ]
    else:
        found = []
    resident = sum(sizes.get(key, 0) for key in ("anon-rss", "file-rss", "shmem-rss")) >> 10
    pages = next((each.pages for each in event.processes if each.pid == pid), 0)
    page_kib = next(
        (size for size in _PAGE_KIB if pages and abs(pages * size - resident) <= _NEAR * resident), None
    )
    if page_kib is None or len(event.processes) < 2:
        return found
    largest = sorted(event.processes, key=lambda each: -each.pages)[:_SHOWN_PROCESSES]
    listed = in_a_row(
        [
            phrase(
                "{name} (process {pid}) {size}",
                name=plain_name(each.name),
                pid=str(each.pid),
                size=format_bytes(each.pages * page_kib << 10),
            )
            for each in largest
        ],
        ", ",
    )
    total = sum(each.pages for each in event.processes) * page_kib << 10
    if event.ram_pages is not None and not of_group:
        found.append(phrase("The machine has {ram}.", ram=format_bytes(event.ram_pages * page_kib << 10)))
    if event.swap_kib == 0 and not of_group:
        found.append(phrase("It has no swap."))
    found.append(
        phrase(
            "Resident in {count} processes {total}, shared pages counted in each; the largest: {listed}.",
            count=len(event.processes),
            total=format_bytes(total),
            listed=listed,
        )
    )
    return found


_PRESSURE = re.compile(r"systemd-oomd\[\d{1,10}\]: Killed (\S{1,1000}) due to (memory [^\n]{1,300})")


def killed_by_oomd(log: Log, number: int) -> Explanation | None:
    """A unit that systemd-oomd killed before the kernel had to. Source: ``oomd-manager.c`` of systemd."""
    killed = _PRESSURE.search(log.line(number))
    if killed is None:
        return None
    unit = plain_name(killed[1].rpartition("/")[2])
    return Explanation(
        title=phrase("systemd-oomd killed all processes of {unit}", unit=unit),
        first_line=number + 1,
        last_line=number + 1,
        ended_by="manager",
        memory="process",
        conclusions=[phrase("Its reason: {reason}.", reason=plain_name(killed[2].strip().rstrip(".")))],
        settings=[
            phrase(
                "ManagedOOMMemoryPressure=, ManagedOOMMemoryPressureLimit= and ManagedOOMSwap= of the unit or of one "
                "above it; `oomctl` lists them."
            )
        ],
    )
