"""What a text says of memory that ran out."""

from typing import Literal

from msgspec import Struct

from memlens.texts import Text, phrase

EndedBy = Literal["kernel", "runtime", "manager", "nobody", "unknown"]
"""Who ended the process or refused the memory; nobody, where the text only says where memory is."""
Memory = Literal["heap", "outside", "device", "process", "unknown"]
"""What ran out: the runtime's heap, memory outside of it, a device's, that of the whole process, or not known."""

ENDED_BY = {
    "kernel": phrase("the kernel, by SIGKILL: nothing in the program ran afterwards"),
    "runtime": phrase("the runtime, which could not get memory"),
    "manager": phrase("a program that looks after others, not the kernel and not the program itself"),
    "nobody": phrase("nobody: the text says where memory is"),
    "unknown": phrase("the text doesn't say"),
}
MEMORY = {
    "heap": phrase("the runtime's heap"),
    "outside": phrase("outside of the runtime's heap"),
    "device": phrase("the device's memory, not the machine's"),
    "process": phrase("all of the process, its heap and the rest"),
    "unknown": phrase("the text doesn't say"),
}


class Amount(Struct, frozen=True):
    """A figure of the text. ``error_bytes`` is how far it may be from the true one, as it was rounded."""

    label: Text
    bytes: int
    error_bytes: int = 0


class Recording(Struct, frozen=True):
    """What to record next time: what to run or the lines to add, and what that leaves."""

    section: str
    recording: str
    leaves: Text


class Explanation(Struct, frozen=True, kw_only=True):
    """What a message says. Lines are counted from 1."""

    kind: str = ""
    title: Text
    """Who and what, in a sentence without its full stop."""
    first_line: int
    last_line: int
    ended_by: EndedBy
    memory: Memory
    amounts: list[Amount] = []
    conclusions: list[Text] = []
    settings: list[Text] = []
    """Which limit or setting it was, and what can be done about it."""
    program: str = ""
    """The process's name as the kernel keeps it, where the text has it and no more."""
    next_time: list[Recording] = []


class NotMemory(Struct, frozen=True, kw_only=True):
    """A message that looks like one about memory, and what it is."""

    title: Text
    advice: Text
    first_line: int


class Explained(Struct, frozen=True):
    """What all messages of a text say, in their order there."""

    explanations: list[Explanation]
    left_out: int
    """Earlier messages that aren't among them, because there are many."""
    notes: list[Text]
