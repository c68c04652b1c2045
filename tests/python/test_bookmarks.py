"""Bookmarks: they survive changes of the archive, and are part of everything that is made from a snapshot."""

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.python.command_line import memlens
from tests.python.graphs import random_graph
from tests.python.heap_files import heap_of
from tests.python.test_reports import Opened

from memlens.errors import BadRequestError
from memlens.export.markdown import markdown
from memlens.export.report import report
from memlens.export.summary import summary
from memlens.store import bookmarks as kept
from memlens.store.bookmarks import (
    MOST_BOOKMARKS,
    BookmarksError,
    GroupPlace,
    MomentPlace,
    ObjectPlace,
    Place,
    TypePlace,
    bookmarks_file,
)
from memlens.store.files.cache import Cache
from memlens.store.models import LackingError
from memlens.units import format_bytes
from memlens.views.bookmarks import add_bookmark
from memlens.views.heap.listing.bookmarks import heap_bookmarks
from memlens.views.heap.objects.rows import type_names
from memlens.views.trace.bookmarks import bookmarks

NASTY = "<b>|`note` *&\u202e"


def test_a_bookmark_marks_the_moment_at_which_it_was_set(opened: Opened, sample: Path) -> None:
    snapshot = opened(sample)
    device = snapshot.device(0)
    peak = device.info.peak_moment
    add_bookmark(snapshot, MomentPlace(0, peak, 5), "the peak")
    add_bookmark(snapshot, MomentPlace(0, 3, None), "early")
    early, at_peak = bookmarks(snapshot).bookmarks
    assert (early.note, early.at.moment, early.allocation) == ("early", 3, None)
    assert early.at.live_bytes == int(device.live[3])
    assert device.time is not None
    assert early.x_time_us == device.time[2]
    assert at_peak.at.is_peak
    assert at_peak.at.live_bytes == device.info.peak_bytes
    assert at_peak.allocation is not None
    assert at_peak.allocation.allocation == 5
    kept.rename_bookmark(snapshot, at_peak.bookmark, "where it hurts")
    assert [each.note for each in bookmarks(snapshot).bookmarks] == ["early", "where it hurts"]
    kept.delete_bookmark(snapshot, early.bookmark)
    assert [each.note for each in bookmarks(snapshot).bookmarks] == ["where it hurts"]
    # numbers are not reused, so that another view can't change the wrong bookmark
    add_bookmark(snapshot, MomentPlace(0, 4, None), "")
    assert {each.bookmark for each in bookmarks(snapshot).bookmarks} == {at_peak.bookmark, early.bookmark + 1}
    with pytest.raises(BadRequestError, match="deleted elsewhere"):
        kept.delete_bookmark(snapshot, early.bookmark)
    with pytest.raises(BadRequestError, match="deleted elsewhere"):
        kept.rename_bookmark(snapshot, early.bookmark, "")


def test_bookmarks_survive_a_rebuilt_archive_and_eviction(
    opened: Opened, sample: Path, cache: Cache, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.pickle"
    shutil.copy2(sample, copy)
    first = opened(copy)
    add_bookmark(first, MomentPlace(0, 3, None), "keep me")
    shutil.rmtree(first.archive)
    Cache(cache.folder, limit_bytes=0, spared_s=0).evict()
    again = opened(copy)
    assert [each.note for each in bookmarks(again).bookmarks] == ["keep me"]
    # another recording of the same name has moments of its own
    os.utime(copy, ns=(1, 1))
    assert bookmarks(opened(copy)).bookmarks == []
    assert bookmarks(opened(sample)).bookmarks == []


def test_moments_outside_of_the_trace_are_refused_or_left_out(opened: Opened, sample: Path) -> None:
    snapshot = opened(sample)
    events = snapshot.device(0).info.events
    for device, moment, allocation in ((0, events + 1, None), (7, 0, None), (0, 0, 1 << 40)):
        with pytest.raises(BadRequestError):
            add_bookmark(snapshot, MomentPlace(device, moment, allocation), "")
    # a file that was written by hand or by another program
    kept.add_bookmark(snapshot, MomentPlace(0, 1 << 60, 1 << 60), "far")
    kept.add_bookmark(snapshot, MomentPlace(9, 0, None), "nowhere")
    kept.add_bookmark(snapshot, ObjectPlace(1), "of a heap dump")
    (only,) = bookmarks(snapshot).bookmarks
    assert (only.at.moment, only.allocation) == (events, None)
    bookmarks_file(snapshot).write_text('{"version": 1, "bookmarks": "none"}')
    with pytest.raises(BookmarksError, match="can't be read"):
        bookmarks(snapshot)
    with pytest.raises(BookmarksError, match="can't be read"):
        add_bookmark(snapshot, MomentPlace(0, 0, None), "")
    assert "none" in bookmarks_file(snapshot).read_text(), "a file that can't be read is not overwritten"


def test_the_number_of_bookmarks_is_limited(
    opened: Opened, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_BOOKMARKS", 2)
    assert MOST_BOOKMARKS > 2
    snapshot = opened(sample)
    for moment in (1, 2):
        add_bookmark(snapshot, MomentPlace(0, moment, None), "")
    with pytest.raises(BadRequestError, match="2 bookmarks already"):
        add_bookmark(snapshot, MomentPlace(0, 3, None), "")


def test_a_profile_has_no_bookmarks(opened: Opened, sample: Path) -> None:
    with pytest.raises(LackingError):
        bookmarks(opened(sample.with_name("words.pb.gz")))
    with pytest.raises(LackingError):
        add_bookmark(opened(sample.with_name("words.pb.gz")), MomentPlace(0, 0, None), "")


def test_bookmarks_of_a_heap_dump(opened: Opened, sample: Path, cache: Cache, tmp_path: Path) -> None:
    graph = random_graph(5)
    path = tmp_path / "one.heapsnapshot"
    path.write_bytes(heap_of(graph).data())
    snapshot = opened(path)
    objects, names = snapshot.objects, type_names(snapshot)
    places: list[Place] = [ObjectPlace(2), TypePlace(1), GroupPlace(0)]
    for place in places:
        add_bookmark(snapshot, place, NASTY)
    found = heap_bookmarks(snapshot).bookmarks
    assert [each.place for each in found] == places
    of_object, of_type, of_group = found
    assert of_object.object is not None
    assert of_object.retained_bytes == int(objects.retained[2])
    assert (of_type.name.text, of_type.objects) == (names[1], int((objects.type == 1).sum()))
    assert of_type.retained_bytes == int(snapshot.types.retained[1])
    assert of_group.retained_bytes == snapshot.info.shallow_bytes  # pyrefly: ignore[missing-attribute]
    for wrong in (ObjectPlace(1 << 40), ObjectPlace(-1), TypePlace(1 << 40), GroupPlace(1 << 60)):
        with pytest.raises(BadRequestError):
            add_bookmark(snapshot, wrong, "")
        kept.add_bookmark(snapshot, wrong, "by hand")
    with pytest.raises(LackingError):
        add_bookmark(snapshot, MomentPlace(0, 0, None), "")
    with pytest.raises(LackingError):
        add_bookmark(opened(sample), ObjectPlace(0), "")
    with pytest.raises(LackingError):
        heap_bookmarks(opened(sample))
    assert heap_bookmarks(snapshot).bookmarks == found
    text = "\n".join(markdown(summary(snapshot)))
    row = next(line for line in text.split("### Bookmarks")[1].splitlines() if "note" in line)
    assert row.startswith(r"| \<b\>\|\`note\` \*\&")
    assert format_bytes(of_object.retained_bytes) in row
    folder = ["--cache-dir", cache.folder]
    shown = json.loads(memlens("bookmarks", path, "--json", *folder).stdout)["bookmarks"]
    assert [each["place"] for each in shown] == [
        {"is": "object", "object": 2}, {"is": "type", "kind": 1}, {"is": "group", "group": 0},
    ]  # fmt: skip
    said = memlens("bookmarks", path, *folder).stdout
    assert f"type {names[1]}: <b>|`note` *&" in said
    assert "\u202e" not in said


def test_reports_and_the_command_line_have_bookmarks(opened: Opened, sample: Path, cache: Cache) -> None:
    snapshot = opened(sample)
    assert "Bookmarks" not in "\n".join(markdown(summary(snapshot)))
    add_bookmark(snapshot, MomentPlace(0, 3, 2), NASTY)
    live = format_bytes(int(snapshot.device(0).live[3]))
    text = "\n".join(markdown(summary(snapshot)))
    row = next(line for line in text.split("### Bookmarks")[1].splitlines() if "note" in line)
    assert row.startswith(r"| \<b\>\|\`note\` \*\&")
    assert live in row
    page = report(snapshot)
    assert "<h2>Bookmarks</h2>" in page
    assert "&lt;b&gt;|`note` *&amp;" in page
    folder = ["--cache-dir", cache.folder]
    (shown,) = json.loads(memlens("bookmarks", sample, "--json", *folder).stdout)["bookmarks"]
    assert (shown["note"], shown["at"]["moment"], shown["allocation"]["allocation"]) == (NASTY, 3, 2)
    said = memlens("bookmarks", sample, *folder).stdout
    assert "event 3: <b>|`note` *&" in said
    assert "\u202e" not in said


def test_each_snapshot_of_a_folder_has_its_own_file(opened: Opened, sample: Path, tmp_path: Path) -> None:
    paths = [Path(shutil.copy2(sample, tmp_path / name)) for name in ("a.pickle", "b.pickle")]
    snapshots = [opened(path) for path in paths]
    for path, snapshot in zip(paths, snapshots, strict=True):
        add_bookmark(snapshot, MomentPlace(0, 1, None), path.name)
    noted = [[each.note for each in bookmarks(snapshot).bookmarks] for snapshot in snapshots]
    assert noted == [["a.pickle"], ["b.pickle"]]
