"""Which objects of a Ruby program were made first, or one after the other, can't be read from the copy of its dump."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.graph_reading import load, type_names
from tests.python.redacted_files import redacted

from memlens.model.graph import NONE, Graph
from memlens.packs.ruby.tests import ruby_files
from memlens.packs.ruby.tests.ruby_files import line, made, root
from memlens.proof.items import Keeps
from memlens.proof.verify import verify

FIRST, SLOT = 0x7F19_8000_0000, 0x28
CUSTOMERS = ("Demirel", "Sorensen", "Jovic", "Brandt", "Vandorff", "Okonjo", "Kessler", "Ferreira", "Haddad", "Rahimi",
             "Castellan", "Lindqvist")  # fmt: skip


def desk(shapes: bool = False) -> bytes:
    """Customers in the order of their ids, each of a class that has a last name, as plugins have; groups by state."""
    base = 0x7F19_7000_0000
    klass, array, string, account_class = (base + SLOT * each for each in range(4))
    lines = [
        root("vm", klass, array, string, 0x7F19_6000_0000),
        *(line(each, "CLASS", [klass], **{"class": klass}, name=name, memsize=500)
          for each, name in ((klass, "Class"), (array, "Array"), (string, "String"), (account_class, "Account"))),
    ]  # fmt: skip
    accounts = []
    for number, name in enumerate(CUSTOMERS):
        own, account, text = (FIRST + SLOT * (3 * number + each) for each in range(3))
        more: dict[str, Any] = {"shape_id": 40 + number} if shapes else {}
        lines += [
            line(own, "CLASS", [klass], **{"class": klass}, superclass=account_class, name=f"{name}Account",
                 memsize=400),
            # the last one refers to an object that is gone
            line(account, "OBJECT", [own, text, *([FIRST - SLOT] if number == 11 else [])], **{"class": own}, ivars=3,
                 memsize=40, **more),
            line(text, "STRING", **{"class": string}, value=f"user{number}", bytesize=5 + number, memsize=40),
        ]  # fmt: skip
        accounts.append(account)
    groups = [FIRST + 0x1000 + SLOT * each for each in range(3)]
    lines += [
        line(each, "ARRAY", accounts[at::3], **{"class": array}, length=4) for at, each in enumerate(groups)
    ]
    lines.append(root("global_tbl", *groups))
    return made(*lines)


def rows(data: bytes) -> list[dict[str, Any]]:
    """The lines after the first one, which is the mark of a copy."""
    return [json.loads(each) for each in data.splitlines()[1:]]


def addresses(row: dict[str, Any]) -> list[str]:
    own = [row[each] for each in ("address", "class", "superclass") if each in row]
    return own + row.get("references", [])


def outline(graph: Graph) -> Counter[int]:
    """What each object is, and what it refers to, and what these refer to: equal for equal graphs in any order."""
    starts, targets = graph.references.start.astype(np.int64).tolist(), graph.references.target.tolist()
    held = Counter((int(row["object"]), graph.root_kinds[int(row["kind"])]) for row in graph.roots)
    roots: dict[int, list[str]] = {}
    for (number, kind), count in held.items():
        roots.setdefault(number, []).append(f"{kind} {count}")
    kinds, shallow = type_names(graph), graph.objects.shallow.tolist()
    found = [
        hash((kind, size, tuple(sorted(roots.get(at, [])))))
        for at, (kind, size) in enumerate(zip(kinds, shallow, strict=True))
    ]
    for _ in range(3):
        found = [
            hash((own, *sorted(found[each] for each in targets[starts[at] : starts[at + 1]] if each != NONE)))
            for at, own in enumerate(found)
        ]
    return Counter(found)


def test_who_was_first_is_not_told_by_addresses_or_order(tmp_path: Path) -> None:
    path = tmp_path / "desk.json"
    path.write_bytes(desk())
    before = rows(b"\n" + path.read_bytes())
    old = {each for row in before for each in addresses(row)}
    by_address, by_line = set[tuple[str, ...]](), set[tuple[str, ...]]()
    for _ in range(12):
        after = rows(redacted(path, keeps_shared=False)[0])
        assert not old & {each for row in after for each in addresses(row)}
        named = [row for row in after if row.get("superclass")]
        by_line.add(tuple(row["name"] for row in named))
        by_address.add(tuple(row["name"] for row in sorted(named, key=lambda row: int(row["address"], 16))))
        # the groups, too
        assert Counter(row["type"] for row in after) == Counter(row["type"] for row in before)
    assert len(by_line) == len(by_address) == 12
    named = [row["name"] for row in before if row.get("superclass")]
    assert tuple(named) not in by_line | by_address


def test_types_sizes_references_and_roots_are_those_of_the_dump(tmp_path: Path) -> None:
    for name, data in (("small", ruby_files.small()), ("desk", desk()), ("recorded", ruby_files.recorded())):
        path, copy = tmp_path / f"{name}.json", tmp_path / f"{name}-copy.json"
        path.write_bytes(data)
        copy.write_bytes(redacted(path, keeps_shared=False)[0])
        before, after = load(path), load(copy)
        assert outline(before) == outline(after)
        assert {each.code for each in after.warnings} >= {each.code for each in before.warnings}
        frames = [Counter(each.frames.frames) for each in (before, after)]
        assert frames[0] == frames[1]


def test_the_numbers_of_shapes_go_unless_the_order_stays(tmp_path: Path) -> None:
    path = tmp_path / "shapes.json"
    path.write_bytes(desk(shapes=True))
    assert b"shape_id" not in redacted(path, keeps_shared=False)[0]
    again = redacted(path)[0]
    assert [row.get("shape_id") for row in rows(again)] == [
        row.get("shape_id") for row in rows(b"\n" + path.read_bytes())
    ]
    assert [addresses(row) for row in rows(again)] == [
        addresses(row) for row in rows(b"\n" + path.read_bytes())
    ]


@pytest.mark.parametrize("step", [1, 0x28])
@pytest.mark.parametrize("base", [1, 0x1_0000, 0x1_0000_0028, 0xFFFF_FFFF_0000_0000])
def test_addresses_of_any_form_get_others(base: int, step: int, tmp_path: Path) -> None:
    """Short ones become longer, ones that are no multiples of eight too, and no new one is an old one."""
    count = 8_000
    own = [base + step * each for each in range(count)]
    lines = [line(own[0], "ARRAY", own)]
    lines += [line(each, "STRING", **{"class": own[0]}, memsize=40 + at) for at, each in enumerate(own) if at]
    lines += [b'{"address" : "%b", "type":"STRING", "references":["0x3","%b" ,"%b"]}'
              % (hex(base + step * count).encode(), hex(own[1]).encode(), hex(own[2]).encode())]  # fmt: skip
    path, copy = tmp_path / "any.json", tmp_path / "copy.json"
    path.write_bytes(made(*lines[:-1]) + lines[-1] + b"\r\n\n[1]\n" + b'{"address":"0x1')
    data, note = redacted(path, keeps_shared=False, allows_damage=True)
    copy.write_bytes(data)
    assert note is not None
    assert data.endswith(b"\n{")
    assert data.count(b"\n{}\n") == 1
    before, after = load(path), load(copy)
    assert outline(before) == outline(after)
    assert before.facts.truncated
    assert after.facts.truncated
    assert not set(own) & set(after.objects.ids.tolist())
    sizes = after.objects.shallow[after.objects.shallow > 40].tolist()
    assert sizes != sorted(sizes)
    # a chunk's neighbours aren't neighbours any more
    assert np.mean(np.abs(np.diff(np.array(sizes, np.int64))) < 10) < 0.05


def test_verify_finds_addresses_and_order_that_stayed(tmp_path: Path) -> None:
    path, copy = tmp_path / "desk.json", tmp_path / "copy.json"
    path.write_bytes(desk())
    good = redacted(path, keeps_shared=False)[0]
    copy.write_bytes(good)
    assert verify(path, copy, Keeps()).found == []
    copy.write_bytes(redacted(path)[0])
    assert {each.stands for each in verify(path, copy, Keeps()).found} == {
        "address of an object", "address in class", "address in superclass", "address in references",
        "order of objects",
    }  # fmt: skip
    assert verify(path, copy, Keeps(shared=True)).found == []
    # each alone: an address in one place, and the order with other addresses
    one = hex(FIRST).encode()
    for place in ("address", "class", "references"):
        at = good.index(b'"0x', good.index(b'"%b":' % place.encode(), good.index(b"\n")))
        end = good.index(b'"', at + 1)
        copy.write_bytes(good[: at + 1] + one + good[end:])
        (found,) = verify(path, copy, Keeps()).found
        assert found.stands == f"address in {place}".replace("in address", "of an object")
    copy.write_bytes(redacted(path)[0].replace(b'"0x', b'"0x9'))
    assert {each.stands for each in verify(path, copy, Keeps()).found} == {"order of objects"}
