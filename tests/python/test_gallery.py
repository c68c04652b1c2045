"""All images of a heap dump side by side: groups and sums against a loop over the images, and thumbnails."""

import base64
import gzip
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.python.hprof_files import BYTE, INT, OBJECT
from tests.python.image_files import ImageDump, NativeImageDump
from tests.python.test_images_of_heaps import decoded
from tests.python.tries import tries

from memlens.cli import main
from memlens.errors import BadRequestError, CancelledError
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.views.findings.table import about
from memlens.views.heap.images import pixels
from memlens.views.heap.images.gallery import GalleryOrder, gallery
from memlens.views.heap.images.pixels import ImageAnswer, Thumbnail, thumbnails
from memlens.views.heap.listing.one_object import describe

Opened = Callable[[Path], Snapshot]
_ARRAY_HEADER = 12
"""Bytes, of a dump of Android's."""


class _Made(NamedTuple):
    own_id: int
    width: int
    height: int
    pixels: bytes | None
    array: int
    """What stands for the array of the pixels: images with the same one share it."""
    native: int
    is_held: bool


def _png_head(width: int, height: int, tail: bytes) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" + struct.pack(">II", width, height) + tail


def _random_dump(seed: int, path: Path) -> list[_Made]:
    """Bitmaps of few contents, some with one array, some with native memory, some with files that the dumper added."""
    rng = random.Random(seed)
    dump = NativeImageDump()
    made: list[_Made] = []
    natives, files = [], []
    arrays: dict[bytes, list[int]] = {}
    for number in range(rng.randint(1, 40)):
        width, height = rng.choice(((1, 2), (2, 1), (2, 2), (20, 30)))
        native = rng.choice((0, 0, 100, 5_000_000_000))
        of = rng.random()
        content = bytes([rng.randrange(3)]) * (4 * width * height)
        if of < 0.2:
            bitmap, data, array = dump.bitmap(width, height, None), None, -1
        elif of < 0.4:
            data, array = _png_head(width, height, content[:9]), -1
            natives.append(1000 + number)
            files.append(data)
            bitmap = dump.bitmap(width, height, None, native=1000 + number)
        else:
            data = content
            known = arrays.setdefault(content, [])
            array = rng.choice(known) if known and rng.random() < 0.3 else dump.numbers(dump.id(), BYTE, data)
            known.append(array)
            bitmap = dump.instance(dump.id(), dump.bitmap_class, "Pqii?", array, 0, width, height, True)
        if native:
            dump.register(bitmap, native)
        is_held = rng.random() < 0.7
        if is_held:
            dump.add(0xFF, "P", bitmap)
        made.append(_Made(bitmap, width, height, data, array, native, is_held))
    if natives:
        dump.dump_data(natives, files)
    path.write_bytes(dump.end())
    return made


def _expected(made: list[_Made], shallow: dict[int, int]) -> list[tuple[int, int, int, int, int]]:
    """Of each group of equal images the id of the one that is shown, count, bytes and what equal ones would free."""
    groups: dict[object, list[tuple[_Made, int]]] = {}
    seen: set[int] = set()
    for each in made:
        heap = shallow[each.array] if each.array >= 0 and each.array not in seen else 0
        seen.add(each.array)
        key: object = (
            each.own_id if each.pixels is None else (each.width, each.height, each.pixels, each.array >= 0)
        )
        groups.setdefault(key, []).append((each, heap))
    found = []
    for members in groups.values():
        sizes = [heap + each.native for each, heap in members]
        shown = members[sizes.index(max(sizes))][0].own_id
        heap = sum(heap for _, heap in members)
        found.append((shown, len(members), heap, sum(sizes) - heap, sum(sizes) - max(sizes)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(tries(30)))
def test_equal_images_are_grouped_as_by_brute_force(seed: int, opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "made.hprof"
    made = _random_dump(seed, path)
    snapshot = opened(path)
    ids, sizes = snapshot.objects.id.tolist(), snapshot.objects.shallow.tolist()
    shallow = dict(zip(ids, sizes, strict=True))
    place = {own_id: number for number, own_id in enumerate(ids)}
    made.sort(key=lambda each: place[each.own_id])
    orders: list[tuple[GalleryOrder, Callable[[tuple[int, ...]], tuple[int, ...]]]] = [
        ("bytes", lambda row: (-row[2] - row[3], place[row[0]])),
        ("freed", lambda row: (-row[4], -row[2] - row[3], place[row[0]])),
    ]
    for text, chosen in (("", made), ("-is:unreachable", [each for each in made if each.is_held])):
        expected = _expected(chosen, shallow)
        for order, key in orders:
            answer = gallery(snapshot, text, order, 0, 1000)
            rows = [
                (row.object.id, row.count, row.heap_bytes, row.native_bytes, row.freed_bytes)
                for row in answer.rows
            ]
            assert rows == sorted(expected, key=key)
            assert answer.total == len(rows)
            assert answer.images == len(chosen)
            sums = [sum(row[at] for row in rows) for at in (2, 3, 4)]
            assert [answer.heap_bytes, answer.native_bytes, answer.freed_bytes] == sums
            half = gallery(snapshot, text, order, 1, 2)
            assert (half.rows, half.offset) == (answer.rows[1:3], 1)
    for each in made:
        same = [
            other.own_id
            for other in made
            if other is not each
            and each.pixels is not None
            and (other.width, other.height, other.pixels) == (each.width, each.height, each.pixels)
            and (other.array < 0) == (each.array < 0)
        ]
        equal = describe(snapshot, place[each.own_id]).equal_images
        assert ([row.id for row in equal.rows], equal.total) == (same, len(same))
    types = {int(snapshot.objects.type[place[each.own_id]]) for each in made}
    assert graph_of(snapshot.info).image_types == sorted(types)


def _side(opened: Opened, path: Path, dump: ImageDump, *, packed: bool = False) -> Snapshot:
    path.write_bytes(gzip.compress(dump.end()) if packed else dump.end())
    return opened(path)


def _numbers(snapshot: Snapshot, own_ids: list[int]) -> list[int]:
    ids = snapshot.objects.id.tolist()
    return [ids.index(each) for each in own_ids]


def _pixels_of(one: Thumbnail) -> tuple[int, int, list[tuple[int, int, int, int]]]:
    return decoded(ImageAnswer(0, 0, one.media, one.data, 1, one.missing))


@pytest.mark.parametrize("packed", [False, True])
def test_thumbnails_are_means_of_the_pixels_that_are_seen(
    packed: bool, opened: Opened, tmp_path: Path
) -> None:
    """In the order of the file or another, of images that share an array, in whole chunks or across them."""
    rng = random.Random(7)
    dump = ImageDump()
    noise = rng.randbytes(900_000)
    sizes = [(64, 32), (5, 3), (40, 100), (16, 16), (1, 90)]
    made, data = [], []
    for width, height in sizes:
        dump.numbers(dump.id(), BYTE, noise)
        data.append(rng.randbytes(4 * width * height))
        made.append(dump.bitmap(width, height, data[-1], premultiplied=False))
    longer = dump.numbers(dump.id(), BYTE, data[0] + data[1])
    for width, height in ((5, 3), (64, 32)):
        part = dump.instance(dump.id(), dump.bitmap_class, "Pqii?", longer, 0, width, height, False)
        made.append(part)
        data.append((data[0] + data[1])[: 4 * width * height])
        sizes.append((width, height))
    snapshot = _side(opened, tmp_path / ("made.hprof.gz" if packed else "made.hprof"), dump, packed=packed)
    numbers = _numbers(snapshot, made)
    asked = numbers[::-1]
    found = {each.object: each for each in thumbnails(snapshot, [*asked, asked[0]], 16)}
    assert set(found) == set(numbers)
    for number, (width, height), own in zip(numbers, sizes, data, strict=True):
        every = max(max(width, height) // 32, 1)
        wide, tall = -(-width // every), -(-height // every)
        pixel = [
            tuple(own[4 * (row * every * width + column * every) :][:4])
            for row in range(tall)
            for column in range(wide)
        ]
        each = -(-max(wide, tall) // 16)
        columns, rows = max(wide // each, 1), max(tall // each, 1)
        assert _pixels_of(found[number])[:2] == (columns, rows)
        for at, shown in enumerate(_pixels_of(found[number])[2]):
            row, column = divmod(at, columns)
            square = [
                pixel[y * wide + x]
                for y in range(row * each, min(row * each + each, tall))
                for x in range(column * each, min(column * each + each, wide))
            ]
            alpha = sum(one[3] for one in square)
            colours = [sum(one[channel] * one[3] for one in square) / max(alpha, 1) for channel in range(3)]
            assert shown == pytest.approx((*colours, alpha / len(square)), abs=0.51)


def test_large_thumbnails_are_left_for_another_question(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pixels, "_MOST_ANSWERED_BYTES", 300)
    dump = ImageDump()
    files = [_png_head(4, 3, bytes([number]) * 150) for number in range(6)]
    natives = list(range(1, 7))
    made = [dump.bitmap(4, 3, None, native=native) for native in [*natives, 99]]
    dump.dump_data(natives, files)
    snapshot = _side(opened, tmp_path / "made.hprof", dump)
    left = _numbers(snapshot, made)
    shown: dict[int, Thumbnail] = {}
    rounds = 0
    while left:
        answered = thumbnails(snapshot, left, 64)
        assert answered
        shown |= {each.object: each for each in answered}
        left = [number for number in left if number not in shown]
        rounds += 1
    assert rounds == 3
    for number, file in zip(_numbers(snapshot, made), files, strict=False):
        assert (shown[number].media, base64.b64decode(shown[number].data)) == ("image/png", file)
    missing = shown[_numbers(snapshot, made)[-1]].missing
    assert missing is not None
    assert "am dumpheap -b" in missing.text


def test_what_thumbnails_cannot_be_made_of(opened: Opened, tmp_path: Path) -> None:
    dump = ImageDump()
    whole = dump.bitmap(3, 2, bytes(24))
    short = dump.bitmap(30, 20, bytes(24))
    path = tmp_path / "made.hprof"
    snapshot = _side(opened, path, dump)
    found = {
        each.object: each.missing for each in thumbnails(snapshot, _numbers(snapshot, [whole, short]), 64)
    }
    first, second = (found[number] for number in _numbers(snapshot, [whole, short]))
    assert first is None
    assert second is not None
    assert "too short" in second.text
    with pytest.raises(BadRequestError, match="is not an image"):
        thumbnails(snapshot, [0], 64)
    path.write_bytes(b"something else")
    (gone,) = thumbnails(snapshot, _numbers(snapshot, [whole]), 64)
    assert gone.missing is not None
    assert "was changed since it was read" in gone.missing.text


def test_reading_for_thumbnails_can_be_stopped(opened: Opened, tmp_path: Path) -> None:
    dump = ImageDump()
    whole = dump.bitmap(3, 2, bytes(24))
    snapshot = _side(opened, tmp_path / "made.hprof", dump)
    snapshot.work.stop()
    with pytest.raises(CancelledError):
        thumbnails(snapshot, _numbers(snapshot, [whole]), 64)


def _equal_dump(path: Path) -> list[int]:
    """Three equal bitmaps that are held, one that isn't, one that shares its pixels, and another one."""
    rng = random.Random(1)
    dump = NativeImageDump()
    same, other = rng.randbytes(40_000), rng.randbytes(40_000)
    made = [dump.bitmap(100, 100, data) for data in (same, same, same, other)]
    shared = dump.numbers(dump.id(), BYTE, other)
    made += [
        dump.instance(dump.id(), dump.bitmap_class, "Pqii?", shared, 0, 100, 100, True) for _ in range(2)
    ]
    for each in made[1:]:
        dump.add(0xFF, "P", each)
    dump.register(made[1], 64)
    dump.register(made[2], 32)
    path.write_bytes(dump.end())
    return made


def test_the_finding_is_what_equal_images_would_free(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "made.hprof"
    made = _equal_dump(path)
    snapshot = opened(path)
    (found,) = about(snapshot, ["equal_images"])
    array = int(snapshot.objects.shallow[snapshot.objects.images["elements"][0]])
    # of two pairs that are held one each, and of the first pair what the smaller owns outside of the heap
    assert found.finding.figure.amount == 2 * array + 32
    held = "-is:unreachable"
    assert gallery(snapshot, held, "freed", 0, 9).freed_bytes == found.finding.figure.amount
    assert "3 images have the same pixels as another" in found.finding.text
    assert "100 \u00d7 100 2 times, 100 \u00d7 100 3 times" in found.finding.text
    assert found.objects is not None
    assert sorted(found.objects.tolist()) == sorted(_numbers(snapshot, made[1:]))
    link = found.finding.objects
    assert link is not None
    assert link.kind == "images"
    assert about(snapshot, ["duplicate_arrays"]) == []


def test_few_equal_images_are_no_finding(opened: Opened, tmp_path: Path) -> None:
    dump = ImageDump()
    for _ in range(2):
        dump.add(0xFF, "P", dump.bitmap(10, 10, bytes(range(100)) * 4))
    dump.add(0xFF, "P", dump.bitmap(200, 200, bytes(range(200)) * 800))
    snapshot = _side(opened, tmp_path / "made.hprof", dump)
    assert gallery(snapshot, "", "freed", 0, 9).freed_bytes > 0
    assert about(snapshot, ["equal_images"]) == []


def test_other_dumps_have_no_images(opened: Opened, tmp_path: Path) -> None:
    dump = ImageDump("1.0.2")
    dump.klass(0x900, "a/Picture", 0x100, [("raster", OBJECT), ("width", INT)])
    dump.add(0xFF, "P", dump.instance(dump.id(), 0x900, "Pi", 0, 3))
    snapshot = _side(opened, tmp_path / "made.hprof", dump)
    answer = gallery(snapshot, "", "bytes", 0, 9)
    assert (answer.rows, answer.total, answer.images, answer.heap_bytes) == ([], 0, 0, 0)
    assert about(snapshot, ["equal_images"]) == []
    assert graph_of(snapshot.info).image_types == []


def test_the_command_line_has_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "made.hprof"
    made = _equal_dump(path)

    def said(*arguments: str) -> str:
        assert main(["images", str(path), "--cache-dir", str(tmp_path / "cache"), *arguments]) == 0
        return capsys.readouterr().out

    lines = said("--filter=-is:unreachable").splitlines()
    assert lines[0].startswith(
        "5 images: 156 KiB in the heap, 96 B outside of it; one in place of equal ones"
    )
    assert lines[1].split() == ["heap", "native", "freed", "images", "first"]
    assert lines[2].split()[:7] == ["78.2", "KiB", "96", "B", "39.1", "KiB", "2"]
    assert lines[2].endswith(f"android.graphics.Bitmap @{made[1]:#x} '100 \u00d7 100', ARGB_8888")
    data = json.loads(said("--json", "--order", "freed"))
    assert [row["count"] for row in data["rows"]] == [3, 3]
    assert "and 1 more: use --top" in said("--top", "1")
    assert said("--filter=-type:Bitmap") == "no image matches the filter\n"
