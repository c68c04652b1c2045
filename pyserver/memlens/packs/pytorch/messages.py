"""PyTorch's errors when a device's memory, or the machine's, runs out.

Sources: ``c10/cuda/CUDACachingAllocator.cpp`` of PyTorch 1.0 to 2.9 (CUDA, and ROCm as HIP), ``c10/xpu``'s and MPS's
allocators, ``c10/core/impl/alloc_cpu.cpp``. Sizes in them are rounded to two decimals.
"""

import re

from memlens.explain.answers import Amount, Explanation, NotMemory
from memlens.explain.text import Log, amount_of
from memlens.texts import Text, phrase
from memlens.units import format_bytes, plain_name

_SIZE = r"([\d.]{1,20}) (bytes|[KMGT]iB)"
_ASKED = re.compile(rf"(\w{{2,8}}) out of memory\. Tried to allocate {_SIZE}")
_DEVICE = re.compile(r"GPU (\d{1,4})[ ;]")
_MOST_LINES = 4
"""Lines over which a log may have wrapped the message."""

_ENDS = ("is reserved by PyTorch but unallocated", "reserved in total by PyTorch", "cached)")
"""What a whole message has."""

_PATTERNS = {
    "total": re.compile(rf"{_SIZE} total capacity|total capac(?:i)?ty of {_SIZE}"),
    "free": re.compile(rf"of which {_SIZE} is free|already allocated; {_SIZE} free"),
    "process": re.compile(rf"this process has {_SIZE} memory in use"),
    "allocated": re.compile(rf"{_SIZE} is allocated by PyTorch|{_SIZE} already allocated"),
    "unallocated": re.compile(rf"{_SIZE} is reserved by PyTorch but unallocated"),
    "reserved": re.compile(rf"{_SIZE} reserved in total by PyTorch|{_SIZE} cached"),
    "allowed": re.compile(rf"{_SIZE} allowed"),
    "pools": re.compile(rf"with {_SIZE} allocated in private pools"),
}
_OTHER = re.compile(rf"Process \d{{1,10}} has {_SIZE} memory in use")
_LABELS = {
    "asked": phrase("requested"),
    "total": phrase("memory of the device"),
    "free": phrase("free on the device"),
    "allowed": phrase("allowed for this process"),
    "process": phrase("this process in all"),
    "allocated": phrase("of it allocated by PyTorch"),
    "pools": phrase("of that in private pools, as of CUDA graphs"),
    "unallocated": phrase("reserved by PyTorch, but not allocated"),
    "outside": phrase("of this process, but not PyTorch's allocator's"),
    "others": phrase("in use by other processes"),
}


def out_of_memory(log: Log, number: int) -> Explanation | NotMemory | None:
    """Explain a request that a GPU's caching allocator couldn't serve."""
    text = log.line(number)
    if "Tried to allocate" not in text and "out of memory" in text:
        return _error_of_driver(text, number)
    last = number
    for each, line in log.lines(number + 1, _MOST_LINES - 1):
        if any(end in text for end in _ENDS):
            break
        text, last = f"{text} {line.strip()}", each
    asked = _ASKED.search(text)
    if asked is None or asked[1] == "backend":
        return None
    text = text[asked.start() :]
    sizes = _sizes(text, asked)
    if "allocated" not in sizes or "asked" not in sizes:
        return None
    device = _DEVICE.search(text)
    size = format_bytes(sizes["asked"].bytes)
    title = (
        phrase(
            "PyTorch could not allocate {asked} on a GPU ({backend} out of memory)",
            asked=size,
            backend=asked[1],
        )
        if device is None
        else phrase(
            "PyTorch could not allocate {asked} on GPU {device} ({backend} out of memory)",
            asked=size,
            device=device[1],
            backend=asked[1],
        )
    )
    conclusions, settings = _judged(sizes)
    return Explanation(
        title=title,
        first_line=number + 1,
        last_line=last + 1,
        ended_by="runtime",
        memory="device",
        amounts=[sizes[name] for name in _LABELS if name in sizes],
        conclusions=conclusions,
        settings=settings,
    )


def _sizes(text: str, asked: re.Match[str]) -> dict[str, Amount]:
    """Return the sizes in the message, and those that follow from them."""
    found: dict[str, Amount] = {}
    matches = {"asked": (asked[2], asked[3])}
    for name, pattern in _PATTERNS.items():
        if match := pattern.search(text):
            number, unit = [each for each in match.groups() if each is not None][:2]
            matches[name] = (number, unit)
    for name, (number, unit) in matches.items():
        if amount := amount_of(_LABELS.get(name, _LABELS["unallocated"]), number, unit):
            found[name] = amount
    others = [amount_of(_LABELS["others"], each[1], each[2]) for each in _OTHER.finditer(text)]
    known = _without_itself([each for each in others if each is not None], found)
    if known:
        found["others"] = Amount(
            _LABELS["others"], sum(each.bytes for each in known), sum(each.error_bytes for each in known)
        )
    if "reserved" in found and "allocated" in found and "unallocated" not in found:
        found["unallocated"] = _less("unallocated", found["reserved"], found["allocated"])
    if {"process", "allocated", "unallocated"} <= found.keys():
        rest = _less("outside", found["process"], found["allocated"], found["unallocated"])
        if rest.bytes > rest.error_bytes:
            found["outside"] = rest
    return found


def _without_itself(listed: list[Amount], found: dict[str, Amount]) -> list[Amount]:
    """The other processes among those that are listed.

    In a container this process has another number than the driver's, and is listed as if it were another: then all of
    them and this one would have more than is in use.
    """
    if "process" in found or not {"total", "free", "allocated"} <= found.keys():
        return listed
    own = _sum(found["allocated"], *([found["unallocated"]] if "unallocated" in found else []))
    in_use = _less("others", found["total"], found["free"])
    if not listed or not _is_less(in_use, _sum(own, *listed)):
        return listed
    itself = min(
        (each for each in listed if not _is_less(each, own)), key=lambda each: each.bytes, default=None
    )
    return [each for each in listed if each is not itself]


def _less(name: str, whole: Amount, *parts: Amount) -> Amount:
    return Amount(
        _LABELS[name],
        max(whole.bytes - sum(part.bytes for part in parts), 0),
        whole.error_bytes + sum(part.error_bytes for part in parts),
    )


def _is_less(smaller: Amount, larger: Amount) -> bool:
    """Whether a size is less than another, however both were rounded."""
    return smaller.bytes + smaller.error_bytes < larger.bytes - larger.error_bytes


def _judged(sizes: dict[str, Amount]) -> tuple[list[Text], list[Text]]:
    """Return what the sizes show, and the settings that would change it."""
    asked, free, total = sizes["asked"], sizes.get("free"), sizes.get("total")
    unallocated, others, allowed = sizes.get("unallocated"), sizes.get("others"), sizes.get("allowed")
    conclusions, settings = list[Text](), list[Text]()
    if total is not None and _is_less(total, asked):
        conclusions.append(
            phrase(
                "The request alone is more than the whole device has: usually a shape isn't the intended one."
            )
        )
    elif unallocated is not None and not _is_less(unallocated, asked):
        conclusions.append(
            phrase(
                "PyTorch held {size} without allocations in it, at least as much as was requested, but not "
                "in one piece that this request could use: between live allocations (fragmentation), or kept "
                "for other streams or private pools.",
                size=format_bytes(unallocated.bytes),
            )
        )
        settings.append(
            phrase(
                "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets free pieces grow together (named "
                "PYTORCH_ALLOC_CONF since PyTorch 2.9)."
            )
        )
    elif unallocated is not None and free is not None and _is_less(_sum(unallocated, free), asked):
        conclusions.append(
            phrase(
                "Free memory of the device and what PyTorch held without allocations were less than the request, even "
                "together: no setting of the allocator would have been enough alone. Less has to be live, or the "
                "request smaller."
            )
        )
    if allowed is not None and free is not None and not _is_less(free, asked):
        conclusions.append(
            phrase(
                "The device had {free} free: the limit of this process refused the request.",
                free=format_bytes(free.bytes),
            )
        )
        settings.append(
            phrase("The limit is torch.cuda.set_per_process_memory_fraction, which the program has called.")
        )
    if others is not None and others.bytes:
        conclusions.append(
            phrase("Other processes use {size} of the same device.", size=format_bytes(others.bytes))
        )
        settings.append(
            phrase(
                "`nvidia-smi` or `rocm-smi` lists the processes on the device; CUDA_VISIBLE_DEVICES chooses another."
            )
        )
    conclusions.append(
        phrase("The machine's memory and the kernel's out-of-memory killer have nothing to do with it.")
    )
    if not settings:
        settings.append(
            phrase(
                "No setting stands out. A smaller batch, or less that is live at the same time, is what helps."
            )
        )
    return conclusions, settings


def _sum(*parts: Amount) -> Amount:
    return Amount(
        phrase("together"), sum(part.bytes for part in parts), sum(part.error_bytes for part in parts)
    )


_DRIVER = re.compile(r"(CUDA|HIP|XPU) error: out of memory|cudaErrorMemoryAllocation")


def _error_of_driver(text: str, number: int) -> Explanation | None:
    """Explain an allocation outside of PyTorch's allocator that the driver refused."""
    if _DRIVER.search(text) is None:
        return None
    return Explanation(
        title=phrase("The driver refused memory of the GPU; the text doesn't say how much"),
        first_line=number + 1,
        last_line=number + 1,
        ended_by="runtime",
        memory="device",
        conclusions=[
            phrase(
                "This error is the driver's, not that of PyTorch's allocator: the request came from "
                "elsewhere, as when a "
                "process first uses the GPU, or from a library. PyTorch's own sizes aren't in it."
            )
        ],
        settings=[phrase("`nvidia-smi` says how much is free, and which processes have the rest.")],
    )


_CPU = re.compile(
    r"DefaultCPUAllocator: (?:can't allocate memory|not enough memory): you tried to allocate (\d{1,18}) bytes"
)


def cpu_allocator(log: Log, number: int) -> Explanation | None:
    """Explain that the system gave no memory for a tensor on the CPU."""
    found = _CPU.search(log.line(number))
    if found is None:
        return None
    asked = int(found[1])
    return Explanation(
        title=phrase(
            "PyTorch could not allocate {asked} of the machine's memory for a tensor on the CPU",
            asked=format_bytes(asked),
        ),
        first_line=number + 1,
        last_line=number + 1,
        ended_by="runtime",
        memory="outside",
        amounts=[Amount(_LABELS["asked"], asked)],
        conclusions=[
            phrase(
                "The system refused the address space: the kernel's killer comes only when memory is written to."
            )
        ],
        settings=[
            phrase(
                "The limits are those of the process (ulimit -v), or the machine's where "
                "vm.overcommit_memory is 2. A size "
                "far beyond the machine's memory usually comes from a wrong shape."
            )
        ],
    )


_MPS = re.compile(
    rf"MPS backend out of memory \(MPS allocated: {_SIZE}, other allocations: {_SIZE}, max allowed: {_SIZE}\)\. "
    rf"Tried to allocate {_SIZE} on (\w{{1,20}}) pool"
)


def mps(log: Log, number: int) -> Explanation | None:
    """Explain a failed request on an Apple GPU, which shares the machine's memory."""
    found = _MPS.search(log.line(number))
    if found is None:
        return None
    labels = (
        phrase("allocated by PyTorch"), phrase("other allocations of the process"), phrase("allowed for this process"),
        _LABELS["asked"],
    )  # fmt: skip
    amounts = [amount_of(label, found[2 * row + 1], found[2 * row + 2]) for row, label in enumerate(labels)]
    asked = amounts[3]
    return Explanation(
        title=phrase(
            "PyTorch could not allocate {asked} in the {pool} pool of MPS",
            asked=format_bytes(asked.bytes) if asked else "?",
            pool=plain_name(found[9]),
        ),
        first_line=number + 1,
        last_line=number + 1,
        ended_by="runtime",
        memory="device",
        amounts=[each for each in amounts if each is not None],
        conclusions=[
            phrase("The limit is a share of the machine's memory, which the GPU and the CPU have in common.")
        ],
        settings=[
            phrase(
                "PYTORCH_MPS_HIGH_WATERMARK_RATIO is that share of what Metal recommends; beyond 1.0 the system begins "
                "to swap or ends the program."
            )
        ],
    )


_WORKER = re.compile(
    r"DataLoader worker \(pid(?:\(s\))? ([\d, ]{1,200})\) (?:is killed by signal:"
    r" (Killed|Bus error)|exited unexpectedly)"
)


def worker(log: Log, number: int) -> Explanation | NotMemory | None:
    """Explain that a signal ended a worker of a DataLoader."""
    line = log.line(number)
    found = _WORKER.search(line)
    is_shared = "insufficient shared memory (shm)" in line or (found is not None and found[2] == "Bus error")
    if found is None and not is_shared:
        return None
    if is_shared:
        return Explanation(
            title=phrase("A worker of PyTorch's DataLoader found no room in shared memory"),
            first_line=number + 1,
            last_line=number + 1,
            ended_by="runtime",
            memory="outside",
            conclusions=[
                phrase(
                    "Workers pass tensors through /dev/shm, which in a container is 64 MB unless it is set otherwise."
                )
            ],
            settings=[
                phrase(
                    "--shm-size or --ipc=host of docker run; in Kubernetes an emptyDir of medium Memory at /dev/shm."
                )
            ],
        )
    if found is None or found[2] is None:
        return NotMemory(
            title=phrase("A worker of PyTorch's DataLoader ended, and the message doesn't say why"),
            advice=phrase("Run it with num_workers=0: the error is then raised in the program itself."),
            first_line=number + 1,
        )
    return Explanation(
        title=phrase(
            "A worker of PyTorch's DataLoader was ended by SIGKILL, and the text doesn't say who sent it"
        ),
        first_line=number + 1,
        last_line=number + 1,
        ended_by="unknown",
        memory="process",
        conclusions=[
            phrase(
                "Usually it is the kernel, for the machine's or container's memory: each worker has what "
                "its dataset loads, and batches that wait (prefetch_factor)."
            )
        ],
        settings=[
            phrase(
                "`dmesg -T | grep -i 'killed process'` says whether it was the kernel. Fewer num_workers need less."
            )
        ],
        program="pt_data_worker",
    )
