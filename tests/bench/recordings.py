"""Generates profiles larger than any program here records, for the benchmark. The same seed gives the same files."""

import json
import random
import subprocess
from pathlib import Path
from typing import TextIO

import zstandard


def make_heaptrack(path: Path, nodes: int, events: int, seed: int = 1) -> None:
    """Write a recording with a tree of ``nodes`` stacks and about ``events`` allocations and frees."""
    chance = random.Random(seed)
    functions = [f"service::worker_{number}(int)" for number in range(200)]
    head = ["v 10400 3\n", "X ./bench\n", "I 1000 400000\n", "s 7 ./bench\n", "s 9 /x/bench.c\n"]
    head += [f"s {len(name):x} {name}\n" for name in functions]
    head += [f"i {4096 + number:x} 1 {number + 3:x} 2 {number + 10:x}\n" for number in range(len(functions))]
    with path.open("wb") as file, zstandard.ZstdCompressor(3).stream_writer(file) as packed:
        packed.write("".join(head).encode())
        depth = [0]
        kinds = 0
        live: list[int] = []
        most = max(nodes // 4, 1)
        done = stamp = 0
        for node in range(1, nodes + 1):
            lines = [f"t {chance.randrange(1, 201):x} {depth[-1]:x}\n"]
            depth.append(node)
            if len(depth) > 40 or chance.random() < 0.45:
                del depth[chance.randrange(1, len(depth)) :]
            if kinds < most and chance.random() < 0.4:
                lines.append(f"a {chance.randrange(8, 4096):x} {node:x}\n")
                kinds += 1
            for _ in range(min(kinds, events // nodes + 1)):
                if live and chance.random() < 0.49:
                    lines.append(f"- {live.pop():x}\n")
                else:
                    live.append(chance.randrange(kinds))
                    lines.append(f"+ {live[-1]:x}\n")
                done += 1
                if done % 10_000 == 0:
                    stamp += 10
                    lines.append(f"c {stamp:x}\nR {len(live):x}\n")
            packed.write("".join(lines).encode())


PARSING = """
import ast, json, pathlib
kept = {}
for number, file in enumerate(sorted(pathlib.Path(ast.__file__).parent.glob("*.py"))[:160]):
    try:
        text = ast.dump(ast.parse(file.read_text()))
    except (SyntaxError, UnicodeDecodeError):
        continue
    parts = json.loads(json.dumps([text[start : start + 10] for start in range(0, len(text), 10)]))
    if number % 5 == 0:
        kept[file.name] = parts
"""


def make_memray(path: Path, python: str) -> None:
    """Record a program that parses Python's standard library with the memray of ``python``: about 34 M allocations."""
    script = path.with_suffix(".py")
    script.write_text(PARSING, "utf-8")
    options = ["--quiet", "--force", "--trace-python-allocators", "--output", str(path)]
    subprocess.run([python, "-m", "memray", "run", *options, str(script)], check=True)


def make_dhat(path: Path, points: int = 320_000, seed: int = 1) -> None:
    """Write a profile with that many program points, like those of a C++ program with many call paths."""
    chance = random.Random(seed)
    named = (
        f"0x{0x400000 + n * 37:X}: gen{n}(std::unique_ptr<Node>) (tree.cpp:{n % 300 + 1})"
        for n in range(4000)
    )
    table = ["[root]", *named]
    head = {
        "dhatFileVersion": 2,
        "mode": "heap",
        "verb": "Allocated",
        "bklt": True,
        "bkacc": True,
        "tu": "instrs",
    }
    callers = [1]
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ',"cmd":"./bench","pid":1,"te":99999999,"tg":8888888,"pps":\n [')
        for number in range(points):
            # the next stack shares most of its callers with this one
            del callers[
                chance.randrange(max(len(callers) - 3, 1))
                if chance.random() < 0.02
                else max(len(callers) - 3, 1) :
            ]
            callers += [
                chance.randrange(1, 4001) for _ in range(chance.randrange(1, 6) if len(callers) < 22 else 1)
            ]
            stack = ",".join(str(frame) for frame in reversed(callers))
            blocks = chance.randrange(1, 50)
            file.write(
                f'{" ," if number else ""}{{"tb":{blocks * 32},"tbk":{blocks}\n  ,"tl":{chance.randrange(10**9)}\n'
                f'  ,"mb":32,"mbk":1\n  ,"gb":{32 * (number % 2)},"gbk":{number % 2}\n  ,"eb":0,"ebk":0\n'
                f'  ,"rb":{blocks * 90},"wb":{blocks * 40}\n  ,"acc":[-8,{blocks},-24,{blocks * 2}]\n'
                f'  ,"fs":[{stack}]\n  }}\n'
            )
        file.write(' ]\n,"ftbl":' + json.dumps(table, indent=0) + "\n}\n")


def make_massif(path: Path, snapshots: int = 100, stacks: int = 11_000, seed: int = 1) -> None:
    """Write a profile with detailed snapshots only and a threshold of 0: about 230 MB."""
    with path.open("w", encoding="utf-8") as file:
        file.write("desc: --threshold=0 --detailed-freq=1\ncmd: ./bench\ntime_unit: i\n")
        for number in range(snapshots):
            # every stack holds more than at the snapshot before
            held = (number + 1) * 16
            total = stacks * held
            tree = "peak" if number == snapshots - 1 else "detailed"
            file.write(
                f"#-----------\nsnapshot={number}\n#-----------\ntime={number * 1000}\nmem_heap_B={total}\n"
            )
            file.write(f"mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree={tree}\n")
            file.write(f"n1: {total} (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n")
            _tree(file, 1, stacks, held, random.Random(seed))


def _tree(file: TextIO, depth: int, leaves: int, leaf_bytes: int, chance: random.Random) -> None:
    """A node with that many leaves."""
    open_nodes = [(depth, leaves)]
    while open_nodes:
        depth, leaves = open_nodes.pop()
        parts = [] if leaves == 1 else [leaves // 2, leaves - leaves // 2] if depth < 25 else [1] * leaves
        line = chance.randrange(1, 200)
        file.write(f"{' ' * depth}n{len(parts)}: {leaves * leaf_bytes} 0x{0x10B000 + line * 16:X}: ")
        file.write(f"gen{line}(std::unique_ptr<Node, std::default_delete<Node> >) (tree.cpp:{line})\n")
        open_nodes += [(depth + 1, part) for part in parts]
