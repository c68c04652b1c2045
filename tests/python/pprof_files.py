"""pprof profiles for tests: an encoder, and a decoder that shares no code with the reader."""

import gzip
from pathlib import Path
from typing import Any

from tests.python.protobuf import fields, varints

# profile.proto: the fields of each message by number; a name in capitals is a message of its own
SCHEMA: dict[str, dict[int, str]] = {
    "PROFILE": {
        1: "VALUE_TYPE sample_type", 2: "SAMPLE sample", 3: "MAPPING mapping", 4: "LOCATION location",
        5: "FUNCTION function", 6: "string string_table", 7: "int drop_frames", 8: "int keep_frames",
        9: "int time_nanos", 10: "int duration_nanos", 11: "VALUE_TYPE period_type", 12: "int period",
        13: "ints comment", 14: "int default_sample_type", 15: "int doc_url",
    },
    "VALUE_TYPE": {1: "int type", 2: "int unit"},
    "SAMPLE": {1: "ints location_id", 2: "ints value", 3: "LABEL label"},
    "LABEL": {1: "int key", 2: "int str", 3: "int num", 4: "int num_unit"},
    "MAPPING": {
        1: "int id", 2: "int memory_start", 3: "int memory_limit", 4: "int file_offset", 5: "int filename",
        6: "int build_id",
    },
    "LOCATION": {1: "int id", 2: "int mapping_id", 3: "int address", 4: "LINE line", 5: "int is_folded"},
    "LINE": {1: "int function_id", 2: "int line", 3: "int column"},
    "FUNCTION": {1: "int id", 2: "int name", 3: "int system_name", 4: "int filename", 5: "int start_line"},
}  # fmt: skip

Message = dict[str, Any]


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def encode(message: Message, kind: str = "PROFILE", *, packed: bool = True) -> bytes:
    """The bytes of a message whose fields are named as in profile.proto."""
    out = b""
    for number, described in SCHEMA[kind].items():
        what, name = described.split()
        value = message.get(name)
        if value is None:
            continue
        if what == "int":
            out += _varint(number << 3) + _varint(value)
        elif what == "ints" and packed:
            out += _field(number, b"".join(map(_varint, value)))
        elif what == "ints":
            out += b"".join(_varint(number << 3) + _varint(each) for each in value)
        elif what == "string":
            out += b"".join(_field(number, each.encode()) for each in value)
        else:
            out += b"".join(_field(number, encode(each, what, packed=packed)) for each in value)
    return out


def decode(data: bytes, kind: str = "PROFILE") -> Message:
    """A message as dicts and lists. Slow and plain."""
    found: Message = {}
    for field, value in fields(data):
        if field not in SCHEMA[kind]:
            continue
        what, name = SCHEMA[kind][field].split()
        if isinstance(value, int):
            number = value - 2**64 if value >= 2**63 and name in ("value", "num") else value
            found[name] = [*found.get(name, []), number] if what == "ints" else number
        elif what == "ints":
            found.setdefault(name, []).extend(
                each - 2**64 if each >= 2**63 and name == "value" else each for each in varints(value)
            )
        elif what == "string":
            found.setdefault(name, []).append(value.decode("utf-8", "replace"))
        else:
            found.setdefault(name, []).append(decode(value, what))
    return found


def read(path: Path) -> Message:
    """A profile file, packed or not."""
    data = path.read_bytes()
    return decode(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


class Builder:
    """A profile built by names: functions, locations and samples get their numbers by themselves."""

    def __init__(self, *types: tuple[str, str]) -> None:
        self.strings = [""]
        self.message: Message = {"string_table": self.strings, "sample": [], "location": [], "function": []}
        self.message["sample_type"] = [
            {"type": self.text(name), "unit": self.text(unit)} for name, unit in types
        ]
        self._functions: dict[tuple[str, str], int] = {}
        self._locations: dict[tuple[Any, ...], int] = {}

    def text(self, text: str) -> int:
        """The number of a string."""
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def function(self, name: str, file: str) -> int:
        """The id of a function."""
        if (name, file) not in self._functions:
            self._functions[name, file] = number = 100 + 7 * len(self._functions)
            self.message["function"].append(
                {"id": number, "name": self.text(name), "filename": self.text(file)}
            )
        return self._functions[name, file]

    def location(self, *lines: tuple[str, str, int], address: int = 0, mapping: int = 0) -> int:
        """The id of a location with its (inlined) lines ``(function, file, line)``, innermost first."""
        key = (lines, address, mapping)
        if key not in self._locations:
            self._locations[key] = number = 5 + 3 * len(self._locations)
            self.message["location"].append(
                {
                    "id": number,
                    "mapping_id": mapping,
                    "address": address,
                    "line": [
                        {"function_id": self.function(name, file), "line": line} for name, file, line in lines
                    ],
                }
            )
        return self._locations[key]

    def sample(self, locations: list[int], *values: int, **labels: str | int) -> None:
        """A sample, its innermost location first."""
        told = [
            {"key": self.text(key)}
            | ({"str": self.text(value)} if isinstance(value, str) else {"num": value})
            for key, value in labels.items()
        ]
        self.message["sample"].append({"location_id": locations, "value": list(values), "label": told})

    def bytes(self, *, packed: bool = True) -> bytes:
        """The profile as it is now."""
        return encode(self.message, packed=packed)
