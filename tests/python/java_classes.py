"""Class files, made by the specification for tests that need no Java."""

import struct
import zipfile
from pathlib import Path

QUICK = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
"""What halves the work of a compiler that runs once."""

JAVAC = ("javac", *QUICK)

_UTF8, _CLASS, _LONG = 1, 7, 5


def class_file(name: str, source: str = "", lines: tuple[int, ...] = ()) -> bytes:
    """A class with a method whose code has these lines; ``name`` has ``/`` between the package's names."""
    pool: list[bytes] = []

    def text(value: str) -> int:
        data = value.encode()
        pool.append(struct.pack(">BH", _UTF8, len(data)) + data)
        return len(pool)

    def named(value: str) -> int:
        pool.append(struct.pack(">BH", _CLASS, text(value)))
        return len(pool)

    # an entry that counts for two
    pool += [struct.pack(">Bq", _LONG, 1), b""]
    own, parent = named(name), named("java/lang/Object")
    table = struct.pack(">H", len(lines)) + b"".join(struct.pack(">HH", 0, line) for line in lines)
    table = struct.pack(">HI", text("LineNumberTable"), len(table)) + table
    code = struct.pack(">HHI", 0, 1, 1) + b"\xb1" + struct.pack(">HH", 0, 1) + table
    method = struct.pack(">HHHHHI", 1, text("run"), text("()V"), 1, text("Code"), len(code)) + code
    attributes = struct.pack(">HIH", text("SourceFile"), 2, text(source)) if source else b""
    return b"".join([
        struct.pack(">IHHH", 0xCAFEBABE, 0, 52, len(pool) + 1), *pool,
        struct.pack(">HHHHHH", 1, own, parent, 0, 0, 1), method,
        struct.pack(">H", bool(source)), attributes,
    ])  # fmt: skip


def jar(path: Path, *names: str, below: str = "", source: str = "") -> Path:
    """A jar of classes, each compiled from ``source``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        for name in names:
            archive.writestr(f"{below}{name}.class", class_file(name, source))
    return path
