"""Profiles in every format that can contain arbitrary text, with that text wherever it may occur."""

import json
import pickle
import tracemalloc
from collections.abc import Callable

from memlens.packs.go.tests.pprof_files import Builder


def pprof(text: str) -> bytes:
    """Names of values, units, binaries, functions, files and labels, comments."""
    text = text.replace("\ud800", "")  # UTF-8 has none
    built = Builder((text, text), ("space", text), ("plain", "count"))
    built.message["mapping"] = [
        {"id": 1, "filename": built.text(f"/bin/{text}"), "build_id": built.text(text)}
    ]
    bare = built.location(address=0x10, mapping=1)
    named = built.location((text, f"/src/{text}.go", 3))
    built.sample([bare, named], 5, 6, 7, **{text: text})
    built.message["comment"] = [built.text(text)]
    built.message["period_type"] = [{"type": built.text("space"), "unit": built.text(text)}]
    return built.bytes()


def dhat(text: str) -> bytes:
    """Units, the verb, the command and frames."""
    text = text.replace("\ud800", "")
    header = {"dhatFileVersion": 2, "mode": text, "verb": text, "bklt": True, "bkacc": False}
    units = {"bu": text, "bsu": text, "bksu": text, "tu": text, "Mtu": text, "tuth": 500}
    figures = dict.fromkeys(("tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk"), 8)
    rest = {"cmd": text, "pid": 1, "te": 2, "tg": 1, "pps": [{**figures, "fs": [1, 2]}]}
    frames = ["[root]", f"0x10: {text} ({text}.c:3)", f"0x20: {text} (in /bin/{text})"]
    return json.dumps({**header, **units, **rest, "ftbl": frames}).encode()


def massif(text: str) -> bytes:
    """The command, the options and frames."""
    text = text.replace("\n", "").replace("\ud800", "")
    return "\n".join((
        f"desc: {text[:1000]}", f"cmd: {text}", "time_unit: i", "#-----------", "snapshot=0", "#-----------", "time=5",
        "mem_heap_B=100", "mem_heap_extra_B=8", "mem_stacks_B=0", "heap_tree=peak",
        "n1: 100 (heap allocation functions) x, etc.", f" n0: 100 0xA: {text} ({text}.cpp:1)", "",
    )).encode()  # fmt: skip


def heaptrack(text: str) -> bytes:
    """The command, binaries, functions and files."""
    text = text.replace("\n", "").replace("\ud800", "")
    strings = "".join(
        f"s {len(each.encode()):x} {each}\n" for each in (f"/bin/{text}", text, f"/src/{text}.cpp")
    )
    return (
        f"v 10500 3\nX {text}\nI 1000 100000\n{strings}i 100 1 2 3 a\ni 200 1\n"
        "t 1 0\nt 2 1\na 10 1\na 20 2\n+ 0\n+ 1\nc a\n- 0\n"
    ).encode()


def traced(text: str) -> bytes:
    """Files; there are no other names."""
    traces = [(0, 512, ((f"/src/{text}.py", 3), (text, 4)), 2), (0, 64, (("<unknown>", 0),), 1)]
    return pickle.dumps(tracemalloc.Snapshot(traces, 2), 4)


PROFILES: dict[str, Callable[[str], bytes]] = {
    "pprof": pprof, "dhat": dhat, "massif": massif, "heaptrack": heaptrack, "tracemalloc": traced,
}  # fmt: skip
