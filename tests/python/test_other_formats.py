"""Files that look like a format and aren't, or differ a little from it: they open, or are called what they are."""

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python import hprof_files
from tests.python.conftest import event, frame

from memlens.errors import BadRequestError, MemlensError
from memlens.formats import FORMATS, read, recognised
from memlens.formats.containers import open_source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.zip_files import DamagedZipError
from memlens.model.graph import Graph
from memlens.model.profile import Profile
from memlens.model.timeline import Timeline
from memlens.packs.go.tests.pprof_files import Builder
from memlens.packs.native import massif
from memlens.packs.pytorch.tests.test_torch_reader import small

ANOTHER = "To read another: memlens ingest FILE --dump NUMBER"
USER = frame("train.py", 3, "step")


def load(path: Path, data: bytes, dump: int | None = None) -> Timeline | Profile | Graph:
    path.write_bytes(data)
    with open_source(path, path.parent, lambda *_: None) as source:
        source.dump = dump
        return read(source, path.parent, lambda *_: None)


def refusal(path: Path, data: bytes) -> MemlensError:
    with pytest.raises(MemlensError) as error:
        load(path, data)
    return error.value


def snapshot(size: int) -> dict[str, Any]:
    """A snapshot whose only allocation has this size."""
    return {"segments": [], "device_traces": [[event("alloc", 0x1000, size, USER, time_us=5)]]}


def sizes(model: Timeline | Profile | Graph) -> list[int]:
    assert isinstance(model, Timeline)
    return [size for device in model.devices for size in device.allocations["size"].tolist()]


def saved(data: bytes, *, name: str = "snap/data.pkl", compression: int = zipfile.ZIP_STORED) -> bytes:
    """A file as ``torch.save`` writes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for each, contents in ((name, data), ("snap/version", b"3\n")):
            archive.writestr(zipfile.ZipInfo(each), contents, compression)
    return file.getvalue()


# files with several snapshots


@pytest.mark.parametrize(
    "of_ranks", [lambda each: dict(enumerate(each)), list, tuple], ids=["dict", "list", "tuple"]
)
def test_a_snapshot_of_each_rank(of_ranks: Any, tmp_path: Path) -> None:
    data = pickle.dumps(of_ranks([snapshot(100), snapshot(200), snapshot(300)]), 4)
    path = tmp_path / "ranks.pickle"
    assert [sizes(load(path, data, dump)) for dump in (None, 0, 1, 2)] == [[100], [100], [200], [300]]
    model = load(path, data, 2)
    assert [each.message for each in model.warnings if each.code == "several-dumps"] == [
        f"The file has 3 snapshots, such as one per rank; this is number 3. {ANOTHER}"
    ]
    assert (model.settings["dump"], model.settings["dumps"]) == (3, 3)
    with pytest.raises(BadRequestError, match="there is no dump 4"):
        load(path, data, 3)


def test_a_snapshot_among_other_values(tmp_path: Path) -> None:
    whole = {"rank": 3, "loss": [0.5], "memory": small(), "config": {"segments": "many"}}
    for data in (pickle.dumps(whole, 4), pickle.dumps(whole, 2), json.dumps(whole).encode()):
        model, alone = load(tmp_path / "whole", data), load(tmp_path / "alone", pickle.dumps(small(), 4))
        assert sizes(model) == sizes(alone)
        assert [each.code for each in model.warnings] == [each.code for each in alone.warnings]


@pytest.mark.parametrize(
    "value",
    [
        {"config": {"segments": ["a", "b"]}},
        [{"segments": 3}],
        {"a": {"device_traces": None}},
        {"segment": [1]},
        [1, 2],
    ],
)
def test_words_of_a_snapshot_are_no_snapshot(value: Any, tmp_path: Path) -> None:
    error = refusal(tmp_path / "x.pickle", pickle.dumps(value, 4))
    assert isinstance(error, NotASnapshotError)
    assert "contains no memory snapshot" in error.message.text


# torch.save and other zip files


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_snapshot_that_torch_saved(compression: int, tmp_path: Path) -> None:
    data = pickle.dumps(small(), 2)
    alone = load(tmp_path / "alone.pickle", data)
    assert sizes(load(tmp_path / "snap.pt", saved(data, compression=compression))) == sizes(alone)
    ranks = saved(pickle.dumps([snapshot(1), snapshot(2)], 2))
    assert sizes(load(tmp_path / "ranks.pt", ranks, 1)) == [2]


def test_weights_that_torch_saved(tmp_path: Path) -> None:
    weights = b"\x80\x02}q\x00X\x01\x00\x00\x00wq\x01X\x07\x00\x00\x00storageq\x02Qs."
    old = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."
    for data in (saved(weights), old):
        error = refusal(tmp_path / "model.pt", data)
        assert isinstance(error, NotASnapshotError)
        assert "written by torch.save" in error.message.text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("META-INF/MANIFEST.MF", "it is a Java archive"),
        ("AndroidManifest.xml", "it is an Android app"),
        ("[Content_Types].xml", "it is an office document or a package"),
        ("weights.npy", "it contains arrays of NumPy"),
        ("logs/run.txt", "it contains logs/run.txt, snap/version"),
    ],
)
def test_other_zip_files(name: str, words: str, tmp_path: Path) -> None:
    error = refusal(tmp_path / "x.zip", saved(b"text", name=name))
    assert isinstance(error, NotASnapshotError)
    assert error.message.text.endswith(words)
    assert "SnapViewer" not in error.message.text


def damaged_zips() -> dict[str, bytes]:
    """Zip files that Python's module unpacks without a bound, or raises whatever it happens to for."""
    data = pickle.dumps(small(), 2)
    made = {
        "bzip2": saved(data, compression=zipfile.ZIP_BZIP2),
        "lzma": saved(data, compression=zipfile.ZIP_LZMA),
    }
    directory = (plain := saved(data)).index(b"PK\1\2")
    for what, at, wrong in (
        ("place", -6, b"\xff\xff"),
        ("method", directory + 10, b"\x5d"),
        ("name", directory + 46, b"\xff"),
    ):
        made[what] = b"".join((plain[:at], wrong, plain[at:][len(wrong) :]))
    flags = directory + 8
    made["name"] = made["name"][:flags] + b"\0\x08" + made["name"][flags + 2 :]
    return made


@pytest.mark.parametrize("what", damaged_zips())
def test_zip_files_that_pythons_module_would_fail_on(what: str, tmp_path: Path) -> None:
    error = refusal(tmp_path / "x.pt", damaged_zips()[what])
    assert isinstance(error, DamagedZipError)
    packed = what in ("bzip2", "lzma", "method")
    assert ("uses a compression method" if packed else "damaged") in error.message.text


def test_zip_files_with_many_or_no_entries(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(100):
            archive.writestr(f"model/data/{number}", b"")
        archive.writestr("model/data.pkl", b"")
    assert refusal(tmp_path / "x.zip", file.getvalue()).message.text.endswith("it was written by torch.save")
    assert isinstance(refusal(tmp_path / "cut.zip", file.getvalue()[:2000]), MemlensError)
    for name in ("data.pkl", "allocations.json"):
        assert (
            "damaged" in refusal(tmp_path / "cut.pt", saved(b"x" * 500, name=f"a/{name}")[:300]).message.text
        )


# heap dumps of Java


def test_a_dump_that_ends_after_its_header(tmp_path: Path) -> None:
    error = refusal(tmp_path / "x.hprof", bytes(hprof_files.Dump().out))
    assert isinstance(error, NotASnapshotError)
    assert error.message.text == "Nothing was recorded: the file ends after its header"


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (0x0D, "The file has no heap, only the record of a CPU profiler"),
        (0x01, "The dump ends before its heap"),
        (0x2C, "The dump ends before its heap"),
    ],
)
def test_dumps_without_a_heap(tag: int, message: str, tmp_path: Path) -> None:
    dump = hprof_files.Dump()
    dump.record(tag, bytes(20))
    error = refusal(tmp_path / "x.hprof", bytes(dump.out))
    assert (type(error), error.message.text) == (NotASnapshotError, message)


@pytest.mark.parametrize("tag", [0x08, 0x1B, 0x2D, 0x80, 0xFE])
def test_records_of_unknown_kinds_are_skipped(tag: int, tmp_path: Path) -> None:
    whole = load(tmp_path / "plain.hprof", hprof_files.small().end())
    dump = hprof_files.Dump()
    dump.record(tag, b"\1\2\3\4")
    dump.record(tag, b"")
    hprof_files.fill(dump)
    dump.record(tag, b"between")
    dump.add(0xFF, "P", 0x10_0000)
    dump.segment()
    dump.record(tag, b"after")
    graph = load(tmp_path / "x.hprof", dump.end())
    assert isinstance(graph, Graph)
    assert isinstance(whole, Graph)
    assert np.array_equal(graph.objects.ids, whole.objects.ids)
    assert not graph.facts.truncated
    assert [each.message for each in graph.warnings if each.code == "unknown-records"] == [
        "Records of an unknown kind, which were skipped: 4."
    ]


def test_zeros_in_place_of_records_end_a_dump(tmp_path: Path) -> None:
    """A disk that was full leaves them, and they are no records of length 0."""
    for between in (bytes(64), b"\xfe" + bytes(4) + struct.pack(">I", 8) + bytes(64)):
        dump = hprof_files.Dump()
        dump.out += between
        hprof_files.fill(dump)
        error = refusal(tmp_path / "x.hprof", dump.end())
        assert (type(error), error.message.text) == (
            DamagedSnapshotError,
            "The dump is truncated before its heap",
        )


# protocol buffers


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


SERVICE = field(1, field(1, b"service.name") + field(2, field(1, b"shop")))
OTHERS = {
    "another": (field(1, field(1, field(1, 1))) * 3, "it is a protocol buffer, but not a profile"),
    "traces": (
        field(1, field(1, SERVICE) + field(2, b"")),
        "it is data of OpenTelemetry, such as a profile or traces",
    ),
    "firefox": (
        b"\x02" + field(1, 5) + b"\x07" + field(1, 7) + field(2, b"obj") + b"\x02" + field(1, 8),
        "it is a heap snapshot of Firefox",
    ),
}


@pytest.mark.parametrize(("data", "words"), OTHERS.values(), ids=OTHERS)
def test_other_protocol_buffers(data: bytes, words: str, tmp_path: Path) -> None:
    error = refusal(tmp_path / "x.pb", data)
    assert isinstance(error, NotASnapshotError)
    assert error.message.text.endswith(words)
    assert "  " not in str(error)


def test_a_damaged_profile_is_still_called_one(tmp_path: Path) -> None:
    builder = Builder(("inuse_space", "bytes"))
    builder.sample([builder.location(("f", "f.go", 1))], 5)
    data = builder.bytes()
    at = data.index(field(2, b"")[:1], 6)
    error = refusal(tmp_path / "x.pb", data[:at] + field(4, field(1, b"no")) + data[at:])
    assert isinstance(error, DamagedSnapshotError)
    assert "the file is damaged, or of another format" in error.message.text


# all of them


FOREIGN = {
    "core dump": (b"\x7fELF\2\1\1\0" + bytes(8) + b"\4\0\x3e\0" + bytes(60), "core dump"),
    "core dump, big endian": (b"\x7fELF\1\2\1\0" + bytes(8) + b"\0\4\0\x14" + bytes(60), "core dump"),
    "program": (b"\x7fELF\2\1\1\0" + bytes(8) + b"\2\0\x3e\0" + bytes(60), ""),
    "minidump": (b"MDMP\x93\xa7\0\0" + bytes(60), "minidump"),
    "trace of .NET": (b"Nettrace\x14\0\0\0!FastSerialization.1", "trace of .NET's events"),
    "recording of perf": (b"PERFILE2h\0\0\0" + bytes(60), "perf"),
    "database": (b"SQLite format 3\0" + bytes(90), ""),
    "picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(60), ""),
    "text": (b"Every word of this is a word.\n" * 200, ""),
    "table": (b"step,bytes\n1,100\n2,200\n", ""),
    "zeros": (bytes(5000), ""),
    "pickled numbers": (pickle.dumps({"loss": [1.0, 2.0]}, 4), "no memory snapshot"),
    "random bytes": (np.random.default_rng(4).bytes(5000), ""),
}


@pytest.mark.parametrize(("data", "words"), FOREIGN.values(), ids=FOREIGN)
def test_a_refusal_names_no_format_that_the_file_is_not_of(data: bytes, words: str, tmp_path: Path) -> None:
    error = refusal(tmp_path / "file", data)
    assert isinstance(error, NotASnapshotError)
    assert words in error.message.text
    named = [each for each in FORMATS.values() if each.lower() in error.message.text.lower()]
    assert not named, error.message.text


def test_a_format_of_text_may_begin_like_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.txt"
    path.write_bytes(b"[11:16:33] Top 10 stacks\n")
    with open_source(path, tmp_path, lambda *_: None) as source:
        with pytest.raises(NotASnapshotError, match="begins like JSON"):
            recognised(source)
        monkeypatch.setattr(massif, "sniff", lambda head: head.startswith(b"[11:16:33] "))
        assert recognised(source) == "massif"
