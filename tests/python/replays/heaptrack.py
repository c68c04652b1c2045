"""A second reader of heaptrack's text, event by event in plain Python, to hold the kernel to."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple


class Frame(NamedTuple):
    """A frame as the file has it."""

    function: str
    file: str
    line: int
    module: str
    address: int = 0
    """Only where nothing else of it is known."""


Stack = tuple[Frame, ...]


class Event(NamedTuple):
    """``change`` of one block's live count at a time in milliseconds; ``temporary`` for frees of such."""

    time_ms: int
    kind: int
    size: int
    change: int
    temporary: bool


class Recording:
    """Version 1 to 3 in full: each event, and of each kind the stack (innermost first, inlined expanded) and size."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.events: list[Event] = []
        self.kinds: list[tuple[Stack, int]] = []
        strings = [""]
        instructions: list[Stack] = [(Frame("", "", 0, ""),)]
        traces: list[Stack] = []
        version, time_ms, last = 0, 0, 0
        new = ("operator new(unsigned long)", "operator new[](unsigned long)")
        for line in lines:
            letter, _, rest = line.rstrip(b"\n").decode().partition(" ")
            fields = rest.split(" ")
            if letter == "v":
                version = int(fields[1], 16) if len(fields) > 1 else 1
            elif letter == "s":
                strings.append(rest if version < 3 else rest.partition(" ")[2])
            elif letter == "i":
                numbers = [int(field, 16) for field in fields[1:]]
                module, numbers = strings[numbers[0]] if numbers else "", numbers[1:]
                numbers += [0] * (-len(numbers) % 3) if len(numbers) < 3 else []
                triples = [numbers[at : at + 3] for at in range(0, len(numbers) - 2, 3)] or [[0, 0, 0]]
                instructions.append(
                    tuple(
                        Frame(strings[f], strings[p], n, module, 0 if f or p or n else int(fields[0], 16))
                        for f, p, n in triples
                    )
                )
            elif letter == "t":
                address, parent = (int(field, 16) for field in fields)
                above: Stack = traces[parent - 1] if parent else ()
                frames = instructions[address]
                traces.append(above if frames[0].function in new else (*frames, *above))
            elif letter == "a":
                size, trace = (int(field, 16) for field in fields)
                self.kinds.append((traces[trace - 1] if trace else (), size))
            elif letter == "+":
                last = int(rest, 16)
                self.events.append(Event(time_ms, last, self.kinds[last][1], 1, False))
            elif letter == "-":
                number = int(rest, 16)
                self.events.append(Event(time_ms, number, self.kinds[number][1], -1, number == last))
                last = 0
            elif letter == "c":
                time_ms = int(rest, 16)

    def live_before(self, time_ms: int) -> Counter[int]:
        """How many blocks of each kind are live when the time stamp is written."""
        found: Counter[int] = Counter()
        for event in self.events:
            if event.time_ms >= time_ms:
                break
            found[event.kind] += event.change
        return +found

    def values(self) -> dict[int, tuple[int, int, int, int]]:
        """Of each kind: live count at the first moment of the most live bytes, at the end, allocations, temporary."""
        live_bytes, most, peak_at = 0, 0, 0
        for number, event in enumerate(self.events):
            live_bytes += event.size * event.change
            if live_bytes > most:
                most, peak_at = live_bytes, number + 1
        peak, end, made, temporary = (Counter[int]() for _ in range(4))
        for number, event in enumerate(self.events):
            end[event.kind] += event.change
            if number < peak_at:
                peak[event.kind] += event.change
            made[event.kind] += event.change > 0
            temporary[event.kind] += event.temporary
        return {kind: (peak[kind], end[kind], made[kind], temporary[kind]) for kind in made}
