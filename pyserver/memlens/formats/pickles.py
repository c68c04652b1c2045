"""Runs a scanner of pickles over a mapped file, and says in sentences what ended it."""

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
    """The pickle asks its reader to run something."""

    code = "unsafe-pickle"
    advice = "A memory snapshot never needs that, and nothing was run. Don't load this file with pickle.load."
    retry = False


_OPCODES = {
    0x63: "GLOBAL", 0x93: "STACK_GLOBAL", 0x52: "REDUCE", 0x62: "BUILD", 0x69: "INST", 0x6F: "OBJ", 0x81: "NEWOBJ",
    0x92: "NEWOBJ_EX", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 0x50: "PERSID", 0x51: "BINPERSID",
    0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
}  # fmt: skip

FORBIDDEN_OPCODES = frozenset(_OPCODES.values())
"""Those that import, call, or ask the reader for something from outside the file."""

_UNSAFE = "The pickle is not plain data: opcode {opcode} would run code"

_ERRORS: dict[int, tuple[type[MemlensError], str]] = {
    machine.FORBIDDEN: (UnsafePickleError, _UNSAFE),
    machine.TRUNCATED: (DamagedSnapshotError, "The pickle breaks off after {length:,} bytes"),
    machine.ABSURD_LENGTH: (DamagedSnapshotError, "A length in the pickle is larger than the whole file"),
    machine.BAD_MEMO: (DamagedSnapshotError, "The pickle refers to something that it has not stored"),
    machine.TOO_DEEP: (DamagedSnapshotError, "The pickle is nested far deeper than any snapshot"),
    machine.TOO_MANY: (DamagedSnapshotError, "The pickle holds more objects than can be numbered"),
    machine.BAD_FIELD: (DamagedSnapshotError, "The field '{field}' holds a value that it can't have"),
    machine.UNKNOWN_OPCODE: (NotASnapshotError, "Byte 0x{detail:02x} is no opcode of a snapshot's pickle"),
    machine.UNDERFLOW: (DamagedSnapshotError, "The pickle's opcodes don't fit together"),
}


def is_pickle(head: bytes) -> bool:
    """Whether the first bytes say so: protocols 2 to 5 do."""
    return len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5


def unsafe(opcode: str, offset: int) -> UnsafePickleError:
    """The refusal of an opcode."""
    return UnsafePickleError(_UNSAFE.format(opcode=opcode), offset=offset)


def scan(scanner: Scanner, source: Source, fields: Sequence[str], report: Report) -> Scanner:
    """Run ``scanner`` over the whole of ``source``; pages behind it are given back to the system.

    ``fields`` are the names that its error details number; ``report`` gets ``("reading", fraction)``. Raises
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
