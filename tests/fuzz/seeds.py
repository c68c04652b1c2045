"""Writes the first members of the corpus: one small file for everything that the readers know of.

``python -m tests.fuzz.seeds``. What the fuzzer found later lies beside them under names that are hashes.
"""

import gzip
import json
import pickle
import sys
from pathlib import Path

import zstandard
from tests.fuzz import memray_shapes
from tests.python import (
    hprof_files,
    image_files,
    native_files,
    perfetto_files,
    pyheap_files,
)
from tests.python.heap_files import small_heap
from tests.python.test_other_formats import saved

from memlens.packs import registry
from memlens.packs.android.tests import native_heap_files
from memlens.packs.dotnet.tests import gcdump_files
from memlens.packs.go.tests.test_pprof import build
from memlens.packs.native.tests.test_java_heap import HEAP
from memlens.packs.python.tests import test_python_heap
from memlens.packs.python.tests.memray_files import header
from memlens.packs.pytorch.tests.test_torch_reader import html, protocol_2, small
from memlens.packs.ruby.tests import ruby_files
from memlens.packs.v8.tests import test_unread_variables

PROFILES = Path(__file__).parents[1] / "fixtures" / "profiles"
REPEATED = ("orders", "service.tcmalloc", "service.jemalloc")
"""Recordings of formats that another seed has."""
PACKS = Path(registry.__file__).parent
CORPUS = Path(__file__).parent / "corpus"

FILTERS = [
    "",
    "file:model.py size>1MiB life<10ms",
    'function:"a b" -category:gradient,activation stream:0 pool:1.2 address:0x7f0000',
    "stack:12 module:Linear size<=3e2 *wild?card*",
    "size>",
    '"unclosed',
    "-",
    "life>5parsecs",
]

_TABLES = b"s main\ns main.c\ns operator new(unsigned long)\ni 1 1 1 2 5 1 2 6\ni 2 0 3\nt 1 0\nt 2 1\n"
HEAPTRACK = {
    "version-2": b"v 10250 2\nX p\nI 1000 10\nS leak:main\n"
    + _TABLES
    + b"a 10 2\n+ 0\n+ 0\nc 5\nR 3\n- 0\nc 9\n",
    "version-0": b"v 10100\nX p\n" + _TABLES + b"+ 10 1 f00\n+ 20 2 f10\n- f00\nc 5\n- f10\n+ 8 2 f00\n",
    "attached": b"v 10400 2\nX p\nA\n" + _TABLES + b"a 10 1\na 20 2\n+ 1\nc 5\n+ 0\n- 0\n",
    "raw": b"v 10400 3\nx 1 p\nX p\nm 1 x 1000 0 10\n",
    "wrong": b"v 10400 3\nt ffffffff ffffffff\ni zz\na fffffffffffff 9\n+ 9\n- 9\nc fffffffffffffffffff\nQ\n+ 0\n",
}


def seeds() -> dict[str, bytes]:
    """The seeds, by their paths in the corpus."""
    everything = small()
    plain = pickle.dumps(everything, 4)
    files = {
        "everything.pickle": plain,
        "protocol2.pickle": protocol_2(everything),
        "protocol5.pickle": pickle.dumps(everything, 5),
        "segments.pickle": pickle.dumps(everything["segments"], 4),
        "ranks.pickle": pickle.dumps(dict.fromkeys(range(2), everything), 4),
        "saved.pt": saved(protocol_2(everything)),
        "everything.json": json.dumps(everything).encode(),
        "everything.html": html(plain),
        "everything.pickle.gz": gzip.compress(plain, mtime=0),
        "everything.pickle.zst": zstandard.compress(plain),
        "cut.pickle": plain[: len(plain) // 2],
        "evil.pickle": b"\x80\x04cposix\nsystem\n(X\x04\x00\x00\x00truetR.",
        "empty": b"",
        "profile.pb": profile(packed=True),
        "profile.pb.gz": gzip.compress(profile(packed=False), mtime=0),
    }
    # one small file of each format of profiles, made by the script beside them
    for path in sorted(PROFILES.iterdir()):
        if path.is_file() and path.suffix != ".py" and not path.name.startswith(REPEATED):
            files[path.name] = path.read_bytes()
    # and the examples of packs, beside their tests
    files |= {path.name: path.read_bytes() for path in PACKS.glob("*/tests/example.*")}
    files["header.memray.bin"] = header()
    files["java.heap"] = HEAP.encode()
    files["small.heapsnapshot"] = small_heap().data()
    files["scopes.heapsnapshot"] = test_unread_variables.Program(1).heap.data()
    files["small.hprof"] = hprof_files.small().end()
    files["native.hprof"], files["images.hprof"] = native_files.small(), image_files.small()
    files["small.gcdump"] = gcdump_files.small()
    files["small.pftrace"] = perfetto_files.small()
    files["both.pftrace"] = native_heap_files.both()
    files["small.ruby.json"] = ruby_files.small()
    files["small.pyheap"] = pyheap_files.small()
    files["small.heap"] = test_python_heap.small()
    recording = zstandard.decompress((PROFILES / "service.heaptrack.zst").read_bytes())
    recordings = {"service": recording[:12_000], **HEAPTRACK}
    return {
        **{f"file/{name}": data for name, data in files.items()},
        **{f"heaptrack/{name}": b"\xff" + data for name, data in recordings.items()},
        **{f"memray/{name}": b"\x06" + data for name, data in memray_shapes.small().items()},
        **{f"filter/{number}": text.encode() for number, text in enumerate(FILTERS)},
        **{
            f"archive/{number}": bytes((number * 37 + i * 11) % 256 for i in range(16 * number))
            for number in range(8)
        },
    }


def profile(*, packed: bool) -> bytes:
    """A pprof profile with everything that the reader knows of."""
    builder = build()
    text = builder.text
    builder.message |= {
        "drop_frames": text("malloc|new.*"), "keep_frames": text("main"), "time_nanos": 1_700_000_000_000_000_000,
        "duration_nanos": 5, "period": 4096, "comment": [text("a comment")], "doc_url": text("https://example.com"),
        "period_type": [{"type": text("space"), "unit": text("bytes")}], "default_sample_type": text("alloc_space"),
    }  # fmt: skip
    deep = [builder.location((f"f{n}", "deep.go", n + 1)) for n in range(32)]
    builder.sample(deep, 1, 100, thread="cut")
    builder.sample(deep[:], -1, -3, **{"pprof::base": "true"})
    return builder.bytes(packed=packed)


def main() -> int:
    """Write the seeds."""
    for name, data in seeds().items():
        path = CORPUS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
