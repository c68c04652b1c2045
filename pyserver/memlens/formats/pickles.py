"""Runs a scanner of pickles over a mapped file, and turns its status into errors."""

from collections.abc import Sequence
from typing import TypeVar

from memlens.errors import MemlensError
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.scanning import run_through
from memlens.kernels.readers import pickle_machine as machine
from memlens.progress import Report
from memlens.texts import phrase

Scanner = TypeVar("Scanner", bound=machine.Machine)


class UnsafePickleError(MemlensError):
    """The pickle has an opcode that would run code."""

    code = "unsafe-pickle"
    advice = phrase(
        "Nothing was run. Memory snapshots never contain such opcodes: don't load this file with pickle.load."
    )
    retry = False


_OPCODES = {
    0x63: "GLOBAL", 0x93: "STACK_GLOBAL", 0x52: "REDUCE", 0x62: "BUILD", 0x69: "INST", 0x6F: "OBJ", 0x81: "NEWOBJ",
    0x92: "NEWOBJ_EX", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 0x50: "PERSID", 0x51: "BINPERSID",
    0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
}  # fmt: skip

FORBIDDEN_OPCODES = frozenset(_OPCODES.values())
"""Opcodes that import, call, or refer to something outside the file."""

_ERRORS = {
    machine.ABSURD_LENGTH: phrase("A length in the pickle is larger than the whole file"),
    machine.BAD_MEMO: phrase("The pickle refers to an object that it has not stored"),
    machine.TOO_DEEP: phrase("The pickle is nested far deeper than any snapshot"),
    machine.TOO_MANY: phrase("The pickle contains too many objects"),
    machine.UNDERFLOW: phrase("The pickle's opcodes are inconsistent"),
}


def is_pickle(head: bytes) -> bool:
    """Whether the first bytes are those of a pickle of protocol 2 to 5."""
    return len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5


def unsafe(opcode: str, offset: int) -> UnsafePickleError:
    """Return the error for a forbidden opcode."""
    message = phrase("The pickle is not plain data: opcode {opcode} would run code", opcode=opcode)
    return UnsafePickleError(message, offset=offset)


def scan(scanner: Scanner, source: Source, fields: Sequence[str], report: Report) -> Scanner:
    """Run ``scanner`` over the whole of ``source``, and release the pages it has read.

    ``fields`` are the names by number of its error details; ``report`` gets ``("reading", fraction)``. Raises
    :class:`UnsafePickleError`, :class:`NotASnapshotError`, :class:`DamagedSnapshotError`, or MemoryError.
    """
    status = run_through(scanner, source, report)
    if status != machine.OK:
        raise _error(scanner, status, source, fields)
    return scanner


def _error(scanner: machine.Machine, status: int, source: Source, fields: Sequence[str]) -> Exception:
    if status == machine.NO_MEMORY:
        return MemoryError()
    detail, offset = scanner.error_detail, scanner.error_offset
    match status:
        case machine.FORBIDDEN:
            return unsafe(_OPCODES.get(detail, ""), offset)
        case machine.UNKNOWN_OPCODE:
            message = phrase("Byte {byte} is not an opcode of a snapshot's pickle", byte=f"0x{detail:02x}")
            return NotASnapshotError(message, offset=offset)
        case machine.TRUNCATED:
            message = phrase("The pickle is truncated after {length} bytes", length=source.length)
        case machine.BAD_FIELD:
            field = fields[detail] if detail < len(fields) else ""
            message = phrase("The field '{field}' has an invalid value", field=field)
        case _:
            message = _ERRORS[status]
    return DamagedSnapshotError(message, offset=offset)
