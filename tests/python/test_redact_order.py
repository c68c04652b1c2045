"""What order, addresses and the runtime's caches tell of values in a Java dump can't be read from its copy."""

import re
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.python.graph_reading import load, type_names
from tests.python.hprof_files import OBJECT, Dump
from tests.python.redacted_files import names_of, redacted

from memlens.model.graph import NONE, Graph
from memlens.proof.items import Keeps
from memlens.proof.verify import verify

FIXTURES = Path(__file__).parents[1] / "fixtures" / "heap"
PIN, AGE = 7391, 34
FIRST = 0x20_0000
"""The address of the account whose values are looked for."""


def accounts(version: str = "1.0.2", id_bytes: int = 8) -> bytes:
    """Accounts with an age, a flag and a state, in a table by their PINs; the caches as Java has them."""
    dump = Dump(version, id_bytes)
    root = dump.klass(0x1000, "java/lang/Object")
    dump.klass(0x1040, "java/lang/Class", root)
    enum = dump.klass(0x1080, "java/lang/Enum", root)
    state = 0x10C0
    integer = dump.klass(0x1100, "java/lang/Integer", root)
    array = dump.klass(0x1140, "[Ljava/lang/Object;", root)
    integers = dump.klass(0x1180, "[Ljava/lang/Integer;", root)
    dump.klass(
        0x11C0,
        "java/lang/Integer$IntegerCache",
        root,
        statics=[("cache", OBJECT, 0x3000), ("<resolved_references>", OBJECT, 0x3040)],
    )
    dump.klass(
        0x1200, "java/lang/Boolean", root, statics=[("TRUE", OBJECT, 0x4000), ("FALSE", OBJECT, 0x4040)]
    )
    account = dump.klass(
        0x1240, "com/acme/Account", root, [("age", OBJECT), ("vip", OBJECT), ("state", OBJECT)]
    )
    names = ("ACTIVE", "LOCKED", "CLOSED")
    constants = [0x5000 + 0x40 * each for each in range(len(names))]
    dump.klass(state, "com/acme/State", enum,
               statics=[*((name, OBJECT, each) for name, each in zip(names, constants, strict=True)),
                        ("$VALUES", OBJECT, 0x6000)])  # fmt: skip
    dump.klass(0x1280, "com/acme/Main", root, statics=[("byPin", OBJECT, 0x7000)])
    cached = [0x1_0000 + 0x10 * each for each in range(256)]
    if version == "1.0.3":
        dump.add(0xFE, "IP", 1, dump.name("zygote"))
    for each in cached:
        dump.instance(each, integer)
    dump.objects(0x3000, integers, cached)
    dump.objects(0x3040, array, [FIRST])
    for each in (0x4000, 0x4040):
        dump.instance(each, 0x1200)
    for each in constants:
        dump.instance(each, state)
    dump.objects(0x6000, array, constants)
    if version == "1.0.3":
        dump.add(0xFE, "IP", 2, dump.name("app"))
    owners = [FIRST + 0x40 * each for each in range(12)]
    for number, each in enumerate(owners):
        age = cached[128 + AGE] if each == FIRST else cached[128 + number]
        dump.instance(
            each,
            account,
            "PPP",
            age,
            0x4000 if each == FIRST else 0x4040,
            constants[1 if each == FIRST else number % 3],
        )
    table = [0] * 10_000
    for number, each in enumerate(owners):
        table[PIN if each == FIRST else 100 + number] = each
    dump.objects(0x7000, array, table)
    for each in range(1, 15):
        dump.add(0x05, "P", 0x1000 + 0x40 * (each - 1))
    return dump.end()


def fields(graph: Graph, row: int) -> dict[str, int]:
    """What an object refers to, by the names of its fields."""
    start, end = graph.references.start[row : row + 2].tolist()
    named = names_of(graph, graph.references.name[start:end].tolist())
    return dict(zip(named, graph.references.target[start:end].tolist(), strict=True))


def rows_of(graph: Graph, name: str) -> list[int]:
    return [row for row, each in enumerate(type_names(graph)) if each == name]


def without_address(name: str) -> str:
    return re.sub(r"(?<=[+/.])0x[0-9a-f]+", "0x", name)


def shape(graph: Graph) -> Counter[tuple[str, int, str, int]]:
    """Which objects there are, but for their order and addresses: type, size, heap, number of references."""
    spaces = list(graph.spaces) or [""]
    out = np.diff(graph.references.start.astype(np.int64)).tolist()
    space = graph.objects.space.tolist() if graph.objects.space is not None else [0] * len(out)
    rows = zip(
        map(without_address, type_names(graph)), graph.objects.shallow.tolist(), space, out, strict=True
    )
    return Counter(
        (kind, size, spaces[at] if at < len(spaces) else "", count) for kind, size, at, count in rows
    )


@pytest.mark.parametrize(("version", "id_bytes"), [("1.0.2", 8), ("1.0.2", 4), ("1.0.3", 4)])
def test_values_cannot_be_told_by_the_runtimes_caches(version: str, id_bytes: int, tmp_path: Path) -> None:
    path, again = tmp_path / "accounts.hprof", tmp_path / "copy.hprof"
    path.write_bytes(accounts(version, id_bytes))
    before = load(path)
    places, ranks = set(), set()
    for _ in range(12):
        again.write_bytes(redacted(path, keeps_shared=False)[0])
        after = load(again)
        assert shape(before) == shape(after)
        owners = rows_of(after, "com.acme.Account")
        assert len(owners) == 12
        # one age, flag and state for all, each of the right type
        for name, kind in (
            ("age", "java.lang.Integer"),
            ("vip", "java.lang.Boolean"),
            ("state", "com.acme.State"),
        ):
            (one,) = {fields(after, row)[name] for row in owners}
            assert type_names(after)[one] == kind
        # what holds them still does
        for kind in ("java.lang.Integer", "java.lang.Boolean", "com.acme.State"):
            assert set(rows_of(after, kind)) <= set(after.references.target.tolist())
        (table,) = [
            row for row in rows_of(after, "java.lang.Object[]") if after.objects.shallow[row] > 10_000
        ]
        start, end = after.references.start[table : table + 2].tolist()
        at = {
            int(target): int(place)
            for target, place in zip(
                after.references.target[start:end], after.references.name[start:end], strict=True
            )
        }
        places.add(at[owners[0]])
        ranks.add(tuple(np.argsort(after.objects.ids[owners]).tolist()))
        (said,) = [each for each in after.warnings if each.code == "redirected-references"]
        assert said.said.values["n"].text not in ("0", "")
    assert len(places) > 6
    assert len(ranks) > 6


def test_a_copy_that_keeps_the_order_is_as_the_dump(tmp_path: Path) -> None:
    path, again = tmp_path / "accounts.hprof", tmp_path / "copy.hprof"
    path.write_bytes(accounts())
    again.write_bytes(redacted(path)[0])
    before, after = load(path), load(again)
    assert np.array_equal(before.references.target, after.references.target)
    assert np.array_equal(before.objects.ids, after.objects.ids)


@pytest.mark.parametrize("name", ["sessions.hprof.zst", "ran_out.hprof.zst"])
def test_types_sizes_roots_and_threads_are_those_of_the_dump(name: str, tmp_path: Path) -> None:
    before, again = load(FIXTURES / name), tmp_path / "copy.hprof"
    again.write_bytes(redacted(FIXTURES / name, keeps_shared=False)[0])
    after = load(again)
    assert shape(before) == shape(after)
    for setting in ("reference_bytes", "object_header_bytes", "object_alignment_bytes"):
        assert before.settings[setting] == after.settings[setting]
    assert Counter(before.roots["kind"].tolist()) == Counter(after.roots["kind"].tolist())
    for each in ("name", "state"):
        assert sorted(names_of(before, before.threads.rows[each].tolist())) == sorted(
            names_of(after, after.threads.rows[each].tolist())
        )
    frames = [
        [each._replace(function=without_address(each.function)) for each in graph.frames.frames]
        for graph in (before, after)
    ]
    assert frames[0] == frames[1]
    assert int((before.threads.rows["object"] != NONE).sum()) == int(
        (after.threads.rows["object"] != NONE).sum()
    )


ADDRESSES = ("0x00007f41800075b0", "0x000000080003e000", "0x00007F4180001000")
MADE = (
    f"com/acme/Main$$Lambda$14+{ADDRESSES[0]}",
    f"[Lcom/acme/Main$$Lambda$14+{ADDRESSES[0]};",
    f"java/util/stream/Collectors$$Lambda$27/{ADDRESSES[1]}",
    f"java.lang.invoke.LambdaForm$MH/{ADDRESSES[2]}",
)


def with_hidden_classes(names: tuple[str, ...] = MADE) -> bytes:
    dump = Dump()
    root = dump.klass(0x1000, "java/lang/Object")
    for number, name in enumerate(names):
        dump.instance(0x20_0000 + 0x40 * number, dump.klass(0x2000 + 0x100 * number, name, root))
        dump.add(0x05, "P", 0x2000 + 0x100 * number)
    return dump.end()


@pytest.mark.parametrize("renamed", [False, True])
@pytest.mark.parametrize("keeps_threads", [False, True])
def test_addresses_of_hidden_classes_become_numbers(
    renamed: bool, keeps_threads: bool, tmp_path: Path
) -> None:
    path, again = tmp_path / "hidden.hprof", tmp_path / "copy.hprof"
    path.write_bytes(with_hidden_classes())
    seen = set[tuple[str, ...]]()
    for _ in range(20):
        mapping: list[str] | None = [] if renamed else None
        data, _ = redacted(path, mapping=mapping, keeps_shared=False, keeps_threads=keeps_threads)
        again.write_bytes(data)
        assert not [each for each in ADDRESSES if each.lower().encode() in data.lower()]
        assert verify(path, again, Keeps(time=True)).found == []
        names = [name.replace("/", ".") for name in type_names(load(again))]
        numbers = [found[0] for name in names if (found := re.search("0x[0-9a-f]{16}", name))]
        assert {int(each, 16) for each in numbers} == {1, 2, 3}
        seen.add(tuple(sorted(name for name in names if "Collectors" in name or "LambdaForm" in name)))
        # a class and the arrays of it have one number, and what else the name says stays
        plain, array = sorted(name.rstrip("[];").lstrip("[L") for name in names if "$$Lambda$14" in name)
        assert plain == array
        assert any(name.startswith("java.util.stream.Collectors$$Lambda$27") for name in names)
    assert len(seen) > 3
    # with the order they stay
    assert all(each.encode() in redacted(path)[0] for each in ADDRESSES)
    again.write_bytes(redacted(path)[0])
    found = verify(path, again, Keeps(time=True)).found
    assert {each.what for each in found if "class" in each.stands} == {*ADDRESSES}
    assert {each.stands for each in found} == {"address in the name of a class", "id of a text"}
    assert verify(path, again, Keeps(time=True, shared=True)).found == []


def texts_of(data: bytes) -> list[tuple[int, bytes]]:
    """The ids and texts of a dump, in their order, without those that a copy says of itself."""
    at, found = data.index(b"\0") + 13, []
    while at < len(data):
        tag, _, size = struct.unpack_from(">BII", data, at)
        own = int.from_bytes(data[at + 9 : at + 17], "big")
        if tag == 1 and own < 1 << 62:
            found.append((own, data[at + 17 : at + 9 + size]))
        at += 9 + size
    return found


def test_a_text_is_not_told_by_its_place_in_the_table_of_symbols(tmp_path: Path) -> None:
    """HotSpot writes its symbols by their hashes, so that what stands between two known ones could be guessed."""
    dump = Dump()
    root = dump.klass(0x1000, "java/lang/Object")
    for number in range(60):
        dump.name(f"secret of {number}")
        dump.klass(
            0x2000 + 0x100 * number, f"com/acme/Plugin{'n' * number}", root, [(f"field{number}", OBJECT)]
        )
    dump.instance(0x20_0000, root)
    dump.add(0x05, "P", 0x1000)
    path, again = tmp_path / "symbols.hprof", tmp_path / "copy.hprof"
    path.write_bytes(dump.end())
    before = texts_of(path.read_bytes())
    named = [text for _, text in before if b"secret" not in text]
    orders = set[tuple[bytes, ...]]()
    for _ in range(6):
        again.write_bytes(redacted(path, keeps_shared=False)[0])
        after = texts_of(again.read_bytes())
        assert not {own for own, _ in before if own >> 24} & {own for own, _ in after}
        # those that name nothing aren't there at all
        assert Counter(text for _, text in after) == Counter(named)
        orders.add(tuple(text for _, text in after))
        assert verify(path, again, Keeps(time=True)).found == []
        assert shape(load(path)) == shape(load(again))
    assert len({*orders, tuple(named)}) == 7
    again.write_bytes(redacted(path)[0])
    assert {each.stands for each in verify(path, again, Keeps(time=True)).found} == {
        "id of a text",
        "order of texts",
    }
    assert verify(path, again, Keeps(time=True, shared=True)).found == []
