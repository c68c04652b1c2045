"""Whose line the headline names, on a small file of each ecosystem as its tools write it."""

import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.python.conftest import event, frame
from tests.python.hprof_files import BYTE, Dump

from memlens.cli import main
from memlens.packs.go.tests.pprof_files import Builder
from memlens.packs.ruby.tests import ruby_files

MIB = 1 << 20
Place = tuple[str, str, int]
"""A function, its file and its line."""
Sample = tuple[list[Place], list[int]]


def pprof(types: str, *samples: Sample, unit: str = "bytes") -> bytes:
    """A profile with values of these types; stacks have their innermost place first."""
    builder = Builder(*((each, "count" if "objects" in each else unit) for each in types.split()))
    for stack, values in samples:
        builder.sample([builder.location(place) for place in stack], *values)
    return builder.bytes()


# ---- Go ----

GO = "alloc_objects alloc_space inuse_objects inuse_space"
LOAD: Place = ("main.load", "/home/u/shop/load.go", 12)
MAIN: Place = ("main.main", "/home/u/shop/main.go", 5)


def go(root: str) -> bytes:
    """A buffer that the standard library below ``root`` grew for the program."""
    grown = ("bytes.growSlice", f"{root}/src/bytes/buffer.go", 249)
    return pprof(GO, ([grown, LOAD, MAIN], [10, 30 * MIB, 10, 30 * MIB]))


def below_build() -> bytes:
    """A program that was built below /build, as in a container."""
    grown = ("bytes.growSlice", "/usr/local/go/src/bytes/buffer.go", 249)
    fill, run = (
        ("store.Fill", "/build/internal/store/store.go", 16),
        ("main.main", "/build/cmd/shop/main.go", 18),
    )
    return pprof(
        GO, ([grown, fill, run], [10, 30 * MIB, 10, 30 * MIB]), ([fill, run], [5, 10 * MIB, 5, 10 * MIB])
    )


def of_one_sum() -> bytes:
    """A difference that sums to 0: what a module was charged with is the program's now."""
    module = "/home/u/go/pkg/mod/example.com/!trace/trace-go.v1@v1.33.0/option.go"
    values = [10_923, 524_312, 0, 0]
    return pprof(
        GO,
        ([("main.startSpan", module, 483), LOAD], [-each for each in values]),
        ([("main.startSpan", "/home/u/shop/main.go", 483), LOAD], values),
    )


# ---- Rust ----


def dhat() -> bytes:
    """Of the crate dhat, which keeps the last three parts of paths alone."""
    places = [
        "0x1: <alloc::alloc::Global as core::alloc::Allocator>::allocate (alloc/src/alloc.rs:429:9)",
        "0x1: alloc::raw_vec::RawVecInner<A>::grow_amortized (src/raw_vec/mod.rs:527:40)",
        "0x2: shop::book::fill (shop/src/book.rs:7:20)",
        "0x2: shop::main (shop/src/main.rs:7:16)",
        "0x3: serde::de::impls::visit_seq (src/de/impls.rs:90:3)",
        "0x4: shop::book::parse (shop/src/book.rs:17:20)",
    ]
    points = [
        {**dict.fromkeys(("tb", "mb", "gb"), size), **dict.fromkeys(("tbk", "mbk", "gbk"), 1),
         "tl": 9, "eb": 0, "ebk": 0, "fs": stack}
        for size, stack in ((7 * MIB, [1, 2, 3, 4]), (3 * MIB, [1, 2, 5, 6, 4]))
    ]  # fmt: skip
    head = {
        "dhatFileVersion": 2, "mode": "rust-heap", "verb": "Allocated", "bklt": True, "bkacc": False, "tu": "µs",
        "Mtu": "s", "tuth": 10, "cmd": "shop", "pid": 1, "tg": 5, "te": 9,
    }  # fmt: skip
    return json.dumps({**head, "pps": points, "ftbl": ["[root]", *places]}).encode()


def jemalloc() -> bytes:
    """Of jemalloc as a crate, whose hooks are the innermost frames, below the program's own folder."""
    built = "/app/target/release/build/tikv-jemalloc-sys-3916cf8eb74d7d74/out/build/src"
    crate = "/usr/local/cargo/registry/src/github.com-1ecc6299db9ec823/tikv-jemallocator-0.6.0/src/lib.rs"
    hooks: list[Place] = [
        ("prof_backtrace_impl", f"{built}/prof_sys.c", 102),
        ("imalloc_body", f"{built}/jemalloc.c", 2550),
        ("_rjem_mallocx", f"{built}/jemalloc.c", 3099),
        ("<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc", crate, 95),
        ("__rustc::__rust_alloc", "/app/src/main.rs", 3),
        ("alloc::alloc::alloc", "/rustc/59807616e/library/alloc/src/alloc.rs", 95),
    ]
    return pprof(
        "inuse_space",
        (
            [*hooks, ("shop::book::fill", "/app/src/book.rs", 7), ("shop::main", "/app/src/main.rs", 16)],
            [15 * MIB],
        ),
        (
            [*hooks, ("shop::book::parse", "/app/src/book.rs", 17), ("shop::main", "/app/src/main.rs", 17)],
            [5 * MIB],
        ),
    )


def heaptrack() -> bytes:
    """Of a program whose crates were compiled in their own folders, so that all paths begin with src."""
    strings = [
        "./shop", "shop::main", "src/main.rs", "shop::book::patterns::{{closure}}", "src/book.rs",
        "regex_automata::dfa::onepass::InternalBuilder::build", "src/dfa/onepass.rs",
    ]  # fmt: skip
    listed = "".join(f"s {len(each):x} {each}\n" for each in strings)
    rows = "i 1000 1 2 3 5\ni 2000 1 4 5 18\ni 3000 1 6 7 2d6\nt 1 0\nt 2 1\nt 3 2\na 200000 3\n+ 0\nc a\n"
    return gzip.compress(f"v 10400 3\nX ./shop\nI 1000 500\n{listed}{rows}".encode())


MASSIF = b"""desc: (none)
cmd: ./shop
time_unit: i
#-----------
snapshot=0
#-----------
time=5
mem_heap_B=1000
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=peak
n1: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 1000 0x1: finish_grow<alloc::alloc::Global> (raw_vec.rs:778)
  n0: 1000 0x2: shop::book::fill (book.rs:7)
"""


# ---- the others ----


def torch(root: str) -> bytes:
    """A model's allocations in a PyTorch below ``root``."""
    trace = [
        event(
            "alloc", (number + 1) << 24, 10 * MIB,
            frame(f"{root}/torch/nn/functional.py", 2301, "embedding"),
            frame(f"{root}/torch/nn/modules/module.py", 1751, "_call_impl"),
            frame("/home/u/shop/model.py", 10 + number, "forward"), frame("/home/u/shop/train.py", 80, "main"),
        )
        for number in range(3)
    ]  # fmt: skip
    return pickle.dumps({"segments": [], "device_traces": [trace]})


def dotnet() -> bytes:
    """Of .NET, whose first value isn't memory."""
    load, parse = ("Acme.Orders.Load", "/src/Orders.cs", 10), ("Acme.Json.Parse", "/src/Json.cs", 8)
    run = ("Acme.Program.Main", "/src/Program.cs", 3)
    builder = Builder(
        ("cpu", "nanoseconds"), ("alloc_samples", "count"), ("alloc_size", "bytes"), ("lock_count", "count")
    )
    for place, size in ((load, 300 * MIB), (parse, 20 * MIB)):
        builder.sample([builder.location(each) for each in (place, run)], 10**9, 5, size, 0)
    return builder.bytes()


def zeros() -> bytes:
    """A heap whose one array has only zeros."""
    dump = Dump()
    dump.klass(0x100, "java/lang/Object")
    dump.numbers(0x200, BYTE, bytes(MIB))
    dump.add(0x01, "PP", 0x200, 1)
    return dump.end()


MODEL = "model.py:10 10 MiB (33%); model.py:11 10 MiB (33%); model.py:12 10 MiB (33%)"
HEADLINES: dict[str, tuple[Callable[[], bytes], str]] = {
    "dhat-heap.json": (dhat, "book.rs:7 book::fill() 7 MiB (70%); book.rs:17 book::parse() 3 MiB (30%)"),
    "jemalloc.pb": (jemalloc, "book.rs:7 book::fill() 15 MiB (75%); book.rs:17 book::parse() 5 MiB (25%)"),
    "build.pb": (below_build, "store.go:16 store.Fill() 40 MiB (100%)"),
    "heaptrack.shop.1.gz": (heaptrack, "book.rs:24 patterns::{{closure}}() 2 MiB (100%)"),
    "massif.out.shop": (lambda: MASSIF, "book.rs:7 book::fill() 1000 B (100%)"),
    "source.pickle": (
        lambda: torch("/home/u/pytorch"), MODEL,
    ),
    "installed.pickle": (
        lambda: torch("/usr/lib/python3/dist-packages"),
        MODEL,
    ),
    "goroot.pb": (lambda: go("$GOROOT"), "load.go:12 main.load() 30 MiB (100%)"),
    "mise.pb": (
        lambda: go("/home/u/.local/share/mise/installs/go/1.22.1"), "load.go:12 main.load() 30 MiB (100%)",
    ),
}  # fmt: skip
SENTENCES: dict[str, tuple[Callable[[], bytes], str]] = {
    **{name: (made, f"Held by {held}.") for name, (made, held) in HEADLINES.items()},
    "dotnet.pb": (dotnet, "Alloc size: 320 MiB. Most in Orders.cs:10 Acme.Orders.Load() 300 MiB (94%); "),
    "difference.pb": (
        of_one_sum, "Allocated in total, as a difference: 0 B. Grew most: main.go:483 main.startSpan() 512 KiB.",
    ),
    "one.hprof": (zeros, "1 byte[] holds only zeros, 1 MiB (100% of the reachable heap). Allocate it when"),
}  # fmt: skip


@pytest.mark.parametrize("name", SENTENCES)
def test_the_headline_names_the_programs_own_line(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made, sentence = SENTENCES[name]
    path = tmp_path / name
    path.write_bytes(made())
    assert main(["findings", str(path), "--cache-dir", str(tmp_path)]) == 0
    assert sentence in capsys.readouterr().out


def test_gems_are_libraries(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    libraries = [
        "/usr/local/bundle/gems/activerecord-7.0.8/lib/active_record/result.rb",
        "/home/u/.rbenv/versions/3.2.2/lib/ruby/gems/3.2.0/gems/json-2.7/lib/json.rb",
        "/var/lib/gems/3.1.0/gems/rack-3.0/lib/rack.rb",
        "/home/u/.rbenv/versions/3.2.2/lib/ruby/3.2.0/set.rb",
    ]
    array, arrays, texts, first = 0x100, 0x200, 0x300, 0x1000
    own, by_library = "/app/app/models/order.rb", range(first, first + 40 * 100, 40)
    of_arrays: dict[str, Any] = {"class": arrays}
    of_texts: dict[str, Any] = {"class": texts}
    made = ruby_files.made(
        ruby_files.root("vm", array),
        ruby_files.line(array, "ARRAY", by_library, **of_arrays, length=100, file=own, line=4, method="all",
                        memsize=840),
        ruby_files.line(arrays, "CLASS", name="Array", memsize=500),
        ruby_files.line(texts, "CLASS", name="String", memsize=500),
        *(
            ruby_files.line(each, "STRING", **of_texts, value="x", memsize=2040, line=9, method="load",
                            file=libraries[number % len(libraries)])
            for number, each in enumerate(by_library)
        ),
    )  # fmt: skip
    path = tmp_path / "heap.json"
    path.write_bytes(made)
    assert main(["lines", str(path), "--cache-dir", str(tmp_path)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[4] for row in rows if len(row) == 6 and ".rb:" in row[4] and row[-1] != "(library)"] == [
        f"{own}:4"
    ]
    assert len([row for row in rows if row[-1:] == ["(library)"]]) == len(libraries)
