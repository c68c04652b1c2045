"""Runs a scanner of pickles over a mapped file, and turns its status into errors."""

from collections.abc import Sequence
from typing import TypeVar

from memlens.errors import MemlensError
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.scanning import run_through
from memlens.kernels.readers import pickle_machine as machine
from memlens.progress import Report

Scanner = TypeVar("Scanner", bound=machine.Machine)


class UnsafePickleError(MemlensError):
    """The pickle has an opcode that would run code."""

    code = "unsafe-pickle"
    advice = (
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

_UNSAFE = "The pickle is not plain data: opcode {opcode} would run code"

_ERRORS: dict[int, tuple[type[MemlensError], str]] = {
    machine.FORBIDDEN: (UnsafePickleError, _UNSAFE),
    machine.TRUNCATED: (DamagedSnapshotError, "The pickle is truncated after {length:,} bytes"),
    machine.ABSURD_LENGTH: (DamagedSnapshotError, "A length in the pickle is larger than the whole file"),
    machine.BAD_MEMO: (DamagedSnapshotError, "The pickle refers to an object that it has not stored"),
    machine.TOO_DEEP: (DamagedSnapshotError, "The pickle is nested far deeper than any snapshot"),
    machine.TOO_MANY: (DamagedSnapshotError, "The pickle contains too many objects"),
    machine.BAD_FIELD: (DamagedSnapshotError, "The field '{field}' has an invalid value"),
    machine.UNKNOWN_OPCODE: (
        NotASnapshotError,
        "Byte 0x{detail:02x} is not an opcode of a snapshot's pickle",
    ),
    machine.UNDERFLOW: (DamagedSnapshotError, "The pickle's opcodes are inconsistent"),
}


def is_pickle(head: bytes) -> bool:
    """Whether the first bytes are those of a pickle of protocol 2 to 5."""
    return len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5


def unsafe(opcode: str, offset: int) -> UnsafePickleError:
    """Return the error for a forbidden opcode."""
    return UnsafePickleError(_UNSAFE.format(opcode=opcode), offset=offset)


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
    error, sentence = _ERRORS[status]
    detail = scanner.error_detail
    field = fields[detail] if detail < len(fields) else ""
    message = sentence.format(
        opcode=_OPCODES.get(detail, ""), length=source.length, field=field, detail=detail
    )
    return error(message, offset=scanner.error_offset)
