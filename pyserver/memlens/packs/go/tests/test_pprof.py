"""The pprof reader against an independent decoder, and with damaged files."""

import gzip
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.conftest import real_profiles
from tests.python.recordings import (
    DHAT,
    GO,
    GO_TEXT,
    HEAPTRACK,
    JEMALLOC,
    MASSIF,
    MEMRAY,
    TCMALLOC,
    TRACEMALLOC,
)
from tests.python.recordings import PPROF as OWN_PPROF
from tests.python.replays.pprof import Message, message_of
from tests.python.tries import tries

from memlens.errors import MemlensError
from memlens.formats import read
from memlens.formats.containers import open_source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.model.profile import Profile
from memlens.packs.go import pprof
from memlens.packs.go.pruning import patterns_of, simplified
from memlens.packs.go.tests.pprof_files import Builder, encode

LEGACY = ("go.crc32.cpu", "gobench.cpu", "java.cpu", "cppbench.cpu")
"""Profiles in pprof's former binary format."""
REAL = (
    OWN_PPROF
    + [
        path
        for where in ("pprof/*.pb.gz", "gperftools/*.pb.gz", "public/parca/*", "public/flameshow/*.out")
        for path in real_profiles(where)
    ]
    + [path for path in real_profiles("public/google-pprof/*.cpu") if path.name not in LEGACY]
)
OTHERS = (
    [GO_TEXT, TCMALLOC, JEMALLOC, MASSIF, DHAT, HEAPTRACK, TRACEMALLOC, MEMRAY]
    + [
        path
        for where in (
            "*/*.heap",
            "massif/*",
            "dhat/*",
            "heaptrack/*",
            "tracemalloc/*",
            "memray/*.bin",
            "public/*/*.heap",
        )
        for path in real_profiles(where)
    ]
    + [path for path in real_profiles("public/google-pprof/*.cpu") if path.name in LEGACY]
)


def profile_of(path: Path, tmp_path: Path) -> Profile:
    with open_source(path, tmp_path, lambda *_: None) as source:
        found = read(source, tmp_path, lambda *_: None)
    assert isinstance(found, Profile)
    return found


def made(data: bytes, tmp_path: Path) -> Profile:
    path = tmp_path / "made.pb"
    path.write_bytes(data)
    return profile_of(path, tmp_path)


def stacks_of(profile: Profile) -> list[list[tuple[str, str, int]]]:
    """Each sample's frames, innermost first, as function, file and line; without marks of cut stacks."""
    frames = [(each.function, each.file, each.line) for each in profile.frames.frames]
    starts = profile.frames.starts.tolist()
    ids = profile.frames.sequence.tolist()
    return [
        [
            frames[number]
            for number in ids[starts[stack] : starts[stack + 1]]
            if "(cut off" not in frames[number][0]
        ]
        for stack in profile.stacks.tolist()
    ]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_profiles_agree_with_the_independent_decoder(path: Path, tmp_path: Path) -> None:
    """Samples in their order, labels and sizes; stacks and lines are in ``test_replays.py``."""
    message = message_of(path)
    strings = message["string_table"]
    profile = profile_of(path, tmp_path)
    types = [(strings[each["type"]], strings[each["unit"]]) for each in message["sample_type"]]
    assert [(each.name, each.unit) for each in profile.value_types] == types
    values = np.array([sample["value"] for sample in message["sample"]], np.int64)
    assert np.array_equal(np.stack(profile.values, axis=1), values)
    default = strings[message.get("default_sample_type", 0)]
    names = [name for name, _ in types]
    wanted = names.index(default) if default in names else len(types) - 1
    if values[:, wanted].any() and not types[wanted][1].endswith("seconds"):
        assert profile.default_value == wanted
    else:
        with_samples = [number for number in range(len(types)) if values[:, number].any()] or [wanted]
        in_bytes = [number for number in with_samples if types[number][1] == "bytes"]
        assert profile.default_value in (in_bytes or with_samples)
    labels: Counter[tuple[Any, ...]] = Counter()
    sizes = np.zeros(len(values), np.int64)
    for number, sample in enumerate(message["sample"]):
        for label in sample.get("label", []):
            key, text = strings[label["key"]], strings[label.get("str", 0)]
            labels[number, key, text, label.get("num", 0), strings[label.get("num_unit", 0)]] += 1
            if key == "bytes" and not text:
                sizes[number] = label["num"]
    strings = profile.strings | {0: ""}
    assert labels == Counter(
        (sample, strings[key], strings[text], number, strings[unit])
        for sample, key, text, number, unit in profile.labels.tolist()
    )
    assert (profile.sizes is None) == (not sizes.any())
    if profile.sizes is not None:
        assert np.array_equal(profile.sizes, sizes)


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_other_files_are_not_taken_for_profiles(path: Path, tmp_path: Path) -> None:
    try:
        with open_source(path, tmp_path, lambda *_: None) as source:
            assert not pprof.sniff(source.head())
    except MemlensError:
        pass  # its compressed data is damaged


def test_random_and_common_bytes_are_not_taken_for_profiles() -> None:
    chance = random.Random(1)
    taken = sum(pprof.sniff(chance.randbytes(4096)) for _ in range(20_000))
    assert taken == 0
    for head in (b"", b"\n", b"\n\n\n", b"\n\x02hi\n\x02ho", b"PK\x03\x04", b"%PDF-1.7", b"\x7fELF\x02\x01\x01",
                 b"\x80\x04\x95", b"{}", b"Hello world, this is text\n", b"\x1f\x8b\x08", bytes(100)):  # fmt: skip
        assert not pprof.sniff(head), head


def build() -> Builder:
    """Inlined frames, a location without lines, one without a mapping, recursion, labels of both kinds."""
    builder = Builder(("alloc_objects", "count"), ("alloc_space", "bytes"))
    message = builder.message
    message["mapping"] = [{"id": 3, "memory_start": 4096, "filename": builder.text("/usr/lib/libx.so.2")}]
    inlined = builder.location(("inner", "/src/a.cc", 3), ("outer", "/src/a.cc", 9), mapping=3)
    bare = builder.location(address=0x1234, mapping=3)
    nowhere = builder.location(address=0x99)
    main = builder.location(("main", "/src/main.cc", 20))
    builder.sample([inlined, bare, main], 2, 64, bytes=32, thread="worker")
    builder.sample([nowhere, main, main], 1, 8)
    builder.sample([], 5, 5)
    return builder


def test_rare_but_valid_profiles(tmp_path: Path) -> None:
    for packed in (True, False):
        profile = made(build().bytes(packed=packed), tmp_path)
        assert stacks_of(profile) == [
            [("inner", "/src/a.cc", 3), ("outer", "/src/a.cc", 9), ("libx.so.2 at 0x1234", "/usr/lib/libx.so.2", 0),
             ("main", "/src/main.cc", 20)],
            [("0x99", "", 0), ("main", "/src/main.cc", 20), ("main", "/src/main.cc", 20)],
            [],
        ]  # fmt: skip
        assert [column.tolist() for column in profile.values] == [[2, 1, 5], [64, 8, 5]]
        assert profile.sizes is not None
        assert profile.sizes.tolist() == [32, 0, 0]
        assert [warning.code for warning in profile.warnings] == ["no-symbols"]
    # fields of a later version are skipped, and fields may be in any order
    whole = build().bytes()
    later = whole[6:12] + b"\xfa\x01\x03abc" + whole[12:] + b"\xf0\x01\x07" + whole[:6]
    assert (whole[:2], whole[6:8]) == (b"\x0a\x04", b"\x0a\x04")
    assert stacks_of(made(later, tmp_path)) == stacks_of(profile)
    assert stacks_of(made(gzip.compress(later), tmp_path)) == stacks_of(profile)


def test_stacks_have_no_more_frames_than_the_file_can_stand_for(tmp_path: Path) -> None:
    builder = Builder(("inuse_space", "bytes"))
    inlined = builder.location(*(("main.run", "/src/main.go", line) for line in range(4000)))
    builder.sample([inlined] * 10, 1)
    profile = made(builder.bytes(), tmp_path)
    assert max(map(len, stacks_of(profile))) == 40_000
    builder.sample([inlined] * 4000, 1)
    data = gzip.compress(builder.bytes())
    with pytest.raises(DamagedSnapshotError, match="16,040,000 frames, which is more than"):
        made(data, tmp_path)


def test_default_value(tmp_path: Path) -> None:
    builder = build()
    assert made(builder.bytes(), tmp_path).default_value == 1
    builder.message["default_sample_type"] = builder.text("alloc_objects")
    assert made(builder.bytes(), tmp_path).default_value == 0
    builder.message["default_sample_type"] = builder.text("no such type")
    assert made(builder.bytes(), tmp_path).default_value == 1


@pytest.mark.parametrize(
    ("types", "values", "shown"),
    [
        # .NET's profiles, which name none
        (
            "cpu:nanoseconds alloc_size:bytes lock_count:count lock_time:nanoseconds",
            (9, 5, 0, 0),
            "alloc_size",
        ),
        (
            "cpu:nanoseconds alloc_size:bytes lock_count:count lock_time:nanoseconds",
            (9, 5, 1, 7),
            "alloc_size",
        ),
        (
            "alloc_objects:count alloc_space:bytes inuse_objects:count inuse_space:bytes",
            (1, 8, 0, 0),
            "alloc_space",
        ),
        (
            "alloc_objects:count alloc_space:bytes inuse_objects:count inuse_space:bytes",
            (0, 0, 0, 0),
            "inuse_space",
        ),
        ("cpu:nanoseconds wall:nanoseconds", (9, 0), "cpu"),
    ],
)
def test_the_value_shown_first_has_samples_and_is_of_memory(
    types: str, values: tuple[int, ...], shown: str, tmp_path: Path
) -> None:
    builder = Builder(*((name, unit) for name, _, unit in (each.partition(":") for each in types.split())))
    builder.sample([builder.location(("main.run", "/src/main.go", 4))], *values)
    profile = made(builder.bytes(), tmp_path)
    assert profile.value_types[profile.default_value].name == shown


def test_difference_has_a_warning(tmp_path: Path) -> None:
    builder = build()
    builder.sample([builder.location(("main", "/src/main.cc", 20))], -2, -64, **{"pprof::base": "true"})
    profile = made(builder.bytes(), tmp_path)
    assert int(profile.values[1].sum()) == 64 + 8 + 5 - 64
    assert {"difference", "negative"} <= {warning.code for warning in profile.warnings}


def test_stacks_that_were_cut_off_are_marked(tmp_path: Path) -> None:
    builder = Builder(("inuse_space", "bytes"))
    deep = [builder.location((f"f{n}", "a.go", n + 1)) for n in range(31)]
    whole = [*deep, builder.location(("runtime.main", "proc.go", 250))]
    cut = [*deep, builder.location(("f99", "a.go", 99))]
    # inlined frames count, and all frames of the last location are written
    inlined = [*deep[:30], builder.location(("g1", "a.go", 1), ("g2", "a.go", 2), ("g3", "a.go", 3))]
    # the allocator's own frame was the first of 32
    hidden = [*deep[:30], builder.location(("f98", "a.go", 98))]
    # its outermost function is also that of a shorter stack
    begun = [*deep[:30], builder.location(("worker", "a.go", 7))]
    for stack in (whole, cut, cut, inlined, hidden, begun, begun[-9:], deep[:20]):
        builder.sample(stack, 10)
    profile = made(builder.bytes(), tmp_path)
    names = [frame.function for frame in profile.frames.frames]
    starts = profile.frames.starts.tolist()
    outermost = [names[profile.frames.sequence[end - 1]] for end in starts[1:]]
    mark = "(cut off after 32 calls)"
    assert outermost == ["runtime.main", mark, mark, mark, mark, "worker", "worker", "f19"]
    assert [len(stack) for stack in stacks_of(profile)] == [32, 32, 32, 33, 31, 31, 9, 20]
    assert "4 of 8 samples" in profile.warnings[0].message


def test_a_cpu_profile_keeps_its_runtime_frames(tmp_path: Path) -> None:
    builder = Builder(("cpu", "nanoseconds"))
    deep = [builder.location((f"f{n}", "a.go", n + 1)) for n in range(63)]
    for last in ("runtime.main", "f99", "f99"):
        builder.sample([*deep, builder.location((last, "a.go", 99))], 10)
    builder.sample(deep, 10)
    profile = made(builder.bytes(), tmp_path)
    assert "2 of 4 samples" in profile.warnings[0].message


@pytest.mark.parametrize(
    ("text", "proto", "truncated"),
    [
        (GO_TEXT, GO, 0),
        *(
            (path, path.with_name("go-heap-mid.pb.gz"), 5_316)
            for path in real_profiles("pprof/go-heap-mid.debug1.txt.zst")
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_both_formats_of_a_heap_have_the_same_truncated_stacks(
    text: Path, proto: Path, truncated: int, tmp_path: Path
) -> None:
    """The text has the addresses as Go recorded them, whose number Go limits."""
    found: list[Counter[tuple[str, ...]]] = []
    for path in (text, proto):
        profile = profile_of(path, tmp_path)
        names = [frame.function for frame in profile.frames.frames]
        starts, ids = profile.frames.starts.tolist(), profile.frames.sequence.tolist()
        stacks = [
            tuple(names[number] for number in ids[starts[s] : starts[s + 1]]) for s in profile.stacks.tolist()
        ]
        # the text does not have inlined frames beyond the limit
        found.append(
            Counter(stack[: min(len(stack) - 1, 29)] for stack in stacks if stack and "cut off" in stack[-1])
        )
    assert found[0].total() == found[1].total() == truncated
    assert found[0] == found[1]


def test_frames_are_dropped_as_pprof_drops_them(tmp_path: Path) -> None:
    """``Prune`` of profile/prune.go: drops frames from the outermost match on, but none above the first kept frame."""
    builder = Builder(("inuse_space", "bytes"))
    malloc = builder.location(("malloc", "m.c", 1))
    hook = builder.location(("tcmalloc::hook(int)", "t.cc", 2))
    kept = builder.location(("tcmalloc::keep", "t.cc", 3))
    inlined = builder.location(("leaf", "a.cc", 4), ("malloc", "m.c", 5), ("caller", "a.cc", 6))
    main = builder.location(("main", "a.cc", 7))
    for stack in (
        [malloc, main],
        [hook, malloc, main],
        [kept, main],
        [inlined, main],
        [main, malloc],
        [malloc],
    ):
        builder.sample(stack, 1)
    builder.message["drop_frames"] = builder.text("malloc|(x::)?tcmalloc::.*")
    builder.message["keep_frames"] = builder.text("tcmalloc::keep")
    names = [[frame[0] for frame in stack] for stack in stacks_of(made(builder.bytes(), tmp_path))]
    assert names == [
        ["main"], ["main"], ["tcmalloc::keep", "main"], ["caller", "main"], ["main", "malloc"], ["malloc"],
    ]  # fmt: skip


def test_slow_patterns_are_not_used() -> None:
    for pattern in (
        "(a+)+b",
        "(.*)*",
        "a*b*c*d*",
        "(a|a)(a|a)(a|a)" * 8,
        "(a*|b)" * 3,
        r"(a)\1",
        "a?" * 30,
        "(",
    ):
        assert patterns_of(pattern, "") is None, pattern
        assert patterns_of("a", pattern) is None, pattern
    # each alternative is fast, and all together are slow for many names
    slow, names = "|".join([".*.*a"] * 2_000), [f"{'b' * 1_000}{each}" for each in range(100)]
    assert patterns_of(slow, "", names) is None
    assert patterns_of("malloc", slow, names) is None
    many = "|".join(f"(x::)?name{each}.*" for each in range(200))
    assert patterns_of(many, "", ["some::function"] * 50_000) is not None
    dropped = patterns_of(r"malloc|operator new(\[\])?|(base::)?Lock.*", "LockKept")
    assert dropped is not None
    found = [name for name in ("malloc", "mallocx", "operator new[](unsigned long)", "base::Locked", "LockKept")
             if dropped(name)]  # fmt: skip
    assert found == ["malloc", "operator new[](unsigned long)", "base::Locked"]
    assert simplified(".a::(anonymous namespace)::operator()(int)") == "a::(anonymous namespace)::operator()"


def _without(field: str) -> Callable[[Message], None]:
    return lambda message: message.pop(field)


def _set(path: tuple[Any, ...], value: Any) -> Callable[[Message], None]:
    def change(message: Message) -> None:
        at: Any = message
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (_without("sample_type"), NotASnapshotError, "no types of values"),
        (_without("string_table"), DamagedSnapshotError, "refers to string"),
        (_set(("string_table", 0), "x"), DamagedSnapshotError, "first string"),
        (_without("location"), DamagedSnapshotError, "refers to location"),
        (_without("function"), DamagedSnapshotError, "refers to function"),
        (_without("mapping"), DamagedSnapshotError, "refers to mapping"),
        (_set(("location", 0, "id"), 0), DamagedSnapshotError, "has no id"),
        (_set(("location", 0, "id"), 8), DamagedSnapshotError, "the same id"),
        (_set(("sample", 1, "value"), [1]), DamagedSnapshotError, "1 values"),
        (_set(("sample", 1, "value"), [2**62, 1]), DamagedSnapshotError, "sum of the values"),
        (_set(("function", 0, "name"), 2**40), DamagedSnapshotError, "refers to string"),
        (_set(("sample", 0, "label", 0, "key"), 2**63), DamagedSnapshotError, "refers to string"),
    ],
)
def test_inconsistent_profiles_are_rejected(
    change: Callable[[Message], None], error: type[MemlensError], words: str, tmp_path: Path
) -> None:
    builder = build()
    change(builder.message)
    with pytest.raises(error, match=words):
        made(encode(builder.message), tmp_path)


@pytest.mark.slow
def test_damaged_files_are_rejected(tmp_path: Path) -> None:
    whole = build().bytes()
    chance = random.Random(7)
    damaged = [whole[:end] for end in range(1, len(whole))]
    for _ in range(tries(1500)):
        changed = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            changed[chance.randrange(len(changed))] = chance.choice(
                (0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256))
            )
        damaged.append(bytes(changed))
    outcomes: Counter[str] = Counter()
    path = tmp_path / "damaged.pb"
    for data in damaged:
        path.write_bytes(data)
        try:
            with open_source(path, tmp_path, lambda *_: None) as source:
                outcomes[type(read(source, tmp_path, lambda *_: None)).__name__] += 1
        except MemlensError as error:
            outcomes[type(error).__name__] += 1
    assert outcomes["DamagedSnapshotError"] > 300
    assert outcomes["Profile"] > 100
