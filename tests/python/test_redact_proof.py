"""``memlens redact --verify`` finds whatever is left of a dump, and nothing where nothing is left."""

import base64
import gzip
import io
import json
import os
import random
import re
import struct
import sys
import time
import unicodedata
import zlib
from pathlib import Path

import pytest
import zstandard
from tests.python import planted_heaps
from tests.python.command_line import memlens
from tests.python.conftest import real_heaps
from tests.python.planted_heaps import DAMAGE, FORMATS
from tests.python.redacted_files import redacted

from memlens.errors import MemlensError
from memlens.packs.v8 import proof_list
from memlens.proof import forbidden
from memlens.proof.forbidden import Search
from memlens.proof.items import Keeps, ListingReader
from memlens.proof.marks import MARKS, marked, marks_of
from memlens.proof.profiles import ProfileReader
from memlens.proof.readers import texts_of
from memlens.proof.verify import verify

FIXTURES = Path(__file__).parents[1] / "fixtures" / "heap"
PLANTED = [(name, place) for name, (places, _, _) in FORMATS.items() for place in places]
MOST_BYTES = 900_000


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("name", "place"), PLANTED)
def test_what_a_kind_of_record_keeps_is_found(name: str, place: str, tmp_path: Path) -> None:
    """A copy in which one place is as it was, as if the redactor left it out, and one in which nothing is."""
    places, make, file = FORMATS[name]
    original = written(tmp_path / file, make(places))
    found = verify(original, written(tmp_path / f"copy-{file}", make({place})), Keeps()).found
    blank = verify(original, written(tmp_path / f"blank-{file}", make(())), Keeps()).found
    assert {(each.what, each.stands) for each in found} - {(each.what, each.stands) for each in blank}


@pytest.mark.parametrize("name", FORMATS)
def test_a_copy_has_none_of_the_planted_secrets(name: str, tmp_path: Path) -> None:
    places, make, file = FORMATS[name]
    whole = [place for place in places if place not in DAMAGE]
    original = written(tmp_path / file, make(whole))
    copy = written(
        tmp_path / f"copy-{file}",
        redacted(original, keeps_shared=False, keeps_time=False, keeps_threads=False)[0],
    )
    assert verify(original, copy, Keeps()).found == []
    reader = texts_of(copy)
    # what arrays of bytes have is read in other encodings as well
    names = {(each.place, text) for each in reader.names() if (text := str(each.value)) and text.isascii()}
    if isinstance(reader, ListingReader):
        assert {(reason, text) for reason, texts in reader.listed() for text in texts if text} == names
    assert name != "v8" or proof_list.listed(copy)
    secrets = planted_heaps.Secrets(places, places)
    lines = [secrets.text(place) for place in whole] + [str(secrets.number(place)) for place in whole]
    assert Search(lines).file(original)
    assert Search(lines).file(copy) == []


HEAPS = [
    *sorted(FIXTURES.glob("*.zst")),
    *(path for path in real_heaps("hprof/*", "v8/*.heapsnapshot.zst") if path.stat().st_size < MOST_BYTES),
]
OF_THE_SAME = (
    "ran_out.hprof.zst",
    "small_node20.heapsnapshot.zst",
    "mat_sun_jdk6_30_x64_compressedOops.hprof.zst",
)
"""Another dump is of the same writer, or of one that writes the same records."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.nightly] * (path.name in OF_THE_SAME), id=path.name)
        for path in HEAPS
    ],
)
def test_copies_of_real_heaps_have_no_content_of_them(path: Path, tmp_path: Path) -> None:
    try:
        data, _ = redacted(path, keeps_shared=False, keeps_time=False, keeps_threads=False)
    except MemlensError:
        pytest.skip("refused: it is damaged, or has no heap")
    copy = written(tmp_path / path.stem, data)
    verified = verify(path, copy, Keeps())
    assert verified.found == []
    assert verified.is_whole
    assert verified.names > 100
    # the dump itself is no copy without values
    assert len(verify(path, path, Keeps()).found) > 10


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_the_command_says_what_is_left_and_what_stays(ending: str, tmp_path: Path) -> None:
    places, make, _ = FORMATS["python"]
    places = tuple(place for place in places if place not in DAMAGE)
    original = written(tmp_path / "own.heap", make(places))
    copy, listed = tmp_path / f"copy.heap{ending}", tmp_path / "staying.txt"
    said = memlens("redact", original, copy, "--report", listed)
    assert "names of types" in said.stdout
    assert "types\t\tSession" in listed.read_text()
    assert listed.stat().st_mode & 0o77 == 0
    secrets = planted_heaps.Secrets(places, places)
    forbidden = written(
        tmp_path / "forbidden.txt", f"{secrets.text('str')}\n{secrets.number('int')}\n\n".encode()
    )
    said = memlens("redact", "--verify", original, copy, "--forbid", forbidden)
    assert "no content of the original found" in said.stdout
    said = memlens("redact", "--verify", original, original, "--forbid", forbidden, "--json", status=1)
    answer = json.loads(said.stdout)
    assert secrets.text("str") in {each["what"] for each in answer["verified"]["found"]}
    assert {each["line"] for each in answer["forbidden"]} == {secrets.text("str"), str(secrets.number("int"))}
    memlens("redact", original, tmp_path / "other", "--forbid", forbidden, status=2)


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes")
def test_a_pipe_is_rejected_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    said = memlens("redact", "--verify", tmp_path / "pipe", FIXTURES / "sessions.hprof.zst", status=1)
    assert "not a regular file" in said.stderr


FORMS = {
    "utf-8": "Zoë of Ada".encode(),
    "utf-16-le": "Zoë of Ada".encode("utf-16-le"),
    "utf-16-be": "Zoë of Ada".encode("utf-16-be"),
    "utf-32-be": "Zoë of Ada".encode("utf-32-be"),
    "latin-1": "Zoë of Ada".encode("latin-1"),
    "JSON": json.dumps("Zoë of Ada").encode(),
    "JSON in escapes": b"".join(b"\\u%04x" % ord(each) for each in "Zoë of Ada"),
    "JSON with other digits": b"Zo\\u00EB of \\u0041da",
    "JSON in JSON": json.dumps(json.dumps("Zoë of Ada")).encode(),
    "Python's escapes": b"Zo\\xeb of Ada",
    "decomposed": unicodedata.normalize("NFD", "Zoë of Ada").encode(),
    "percent-encoding": b"?q=Zo%C3%AB%20of%20Ada&",
    "percent-encoding in part": b"?q=Zo%c3%ab of%20Ada&",
    "numbers in lines": json.dumps([*"Zoë of Ada".encode()], indent=8).encode(),
    "signed numbers": str([each - 256 if each > 127 else each for each in "Zoë of Ada".encode()]).encode(),
    "hexadecimal in columns": "Zoë of Ada".encode().hex(":").upper().encode(),
    "base64 in lines": b"\r\n".join(
        re.findall(b".{1,8}", base64.b64encode(b"who it is: " + "Zoë of Ada".encode()))
    ),
    "numbers of its characters": b"[" + ", ".join(str(ord(each)) for each in "Zoë of Ada").encode() + b"]",
    "hexadecimal of utf-8": "Zoë of Ada".encode().hex().encode(),
    **{f"base64 from {n}": base64.b64encode(b"x" * n + "Zoë of Ada".encode() + b"yz") for n in range(3)},
    "gzip": b"before" + gzip.compress("The name is Zoë of Ada.".encode()) + b"after",
    "zlib": b"before" + zlib.compress("The name is Zoë of Ada.".encode()) + b"after",
    "zstd": b"before" + zstandard.compress("The name is Zoë of Ada.".encode()) + b"after",
    "gzip in zlib": zlib.compress(gzip.compress("The name is Zoë of Ada.".encode())),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_forbidden_text_is_found_in_every_form(form: str, tmp_path: Path) -> None:
    search = Search(["Zoë of Ada", "another"])
    path = written(tmp_path / "file", bytes(1000) + FORMS[form] + bytes(1000))
    assert {hit.line for hit in search.file(path)} == {"Zoë of Ada"}
    for pack in (gzip.compress, zstandard.compress):
        assert search.file(written(tmp_path / "packed", pack(path.read_bytes())))
    assert search.file(written(tmp_path / "other", bytes(1000) + b"Zoe of Adam" + bytes(1000))) == []


@pytest.mark.parametrize(
    "data",
    [b"a 4929123412341234 b", *(struct.pack(form, 4929123412341234) for form in (">q", "<q", ">d", "<d")),
     "4929123412341234".encode("utf-16-be")],
)  # fmt: skip
def test_a_forbidden_number_is_found_in_every_form(data: bytes, tmp_path: Path) -> None:
    search = Search(["4929 1234 1234 1234"])
    assert search.file(written(tmp_path / "file", b"\1\2" + data + b"\3"))
    # another number that has its digits
    assert search.file(written(tmp_path / "file", b"1492912341234123455")) == []


def test_a_forbidden_text_is_found_in_javas_own_encoding(tmp_path: Path) -> None:
    in_java = "".join(map(chr, struct.unpack("<6H", "key 🗝".encode("utf-16-le"))))
    path = written(tmp_path / "file", in_java.encode("utf-8", "surrogatepass"))
    (hit,) = Search(["key 🗝"]).file(path)
    assert (hit.form, hit.at) == ("modified utf-8", 0)


def test_an_escaped_text_is_found_where_it_begins(tmp_path: Path) -> None:
    for data in (
        b'"\\n\\u00e9":"https:\\/\\/ada.example\\/\\u00E9"',
        b"%20%C3%A9 https:%2F%2fada.example%2f%c3%A9",
    ):
        (hit,) = Search(["https://ada.example/é"]).file(written(tmp_path / "file", bytes(99) + data))
        assert hit.at == 99 + data.index(b"https")


def test_compressed_bytes_are_all_searched_or_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # bytes that only begin as compressed ones do, as random ids have them, don't count
    search, secret = Search(["s3cret-of-ada"]), zlib.compress(b"it is s3cret-of-ada, it is")
    path = written(tmp_path / "file", b"\x78\x9c\xff\xff" * 20_000 + secret)
    assert (len(search.file(path)), search.is_whole) == (1, True)
    search.file(written(path, zlib.compress(random.Random(1).randbytes(2 << 20)) + bytes(1 << 20)))
    assert not search.is_whole
    monkeypatch.setattr(forbidden, "_MOST_NESTED", 5)
    search.file(written(path, zlib.compress(b"another") * 6 + secret))
    assert not search.is_whole


def test_what_is_beyond_a_piece_of_the_file_is_found(tmp_path: Path) -> None:
    line = "s3cret-of-ada"
    for size in ((1 << 20) - 5, (1 << 20) + 3, 3 << 20):
        out = io.BytesIO()
        out.write(bytes(size) + line.encode())
        (hit,) = Search([line]).file(written(tmp_path / "file", out.getvalue()))
        assert hit.at == size


MARKED = {
    "ada@example.org": "email", "worker of ada.l@mail.example.co.uk": "email",
    "4111 1111 1111 1111": "card", "order 4111111111111111": "card",
    "/home/ada/app.py": "home", "C:\\Users\\ada\\app.py": "home", "file:///Users/ada/x.js": "home",
    "https://intranet/page": "host", "db1.internal": "host", "10.1.2.3": "host", "wss://api.shop.io:443": "host",
    "sk-abcdefghij0123": "token", "ghp_0123456789abcdefghij": "token", "password=hunter22": "token",
    "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln": "token", "postgres://ada:hunter2@db/x": "token",
    "9f86d081884c7d659a2feaa0c55ad015": "random", "1b4e28ba-2fa1-11d2-883f-0016d3cca427": "random",
    "aG9sZCBvbiB0aGlzIGlzIDEyMw4f8Zk2Qx9": "random",
}  # fmt: skip
UNMARKED = (
    "java.util.concurrent.ConcurrentHashMap$Node", "com/example/Account", "(Ljava/lang/String;)V", "<init>", "main.py",
    "jdk.internal.reflect.GeneratedMethodAccessor12", "node:internal/process/task_queues", "4929123412341234567890123",
    "4111111111111112", "com.acme.shop.io.Reader", "getDefaultUncaughtExceptionHandler2", "/usr/lib/python3.11/os.py",
    "Lambda$14/0x0000000800c03000", "app.net.Client", "sun.nio.ch", "version 1.2.3", "numpy.core.multiarray",
    "Symbol(Symbol.toStringTag)", "CAPACITY_OF_INFLATION_STREAM_2", "UTF_8",
    "/usr/lib/python3.14/lib-dynload/_decimal.cpython-314-x86_64-linux-gnu.so",
)  # fmt: skip


@pytest.mark.parametrize(("text", "mark"), MARKED.items())
def test_texts_to_look_at_are_marked(text: str, mark: str) -> None:
    assert mark in marks_of(text)
    assert mark in marked([text, "main"])[text]


@pytest.mark.parametrize("text", UNMARKED)
def test_plain_names_are_not_marked(text: str) -> None:
    assert marks_of(text) == []


def test_which_texts_are_judged_leaves_out_none_that_has_a_mark() -> None:
    """Parts of what is marked, and of what isn't, in any order, with what may stand between them."""
    chosen, between = (
        random.Random(1),
        ("", "", " ", "/", ".", "-", "_", "=", ":", "@", "\0", "\n", "é", "+", "://", "7"),
    )
    words = [
        *MARKED,
        *UNMARKED,
        "password",
        "Bearer ",
        "token",
        "C:\\Users\\",
        "-----BEGIN A KEY-----",
        "xoxb-",
        "ya29.",
    ]
    parts = [word[at:] for word in words for at in (0, len(word) // 3)] + [
        word[: len(word) // 2] for word in words
    ]
    texts = [
        "".join(chosen.choice(parts) + chosen.choice(between) for _ in range(each % 4 + 1))
        for each in range(3000)
    ]
    texts += ["a1" * 12 + "a" * 5000, "", "x" * 5000]
    expected = {text: tuple(marks) for text in texts if (marks := marks_of(text))}
    assert marked(texts) == expected
    assert {mark for marks in expected.values() for mark in marks} == set(MARKS)


@pytest.mark.parametrize(
    "data",
    [
        b" " * 1_000_000 + b"!\n", b"a" * 1_000_000 + b"!\n", b"{" + b'\\"' * 500_000, b'{"' + b'\\"' * 500_000 + b"\\",
        b'{"key": "' + b"x" * 3_000_000 + b'", "other": "text"}', b"x" * (40 << 20),
    ],
    ids=["blanks", "word", "quotes", "escapes", "long text", "one line"],
)  # fmt: skip
def test_the_texts_of_a_profile_are_read_in_time_by_its_size(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    started = time.process_time()
    found = [item.value for item in ProfileReader(path, Keeps()).names()]
    assert time.process_time() - started < 3
    assert max(map(len, found), default=0) <= 17 << 20
