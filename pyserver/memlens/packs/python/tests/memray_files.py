"""Writes captures as memray 1.20 does, record by record, without its compression and its caches."""

import struct

MALLOC, FREE, MMAP, MUNMAP, PYMALLOC = 6, 5, 14, 15, 2


def header(
    version: int = 13,
    *,
    allocations: int = 5,
    start_ms: int = 1000,
    end_ms: int = 2000,
    command: bytes = b"python x.py",
    native: bool = False,
    main: int = 1,
    skipped: int = 0,
    allocator: int = 3,
    traced: int = 0,
) -> bytes:
    """Everything before the first record."""
    python = struct.pack("<i", 0x030B07F0) if version > 11 else b""
    kind = b"\0" if version > 9 else b""
    return (
        b"memray\0"
        + struct.pack("<i", version)
        + python
        + bytes([native])
        + kind
        + struct.pack("<qqqq", allocations, 9, start_ms, end_ms)
        + command
        + b"\0"
        + struct.pack("<iQQB", 77, main, skipped, allocator)
        + (bytes([traced]) if version > 10 else b"")
        + (b"\0" if version > 11 else b"")
        + (b"/lib\0/site\0\0/path\0\0" if version > 12 else b"")
    )


def number(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
    return bytes(data)


def signed(value: int) -> bytes:
    """A number whose lowest bit is its sign."""
    return number(value << 1 if value >= 0 else (-value << 1) - 1)


class Records:
    """The records of a capture of all allocations."""

    def __init__(self, *, native: bool = False) -> None:
        self.data = bytearray()
        self.native = native
        self._pointer = self._line = self._instruction = self._native_frame = 0

    def thread(self, thread: int) -> None:
        """What follows is of this thread."""
        self.data += b"\x0c" + struct.pack("<Q", thread)

    def name(self, name: bytes) -> None:
        self.data += b"\x0a" + name + b"\0"

    def code(self, code: int, function: bytes, file: bytes, line: int, table: bytes | None = None) -> None:
        """A code object; without a table its first hundred instructions are on its first line."""
        # 11 entries without columns, each for eight units
        table = b"\xef\0" * 11 if table is None else table
        self.data += b"\x0e" + number(code) + function + b"\0" + file + b"\0" + signed(line - self._line)
        self.data += number(len(table)) + table
        self._line = line

    def push(self, code: int, offset: int = 0, *, is_entry: bool = True) -> None:
        self.data += bytes([64 | is_entry]) + number(code) + signed(offset)

    def pop(self, count: int = 1) -> None:
        self.data += bytes([16 + count - 1])

    def allocate(self, allocator: int, address: int, size: int = 0, native_frame: int = 0) -> None:
        """An allocation or, with the allocator of one, a free; addresses are multiples of 8."""
        in_flags = allocator if allocator < 8 else 0
        self.data.append(128 | 15 << 3 | in_flags)
        self.data += signed((address >> 3) - self._pointer) + (b"" if in_flags else bytes([allocator]))
        self._pointer = address >> 3
        if allocator not in (FREE, 1):
            if self.native:
                self.data += signed(native_frame - self._native_frame)
                self._native_frame = native_frame
            self.data += number(size)

    def memory(self, resident: int, after_ms: int) -> None:
        self.data += b"\x02" + number(resident) + number(after_ms)

    def native_frame(self, instruction: int, parent: int) -> None:
        self.data += b"\x05" + signed(instruction - self._instruction) + signed(parent - self._native_frame)
        self._instruction, self._native_frame = instruction, parent

    def maps(self, *files: tuple[bytes, int, list[tuple[int, int]]]) -> None:
        """What is mapped: files, where they are, and their segments."""
        self.data += b"\x06"
        for file, address, segments in files:
            self.data += b"\x07" + file + b"\0" + number(len(segments)) + struct.pack("<Q", address)
            for start, size in segments:
                self.data += b"\x08" + struct.pack("<Q", start) + number(size)

    def end(self) -> bytes:
        return bytes(self.data) + b"\x01"
