"""How hovers show a snapshot's texts, and how lenses distinguish functions."""

import json
import re
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from memlens.server.handlers.code_lens import functions
from memlens.server.markdown import command_link, escaped, size
from memlens.server.placed_lines import PlacedLine, PlacedStacks
from memlens.server.protocol.sources import ShowLineArguments
from memlens.sources.edits import FileState
from memlens.sources.functions import Functions
from memlens.sources.line_map import LineEdit, LineMap
from memlens.units import counted, plain_name
from memlens.views.answers import SourceLine

if TYPE_CHECKING:
    from memlens.server.sessions.opened import OpenSnapshot
    from memlens.server.sources import BoundFile

PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


@given(name=st.text(max_size=80))
def test_an_escaped_name_has_no_markup_left(name: str) -> None:
    text = escaped(name)
    # Only entities and characters without a meaning in Markdown remain without a backslash.
    bare = re.sub(r"\\[!-/:-@\[-`{-~]|&(?:amp|lt|gt);", "", text)
    assert not set(bare) & set(PUNCTUATION)
    assert "\n" not in text
    assert "\r" not in text


@given(name=st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126), max_size=80))
def test_an_escaped_name_reads_as_the_name(name: str) -> None:
    shown = re.sub(r"\\(.)", r"\1", escaped(name))
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        shown = shown.replace(entity, character)
    assert shown == name


def test_names_are_one_short_line_without_hidden_parts() -> None:
    assert plain_name("a\u202eb\nc\x00d\u200be\x7f") == "a\ufffdb\u240ac\u2400d\ufffde\u2421"
    assert len(plain_name("x" * 100_000)) == 200
    assert plain_name("x" * 201).endswith("…")
    assert plain_name("größe") == "größe"
    assert plain_name("z" + 190 * "\u0301" + "algo\u3164") == "z" + 4 * "\u0301" + "\ufffdalgo\ufffd"
    assert plain_name("\u0301a") == "\u25cc\u0301a"
    for text in (
        "Vie\u0323\u0302t",
        "\u0936\u0915\u094d\u0924\u093f",
        "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
    ):
        assert plain_name(text) == text


def test_figures_are_exact_and_readable() -> None:
    assert size(0) == "0 bytes"
    assert size(1023) == "1,023 bytes"
    assert size(1_342_177_280) == "1.25 GiB (1,342,177,280 bytes)"
    assert counted(1, "allocation") == "1 allocation"
    assert counted(1234, "allocation") == "1,234 allocations"


@given(path=st.text(max_size=40), file=st.text(max_size=40))
def test_a_link_carries_its_arguments_and_nothing_else(path: str, file: str) -> None:
    link = command_link("Show", ShowLineArguments("s", path, file, 3))
    found = re.fullmatch(r"\[Show\]\(command:memlens\.showLine\?([A-Za-z0-9%._~-]*)\)", link)
    assert found is not None
    assert json.loads(unquote(found[1], errors="surrogatepass")) == [
        {"snapshot": "s", "path": path, "file": file, "line": 3}
    ]


CODE = """class A:
    @decorated
    def forward(self):
        return (
            1
        )

class B:
    def forward(self):
        return 2

def run():
    pass
"""


def lines(*rows: tuple[int, str, int]) -> list[PlacedStacks]:
    # functions() uses only a line's own figures
    bound = cast("BoundFile[OpenSnapshot]", None)
    return [
        PlacedLine(
            bound,
            SourceLine("net.py", line, function, "user", "recorded", total, 1, 0, 0, total, 0, 0, 0),
            line,
            None,
        )
        for line, function, total in rows
    ]


def test_methods_of_one_name_are_two_functions() -> None:
    state = FileState(LineMap(), Functions.of(CODE))
    rows = lines((2, "forward", 5), (5, "forward", 6), (10, "forward", 7), (13, "A.run", 8))
    found = functions(rows, state)
    reported = [(function.line, function.most_bytes("total")) for function in found]
    assert reported == [(3, 11), (9, 7), (12, 8)]


def test_a_function_that_moved_has_its_lens_at_its_current_line() -> None:
    state = FileState(LineMap().edited(LineEdit(1, 0, 4)), Functions.of(CODE))
    found = functions(lines((2, "run", 8)), state)
    assert [function.line for function in found] == [16]


def test_functions_without_a_definition_have_a_lens_above_their_first_line() -> None:
    rows = lines((8, "other", 1), (7, "other", 2), (3, "<lambda>", 9))
    found = functions(rows, FileState(LineMap(), None))
    assert [(function.line, function.most_bytes("total")) for function in found] == [(7, 3)]
