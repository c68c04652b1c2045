"""Pickles of protocols 0 and 1, which begin like text, and of unknown ones. Snapshots never use these.

Unsafe opcodes are reported.
"""

import pickletools

from memlens.errors import MemlensError
from memlens.formats.containers import Source
from memlens.formats.errors import NotASnapshotError
from memlens.formats.pickles import FORBIDDEN_OPCODES, unsafe
from memlens.texts import phrase

_SEARCHED_BYTES = 1 << 20
_PROTOCOL = 0x80
_RECALLS = frozenset({"GET", "BINGET", "LONG_BINGET"})
_STORES = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})


def is_old_pickle(head: bytes) -> bool:
    """Whether the first bytes are a consistent sequence of opcodes, which text hardly is by chance.

    It must end with STOP as the last byte (or anywhere if an opcode would run code), or fill all of ``head``.
    """
    depth, marks, memo = 0, [0], set[object]()
    runs = False
    try:
        for opcode, argument, offset in pickletools.genops(head):
            before = opcode.stack_before
            if pickletools.markobject in before:
                if len(marks) == 1:
                    return False
                depth = marks.pop() - before.index(pickletools.markobject)
            else:
                depth -= len(before)
            if depth < marks[-1] or (opcode.name in _RECALLS and argument not in memo):
                return False
            if opcode.name in _STORES:
                memo.add(argument)
            runs = runs or opcode.name in FORBIDDEN_OPCODES
            if opcode.name == "MARK":
                marks.append(depth)
            else:
                depth += len(opcode.stack_after)
            if opcode.name == "STOP":
                return runs or head.find(b".", offset or 0) + 1 == len(head)
    except (ValueError, OverflowError):
        # the last opcode of a full head may be cut off
        return bool(memo or runs) and len(head) >= 4096
    return False


def refusal(source: Source) -> MemlensError:
    """Return the error for such a file: its first opcode that would run code, else its protocol."""
    head = source.head(_SEARCHED_BYTES)
    try:
        for opcode, _, offset in pickletools.genops(head):
            if opcode.name in FORBIDDEN_OPCODES:
                return unsafe(opcode.name, offset or 0)
    except (ValueError, OverflowError):
        pass
    if head[0] == _PROTOCOL:
        return NotASnapshotError(
            phrase(
                "The file is a pickle of protocol {protocol}; snapshots have protocols 2 to 5",
                protocol=head[1],
            )
        )
    return NotASnapshotError(
        phrase("The file is a pickle of protocol 0 or 1; snapshots have protocols 2 to 5")
    )
