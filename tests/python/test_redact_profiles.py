"""Profiles written anew: names of people and machines go, and figures and lines stay as they are."""

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens

from memlens.formats.redaction.people import People

PROFILES = Path(__file__).parents[1] / "fixtures" / "profiles"
HOME, HOST, MAIL = "/home/ada.lovelace/shop", "http://build-7.corp:8080", "ada@example.org"
PLANTED = ("ada.lovelace", "build-7", MAIL, "hunter22", "10.11.12.13")


def torch() -> dict[str, Any]:
    frame = {"filename": f"{HOME}/train.py", "name": "step", "line": 3}
    block = {
        "size": 512,
        "requested_size": 500,
        "address": 4096,
        "state": "active_allocated",
        "frames": [frame],
    }
    segment = {
        "device": 0, "address": 4096, "total_size": 2048, "allocated_size": 512, "active_size": 512, "stream": 0,
        "segment_type": "small", "blocks": [block, {"size": 1536, "address": 4608, "state": "inactive"}],
    }  # fmt: skip
    trace = [
        {"action": "segment_alloc", "addr": 4096, "size": 2048, "stream": 0, "frames": [frame]},
        {
            "action": "alloc", "addr": 4096, "size": 500, "stream": 0, "frames": [frame],
            "user_metadata": f"{MAIL} {HOST}/a",
        },
    ]  # fmt: skip
    return {
        "segments": [segment],
        "device_traces": [trace],
        "allocator_settings": {"note": f"{HOME} on 10.11.12.13"},
    }


def dhat() -> bytes:
    profile = json.loads((PROFILES / "ledger.dhat.json").read_bytes())
    profile["cmd"] = f"{HOME}/bin/ledger --token=hunter22 {MAIL} 10.11.12.13"
    profile["ftbl"] = [each.replace("src/", f"{HOME}/src/") for each in profile["ftbl"]]
    profile["pid"] = 4242
    return json.dumps(profile, indent=1).encode()


def heapprofile() -> bytes:
    return (
        (PROFILES / "words.heapprofile")
        .read_bytes()
        .replace(b'"url":"', f'"url":"{HOST}/?key=hunter22&x='.encode(), 1)
    )


MADE = {
    "torch.pickle": lambda: pickle.dumps(torch(), protocol=4),
    "torch-2.pickle": lambda: pickle.dumps(torch(), protocol=2),
    "torch.json": lambda: json.dumps(torch()).encode(),
    "ledger.dhat.json": dhat,
    "words.heapprofile": heapprofile,
}


@pytest.mark.parametrize("name", MADE)
def test_people_and_machines_are_replaced(name: str, tmp_path: Path) -> None:
    data = MADE[name]()
    assert any(each.encode() in data for each in PLANTED)
    path, copy = tmp_path / name, tmp_path / f"copy-{name}"
    path.write_bytes(data)
    said = memlens("redact", path, copy)
    written = copy.read_bytes()
    assert [each for each in PLANTED if each.encode() in written] == []
    assert "stay in the copy" in said.stdout
    before, after = (json.loads(memlens("lines", each, "--json").stdout) for each in (path, copy))
    figures = [key for key, value in before["lines"][0].items() if isinstance(value, int | float)]
    assert [[row[key] for key in figures] for row in before["lines"]] == [
        [row[key] for key in figures] for row in after["lines"]
    ]
    if "torch" in name:
        assert {row["file"] for row in after["lines"]} == {"/home/user1/shop/train.py"}


@pytest.mark.parametrize(
    "name", ["massif.out.ledger", "tracemalloc.pickle", "orders.pb.gz", "orders.debug1.txt.zst"]
)
def test_what_has_no_such_names_is_the_same_for_readers(name: str, tmp_path: Path) -> None:
    copy = tmp_path / name.removesuffix(".zst")
    memlens("redact", PROFILES / name, copy)
    answers = [
        json.loads(memlens("lines", each, "--json").stdout)["lines"] for each in (PROFILES / name, copy)
    ]
    assert answers[0] == answers[1]
    assert answers[0]


def test_arguments_of_commands_go(tmp_path: Path) -> None:
    path, copy = tmp_path / "massif.out.1", tmp_path / "copy"
    lines = (PROFILES / "massif.out.ledger").read_text().splitlines()
    planted = {
        "cmd": f"{HOME}/ledger --token=hunter22",
        "desc": f"--depth=12 --note=hunter22 {MAIL} --stacks=yes",
    }
    lines = [
        f"{key}: {planted.get(key, rest)}" if rest else key
        for key, _, rest in (each.partition(": ") for each in lines)
    ]
    path.write_text("\n".join(lines) + "\n")
    memlens("redact", path, copy)
    assert "cmd: /home/user1/shop/ledger (arguments removed)\n" in copy.read_text()
    assert "desc: --depth=12 --stacks=yes\n" in copy.read_text()
    assert "hunter22" not in copy.read_text()


def test_pprofs_comments_and_time_go(tmp_path: Path) -> None:
    path = tmp_path / "heap.pb"
    texts = ["", "space", "bytes", "main.run", f"{HOME}/main.go", "run by nobody", "10.11.12.13", "tenant"]

    def message(field: int, data: bytes) -> bytes:
        return bytes([field << 3 | 2, len(data)]) + data

    data = message(1, b"\x08\x01\x10\x02") + message(2, b"\x0a\x01\x01\x12\x01\x64\x1a\x04\x08\x07\x10\x06")
    data += message(4, b"\x08\x01\x22\x04\x08\x01\x10\x05") + message(5, b"\x08\x01\x10\x03\x20\x04")
    data += (
        b"".join(message(6, text.encode()) for text in texts)
        + b"\x48\x80\x80\x80\x80\x10"
        + message(13, b"\x05")
    )
    path.write_bytes(gzip.compress(data + b"\x9a\x01\x08ada note"))
    for options, has_time in (([], False), (["--keep-time"], True)):
        copy = tmp_path / "copy.pb"
        memlens("redact", path, copy, "--force", *options)
        written = copy.read_bytes()
        assert [each for each in (*PLANTED, "ada note", "run by nobody") if each.encode() in written] == []
        assert (b"\x48\x80\x80\x80\x80\x10" in written) == has_time
        (row,) = json.loads(memlens("lines", copy, "--json").stdout)["lines"]
        assert (row["file"], row["function"]) == ("/home/user1/shop/main.go", "main.run")


@pytest.mark.parametrize("name", ["service.heaptrack.zst", "index.memray.bin"])
def test_formats_that_are_not_written_anew_say_what_they_have(name: str, tmp_path: Path) -> None:
    said = memlens("redact", PROFILES / name, tmp_path / "copy", status=1).stderr
    assert "the command line with its arguments" in said
    assert "--pprof" in said
    assert not (tmp_path / "copy").exists()
    said = memlens(
        "redact", PROFILES / "orders.pb.gz", tmp_path / "copy", "--rename", "--mapping", tmp_path, status=1
    ).stderr
    assert "not in profiles" in said


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("/home/ada/x.py", "/home/user1/x.py"), ("file:///Users/Ada L/x.js", "file:///Users/user1 L/x.js"),
        (r"C:\Users\ada\x.py", r"C:\Users\user1\x.py"), ("/Users/Shared/x", "/Users/Shared/x"),
        ("https://ada:pw@host.example/x?token=1", "https://host1/x?removed"),
        ("https://h.example/cb#access_token=s3cret", "https://host1/cb#removed"),
        ("data:text/javascript,const token = 's3cret'", "data:text/javascript,removed"),
        ("data:;base64,czNjcmV0", "data:,removed"),
        ("std::data::f, int", "std::data::f, int"),
        ("mail to a.b@c.org", "mail to address1@example.invalid"),
        ("http://localhost:3000/x", "http://localhost:3000/x"), ("github.com/acme/x.Func", "github.com/acme/x.Func"),
        ("key sk-abcdefghij0123", "key token1"), ("DB_PASSWORD=hunter22;", "DB_PASSWORD=token1;"),
        ("syn::token::Paren, secret", "syn::token::Paren, secret"),
        ("db1.prod.internal refused", "host1 refused"), ("10.0.0.7:80", "host1:80"),
        ("torch.nn.functional", "torch.nn.functional"),
        ("node:internal/fs", "node:internal/fs"), ("std::vector<int>::push_back", "std::vector<int>::push_back"),
    ],
)  # fmt: skip
def test_texts(text: str, new: str) -> None:
    assert People().replaced(text) == new


def test_the_same_name_becomes_the_same_word() -> None:
    people = People()
    one, other, again = (people.replaced(f"/home/{name}/a.py") for name in ("ada", "bob", "ada"))
    assert (one, other, again) == ("/home/user1/a.py", "/home/user2/a.py", "/home/user1/a.py")
