"""The strings of an archive: they are read as they were written, whatever their bytes and however many there are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlens.store.files.column_files import ColumnFiles, MappedFiles
from memlens.store.manifest import InconsistentError
from memlens.store.stacks.strings import Strings, StringWriter
from memlens.views.selection.texts import Pattern, fitting

U8, U64 = np.uint8, np.uint64


class Arrays:
    """Columns in memory only."""

    def __init__(self, **arrays: np.ndarray[Any, Any]) -> None:
        self.arrays = arrays

    def description(self, file: str) -> tuple[np.dtype[Any], int] | None:
        return self.arrays[file].dtype, len(self.arrays[file])

    def array(self, file: str) -> np.ndarray[Any, Any]:
        return self.arrays[file]

    def items(self, file: str, chosen: Any) -> np.ndarray[Any, Any]:
        return self.arrays[file][chosen]


def strings_of(end: np.ndarray[Any, Any], utf8: np.ndarray[Any, Any]) -> Strings:
    return Strings(Arrays(string_end=end, string_utf8=utf8), {"strings": len(end), "string bytes": len(utf8)})


def written(writer: StringWriter, folder: Path) -> Strings:
    """The written strings, read from their files."""
    files = ColumnFiles(folder)
    writer.write(files)

    class Manifest:
        columns = files.entries

    source = MappedFiles(folder, Manifest())  # pyrefly: ignore[bad-argument-type]
    return Strings(
        source, {"strings": files._counts["", "strings"], "string bytes": files._counts["", "string bytes"]}
    )


# letters that case folding turns into ASCII or into two; bytes that aren't text; sequences cut off at the end
ODD = (
    "\N{LATIN SMALL LETTER LONG S}et",
    "\N{KELVIN SIGN}elvin",
    "straße",
    "STRASSE",
    "İ",
    "ﬁle",
    "",
    "map",
    "MAP",
    "a map of",
    "ma",
    "É",
    "é",
    "m*p",
    "\0",
)
PATTERNS = (
    "map", "MAP", "=map", "=MAP", "m*p", "*", "k", "ss", "s*e", "é", "É", "=é", "fi", "i", "set", "a map of it",
    "\0", "**", "=*", "*É",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_matching_texts_equal_those_matched_one_by_one(pattern: str) -> None:
    texts = [text.encode() for text in ODD] + [b"map\xff", b"\xc3"]
    end = np.cumsum([len(text) for text in texts]).astype(U64)
    strings = strings_of(end, np.frombuffer(b"".join(texts), U8))
    read = [strings[number] for number in range(len(texts))]
    for others in ((), ("straße",)):
        held_to = [Pattern(each) for each in (pattern, *others)]
        expected = [any(each.matches(text) for each in held_to) for text in read]
        assert fitting(strings, held_to).tolist() == expected


def test_texts_with_invalid_ends_are_rejected() -> None:
    for ends in ([3, 2], [3, 9]):
        with pytest.raises(InconsistentError):
            fitting(strings_of(np.array(ends, U64), np.zeros(4, U8)), [Pattern("a")])


TEXTS = st.lists(st.text(st.characters(codec=None), max_size=8) | st.just("x" * 70_000), max_size=30)


@given(texts=TEXTS)
@settings(deadline=None)
def test_numbered_texts_are_read_again(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    writer = StringWriter()
    numbers = writer.numbers(texts)
    strings = written(writer, tmp_path_factory.mktemp("strings"))
    # half of a surrogate pair isn't text
    wanted = [text.encode("utf-8", "replace").decode() for text in texts]
    assert strings.texts(numbers) == wanted
    assert [strings[number] for number in numbers.tolist()] == wanted
    assert [strings.head(number, 5) for number in numbers.tolist()] == [text[:5] for text in wanted]
    assert strings.some(numbers) == dict(zip(numbers.tolist(), wanted, strict=True))
    assert len(strings.end) == len({"", *texts})
    for text in {*wanted, "no such text"} - {""}:
        assert strings.find(numbers, text) in ([n for n in numbers.tolist() if strings[n] == text] or [-1])
    assert strings[0] == ""
    for part in ("", "x", "\ud800"):
        found = strings.where(numbers, lambda text, part=part: part in text)
        assert found.tolist() == [part in text for text in wanted]


def test_the_numbers_of_a_reader_become_those_of_the_archive(tmp_path: Path) -> None:
    writer = StringWriter()
    (known,) = writer.numbers(["train.py"]).tolist()
    convert = writer.renumbered({7: "train.py", 3_000_000_000: "twice", 9: "twice", 4: "", 0: ""})
    new = convert(np.array([7, 9, 3_000_000_000, 4, 0, 5, 2**40], U64))
    strings = written(writer, tmp_path)
    assert strings.texts(new) == ["train.py", "twice", "twice", "", "", "", ""]
    assert new[0] == known
    assert new[1] == new[2]
    # a recorded empty text is not "none", but an index without a text is
    assert (new[3:] == 0).tolist() == [False, True, True, True]


def test_bytes_that_are_no_utf8_read_as_replacement_characters() -> None:
    parts = [b"", b"ok", b"\xff\xfe", b"cut \xe2\x82", "€".encode(), b"\xed\xa0\x80", b"a\0b"]
    end = np.cumsum([len(part) for part in parts]).astype(U64)
    strings = strings_of(end, np.frombuffer(b"".join(parts), U8))
    numbers = np.arange(len(parts), dtype=np.uint32)
    assert strings.texts(numbers) == [part.decode("utf-8", "replace") for part in parts]
    assert [strings.head(number, 3) for number in range(len(parts))] == [
        part.decode("utf-8", "replace")[:3] for part in parts
    ]


def test_ends_out_of_order_are_rejected_when_their_string_is_read() -> None:
    strings = strings_of(np.array([0, 4, 2, 3, 9], U64), np.frombuffer(b"abcd", U8))
    assert strings[1] == "abcd"
    assert strings[3] == "c"
    for number in (2, 4, 5, -1):
        with pytest.raises(InconsistentError):
            strings[number]
        with pytest.raises(InconsistentError):
            strings.head(number, 1)
        with pytest.raises(InconsistentError):
            strings.texts(np.array([1, number]))


def test_texts_beyond_four_gibibytes_are_read_where_they_are(tmp_path: Path) -> None:
    """The file is sparse: only the pages of the strings that are read are accessed."""
    offset, text = 5 << 30, "über alles".encode()
    with (tmp_path / "string_utf8").open("wb") as file:
        file.seek(offset)
        file.write(text)
    utf8 = np.memmap(tmp_path / "string_utf8", U8, "r")
    strings = strings_of(np.array([0, offset, offset + len(text)], U64), utf8)
    assert strings[2] == "über alles"
    assert strings.head(2, 4) == "über"
    # a string of 5 GiB, of which only the shown part is read
    assert strings.head(1, 3) == "\0\0\0"
