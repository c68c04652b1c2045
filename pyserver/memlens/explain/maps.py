"""Where a process's memory is, by the kernel's files: ``/proc/PID/smaps``, ``smaps_rollup`` and ``status``.

Source: ``Documentation/filesystems/proc.rst`` of Linux.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from memlens.explain.answers import Amount, Explanation
from memlens.explain.text import Log
from memlens.texts import Text, in_a_row, phrase
from memlens.units import format_bytes, plain_name

_HEADER = re.compile(
    r"[0-9a-f]{1,16}-[0-9a-f]{1,16} [rwxsp-]{4} [0-9a-f]{1,16} [0-9a-f]{2,8}:[0-9a-f]{2,8} \d{1,20} *(.*)"
)
_SIZE = re.compile(r"(\w{1,40}):\s{1,40}(\d{1,15}) kB")
_OTHER_KEYS = ("VmFlags:", "THPeligible:", "ProtectionKey:", "FilePmdMapped:")
_SHOWN = 5
_ROLLUP = "[rollup]"

_KINDS = {
    "heap": phrase("[heap]"),
    "anonymous": phrase("anonymous mappings"),
    "stack": phrase("the main thread's stack"),
    "shared": phrase("shared memory"),
    "device": phrase("devices"),
    "file": phrase("files"),
    "kernel": phrase("the kernel's pages"),
}


class _Mapping(NamedTuple):
    name: str
    rss: int


def kind_of(name: str) -> str:
    """What a mapping is, by its name in the kernel's list."""
    if not name or name.startswith("[anon"):
        return "anonymous"
    if name == "[heap]":
        return "heap"
    if name.startswith("[stack"):
        return "stack"
    if name.startswith("["):
        return "kernel"
    if name.startswith(("/dev/shm/", "/memfd:", "/SYSV", "/dev/zero")):  # noqa: S108 - a name in the text
        return "shared"
    return "device" if name.startswith("/dev/") else "file"


def _sizes(log: Log, first: int) -> Iterator[tuple[int, str, dict[str, int]]]:
    """The mappings from a line on: the last line of each, its name, and its sizes in bytes."""
    name, sizes, last = None, dict[str, int](), first
    for number, line in log.lines(first, len(log)):
        if header := _HEADER.match(line):
            if name is not None:
                yield last, name, sizes
            name, sizes = header[1].strip(), {}
        elif size := _SIZE.match(line):
            sizes[size[1]] = int(size[2]) << 10
        elif not line.startswith(_OTHER_KEYS):
            break
        last = number
    if name is not None:
        yield last, name, sizes


def _first_header(log: Log, number: int) -> int | None:
    return next((each for each, line in log.before(number + 1, 4) if _HEADER.match(line)), None)


def mappings(log: Log, number: int) -> Explanation | None:
    """All mappings of a process, from ``smaps``."""
    first = _first_header(log, number)
    if first is None or _ROLLUP in log.line(first):
        return None
    totals, of_kinds, last = Counter[str](), Counter[str](), first
    listed: list[_Mapping] = []
    for last, name, sizes in _sizes(log, first):  # noqa: B007 - the last one's line
        rss = sizes.get("Rss", 0)
        totals.update(sizes)
        of_kinds[kind_of(name)] += rss
        listed.append(_Mapping(name, rss))
    rss = totals["Rss"]
    amounts = _totals(totals)
    amounts += [Amount(_KINDS[kind], size) for kind, size in of_kinds.most_common() if size]
    largest = [each for each in sorted(listed, key=lambda each: -each.rss)[:_SHOWN] if each.rss]
    conclusions = [
        phrase(
            "The largest of {count} mappings: {listed}.",
            count=len(listed),
            listed=in_a_row(
                [
                    phrase(
                        "{name} {size}",
                        name=plain_name(each.name) if each.name else phrase("anonymous"),
                        size=format_bytes(each.rss),
                    )
                    for each in largest
                ],
                ", ",
            ),
        )
    ]
    conclusions.append(
        phrase(
            "[heap] is what malloc takes by brk. Anonymous mappings are its large blocks and other "
            "arenas, the heaps of runtimes, and stacks of threads."
        )
    )
    conclusions += _shared_or_files(of_kinds["shared"], of_kinds["file"], rss)
    return Explanation(
        title=phrase(
            "The mappings of a process have {size} resident, {heap} of it in its [heap] and {other} in "
            "anonymous mappings",
            size=format_bytes(rss),
            heap=format_bytes(of_kinds["heap"]),
            other=format_bytes(of_kinds["anonymous"]),
        ),
        first_line=first + 1,
        last_line=last + 1,
        ended_by="nobody",
        memory="process",
        amounts=amounts,
        conclusions=conclusions,
    )


def _totals(sizes: Counter[str] | dict[str, int]) -> list[Amount]:
    labels = (
        ("Rss", phrase("resident")),
        ("Pss", phrase("its share, shared pages divided")),
        ("Anonymous", phrase("of it anonymous pages")),
        ("Swap", phrase("in swap")),
    )
    return [Amount(label, sizes[key]) for key, label in labels if key in sizes]


def _shared_or_files(shared: int, files: int, resident: int) -> list[Text]:
    found = []
    if 2 * shared > resident:
        found.append(
            phrase(
                "Most of it is shared memory, which counts against a container's limit and which a heap dump doesn't "
                "have."
            )
        )
    if 2 * files > resident:
        found.append(
            phrase(
                "Most of it is pages of files: the kernel takes those that weren't written to back before it kills."
            )
        )
    return found


def rollup(log: Log, number: int) -> Explanation | None:
    """The sums of a process's mappings, from ``smaps_rollup``."""
    if not _HEADER.match(log.line(number)):
        return None
    last, sizes = number, dict[str, int]()
    for last, _, sizes in _sizes(log, number):  # noqa: B007 - there is one
        break
    if "Rss" not in sizes:
        return None
    amounts = _totals(sizes)
    labels = (
        ("Pss_Anon", phrase("its share that is anonymous")),
        ("Pss_File", phrase("its share of files")),
        ("Pss_Shmem", phrase("its share of shared memory")),
    )
    amounts += [Amount(label, sizes[key]) for key, label in labels if key in sizes]
    return Explanation(
        title=phrase(
            "A process has {size} resident, {anonymous} of it anonymous",
            size=format_bytes(sizes["Rss"]),
            anonymous=format_bytes(sizes.get("Anonymous", 0)),
        ),
        first_line=number + 1,
        last_line=last + 1,
        ended_by="nobody",
        memory="process",
        amounts=amounts,
        conclusions=_shared_or_files(
            sizes.get("Pss_Shmem", 0), sizes.get("Pss_File", 0), sizes.get("Pss", 0)
        ),
        settings=[phrase("smaps of the same folder has each mapping by itself, with its name.")],
    )


_MOST_STATUS = 100
_MANY_THREADS = 100
_STATUS = re.compile(r"(\w{1,40}):\s{0,40}(.{0,200})")
_KB = re.compile(r"(\d{1,15}) kB")


def status(log: Log, number: int) -> Explanation | None:
    """A process's sizes and peaks, from ``status``."""
    found: dict[str, str] = {}
    first = last = number
    for each, line in log.before(number, _MOST_STATUS):
        key = _STATUS.match(line)
        if key is None:
            break
        first = each
        found[key[1]] = key[2].strip()
        if key[1] == "Name":
            break
    for each, line in log.lines(number, _MOST_STATUS):
        key = _STATUS.match(line)
        if key is None or key[1] in ("Name", *(found if each > number else ())):
            break
        last = each
        found[key[1]] = key[2].strip()
    sizes = {name: int(size[1]) << 10 for name, text in found.items() if (size := _KB.fullmatch(text))}
    if "VmRSS" not in sizes or "Pid" not in found:
        return None
    labels = (
        ("VmRSS", phrase("resident")),
        ("RssAnon", phrase("of it anonymous: heaps, stacks")),
        ("RssFile", phrase("of it files: code, libraries, mapped files")),
        ("RssShmem", phrase("of it shared memory")),
        ("VmHWM", phrase("resident at its peak")),
        ("VmSwap", phrase("in swap")),
        ("VmSize", phrase("address space")),
    )
    name, threads = found.get("Name", ""), found.get("Threads", "")
    shown = phrase("{name} (process {pid})", name=plain_name(name), pid=plain_name(found["Pid"]))
    conclusions = _shared_or_files(sizes.get("RssShmem", 0), sizes.get("RssFile", 0), sizes["VmRSS"])
    if threads.isdecimal() and len(threads) < 10 and int(threads) >= _MANY_THREADS:
        conclusions.append(
            phrase("It has {count} threads, each with a stack of its own.", count=int(threads))
        )
    return Explanation(
        title=phrase(
            "{program} has {size} resident, at most {peak} so far",
            program=shown,
            size=format_bytes(sizes["VmRSS"]),
            peak=format_bytes(sizes.get("VmHWM", sizes["VmRSS"])),
        ),
        first_line=first + 1,
        last_line=last + 1,
        ended_by="nobody",
        memory="process",
        amounts=[Amount(label, sizes[key]) for key, label in labels if key in sizes],
        conclusions=conclusions,
        program=name,
    )
