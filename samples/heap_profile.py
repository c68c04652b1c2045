"""Records what `words.py` keeps in memory as a pprof profile: `python heap_profile.py` writes words.pb.gz.

tracemalloc sees every block that Python allocates, with its stack; what is live at the end is written as Go's heap
profiles are (https://github.com/google/pprof/blob/main/proto/profile.proto): a sample for each stack and block size,
with how many such blocks are in use and how many bytes they take.
"""

import gc
import gzip
import sysconfig
import tracemalloc
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEPTH = 25
Key = tuple[tuple[tuple[str, int], ...], int]


def main() -> None:
    """Run the program and write its profile."""
    import words

    tracemalloc.start(DEPTH)
    index = words.serve(400)
    gc.collect()
    snapshot = tracemalloc.take_snapshot()
    tracemalloc.stop()
    del index
    blocks: Counter[Key] = Counter()
    for trace in snapshot.traces:
        frames = tuple((portable(frame.filename), frame.lineno) for frame in reversed(trace.traceback))
        if any(file == "words.py" for file, _ in frames):
            blocks[frames, trace.size] += 1
    out = HERE / "words.pb.gz"
    out.write_bytes(gzip.compress(Profile(blocks).packed(), mtime=0))
    print(f"{out.name}: {len(blocks)} samples, {out.stat().st_size:,} bytes")


def portable(file: str) -> str:
    """A path that says nothing of this machine."""
    path = Path(file)
    for folder, name in ((HERE, ""), (Path(sysconfig.get_path("stdlib")), "lib/python3/")):
        if path.is_relative_to(folder):
            return name + path.relative_to(folder).as_posix()
    return path.name


class Profile:
    """The messages of a profile, each a field of the whole."""

    def __init__(self, blocks: Counter[Key]) -> None:
        self.strings: dict[str, int] = {"": 0}
        self.functions: dict[tuple[str, str], int] = {}
        self.locations: dict[tuple[str, int], int] = {}
        self.fields: list[bytes] = []
        self.names = dict(functions_of((HERE / "words.py").read_text()))
        for name, unit in (("inuse_objects", "count"), ("inuse_space", "bytes")):
            self.add(1, number(1, self.text(name)) + number(2, self.text(unit)))
        for (frames, size), count in sorted(blocks.items()):
            label = number(1, self.text("bytes")) + number(3, size)
            values = varint(count) + varint(count * size)
            stack = b"".join(varint(self.location(*frame)) for frame in frames)
            self.add(2, message(1, stack) + message(2, values) + message(3, label))
        for text in self.strings:
            self.add(6, text.encode())

    def packed(self) -> bytes:
        """The whole of it."""
        return b"".join(self.fields)

    def add(self, field: int, data: bytes) -> None:
        """A field of the profile itself."""
        self.fields.append(message(field, data))

    def text(self, text: str) -> int:
        """The number of a string."""
        return self.strings.setdefault(text, len(self.strings))

    def location(self, file: str, line: int) -> int:
        """The number of a line."""
        if (file, line) not in self.locations:
            self.locations[file, line] = found = len(self.locations) + 1
            name = self.names.get(line, "<module>") if file == "words.py" else Path(file).stem
            line_message = number(1, self.function(name, file)) + number(2, line)
            self.add(4, number(1, found) + message(4, line_message))
        return self.locations[file, line]

    def function(self, name: str, file: str) -> int:
        """The number of a function."""
        if (name, file) not in self.functions:
            self.functions[name, file] = found = len(self.functions) + 1
            self.add(5, number(1, found) + number(2, self.text(name)) + number(4, self.text(file)))
        return self.functions[name, file]


def functions_of(source: str) -> list[tuple[int, str]]:
    """Each line of a source file with the function that it stands in; tracemalloc doesn't tell names."""
    found, name, inside = [], "<module>", ""
    for line, text in enumerate(source.splitlines(), 1):
        words = text.split()
        if text and not text.startswith((" ", ")")):
            inside = words[1].rstrip(":(") if words[0] == "class" else ""
            name = "<module>"
        if words[:1] == ["def"]:
            called = words[1].split("(")[0]
            name = f"{inside}.{called}" if inside else called
        found.append((line, name))
    return found


def varint(value: int) -> bytes:
    """A number, seven bits a byte."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    """A field that holds a number."""
    return varint(field << 3) + varint(value)


def message(field: int, data: bytes) -> bytes:
    """A field that holds bytes: a message, a string or packed numbers."""
    return varint(field << 3 | 2) + varint(len(data)) + data


if __name__ == "__main__":
    main()
