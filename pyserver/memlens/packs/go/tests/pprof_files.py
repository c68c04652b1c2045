"""Writes pprof profiles for tests: an encoder, and a builder that numbers functions and locations."""

from collections.abc import Mapping
from typing import Any

from tests.python.replays.pprof import SCHEMA, Message


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def encode(
    message: Message,
    kind: str = "PROFILE",
    *,
    packed: bool = True,
    schema: Mapping[str, Mapping[int, str]] = SCHEMA,
) -> bytes:
    """The bytes of a message whose fields are named as in the schema, which is that of profile.proto."""
    out = b""
    for number, described in schema[kind].items():
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
        elif what == "bytes":
            out += _field(number, value)
        else:
            out += b"".join(
                _field(number, encode(each, what, packed=packed, schema=schema)) for each in value
            )
    return out


class Builder:
    """Builds a profile by names: functions, locations and samples are numbered automatically."""

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
        label_messages = [
            {"key": self.text(key)}
            | ({"str": self.text(value)} if isinstance(value, str) else {"num": value})
            for key, value in labels.items()
        ]
        self.message["sample"].append(
            {"location_id": locations, "value": list(values), "label": label_messages}
        )

    def bytes(self, *, packed: bool = True) -> bytes:
        """The encoded profile."""
        return encode(self.message, packed=packed)
