"""Pickles of protocols 0 and 1, which begin like text: no snapshot is one, but what they would run is told."""

import pickletools

from memlens.errors import MemlensError
from memlens.formats.containers import Source
from memlens.formats.errors import NotASnapshotError
from memlens.formats.pickles import FORBIDDEN_OPCODES, unsafe

_SEARCHED_BYTES = 1 << 20
_RECALLS = frozenset({"GET", "BINGET", "LONG_BINGET"})
_STORES = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})


def is_old_pickle(head: bytes) -> bool:
    """Whether the first bytes are opcodes that fit together, as those of text hardly do by chance.

    They come to STOP, which is the last byte unless one of them would run something, or fill all of ``head``.
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
    except (ValueError, OverflowError, UnicodeError):
        # at the end of what was given an opcode may be cut off
        return bool(memo or runs) and len(head) >= 4096
    return False


def refusal(source: Source) -> MemlensError:
    """What is wrong with such a file: the first opcode that would run something, or that it is of that protocol."""
    try:
        for opcode, _, offset in pickletools.genops(source.head(_SEARCHED_BYTES)):
            if opcode.name in FORBIDDEN_OPCODES:
                return unsafe(opcode.name, offset or 0)
    except (ValueError, OverflowError, UnicodeError):
        pass
    return NotASnapshotError("The file is a pickle of protocol 0 or 1; snapshots are of protocol 2 or later")
