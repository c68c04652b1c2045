"""pprof's ``profile.proto``: a decoder of its messages, and samples with all their lines.

A sample's first location is the innermost, and a location's first line is what was inlined last into it.
"""

import gzip
import re
from pathlib import Path
from typing import Any

from tests.python.protobuf import fields, varints
from tests.python.replays.stacks import Frame, Profile

# profile.proto: the fields of each message by number; a name in capitals is a nested message
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


def decode(data: bytes, kind: str = "PROFILE") -> Message:
    """Decode a message to dicts and lists."""
    found: Message = {}
    for field, value in fields(data):
        if field not in SCHEMA[kind]:
            continue
        what, name = SCHEMA[kind][field].split()
        if isinstance(value, int):
            number = value - 2**64 if value >= 2**63 and name in ("value", "num", "line") else value
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


def message_of(path: Path) -> Message:
    """A profile's bytes, compressed or not."""
    data = path.read_bytes()
    return decode(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def stacks_of(message: Message) -> list[list[Frame]]:
    """Each sample's frames, innermost first; a location without lines is an address in its mapping's binary."""
    strings = message.get("string_table", [""])
    functions = {each["id"]: each for each in message.get("function", [])}
    binaries = {each["id"]: strings[each.get("filename", 0)] for each in message.get("mapping", [])}
    drop = re.compile(strings[message.get("drop_frames", 0)] or "(?!)")
    names = (strings[each.get("name", 0)] for each in functions.values())
    assert not any(name and drop.fullmatch(name) for name in names), (
        "test_pprof.py checks which frames are dropped"
    )
    places: dict[int, list[Frame]] = {}
    for location in message.get("location", []):
        places[location["id"]] = lines = []
        for line in location.get("line", [{}]):
            function = functions.get(line.get("function_id", 0))
            if function is None:
                binary = binaries.get(location.get("mapping_id", 0), "")
                lines.append(Frame(hex(location.get("address", 0)), "", 0, binary))
                continue
            name = strings[function.get("name", 0)] or strings[function.get("system_name", 0)] or "?"
            lines.append(Frame(name, strings[function.get("filename", 0)], line.get("line", 0)))
    return [
        [frame for number in sample.get("location_id", []) for frame in places[number]]
        for sample in message.get("sample", [])
    ]


def read(path: Path) -> Profile:
    """Read a file. Values have the file's names."""
    message = message_of(path)
    profile = Profile([message["string_table"][each["type"]] for each in message["sample_type"]])
    for stack, sample in zip(stacks_of(message), message.get("sample", []), strict=True):
        profile.add(stack, sample["value"])
    return profile
