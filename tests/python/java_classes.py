"""Class files and a JDK's module image, made by the specifications for tests that need no Java."""

import struct
import zipfile
from pathlib import Path

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


def image(path: Path, classes: dict[str, bytes], order: str = "<") -> Path:
    """A module image with classes by module and name: ``java.base/java/util/HashMap``."""
    texts, contents, locations, offsets = b"\0", b"", b"", list[int]()
    known: dict[str, int] = {}

    def text(value: str) -> int:
        nonlocal texts
        if value not in known:
            known[value] = len(texts)
            texts += value.encode() + b"\0"
        return known[value]

    for name, data in classes.items():
        module, _, rest = name.partition("/")
        parent, _, base = rest.rpartition("/")
        numbers = {
            1: text(module),
            2: text(parent),
            3: text(base),
            4: text("class"),
            5: len(contents),
            7: len(data),
        }
        offsets.append(len(locations))
        for kind, number in numbers.items():
            locations += bytes([kind << 3 | 3]) + number.to_bytes(4, "big")
        locations += b"\0"
        contents += data
    header = struct.pack(
        f"{order}7I", 0xCAFEDADA, 1 << 16, 0, len(offsets), len(offsets), len(locations), len(texts)
    )
    tables = struct.pack(f"{order}{2 * len(offsets)}I", *[0] * len(offsets), *offsets)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header + tables + locations + texts + contents)
    return path
