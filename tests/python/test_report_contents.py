"""Pages and Markdown that are made to be sent quote no string of the program, unless that is asked for."""

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.python import planted_heaps
from tests.python.heap_files import HeapFile

from memlens.export.markdown import finding_markdown, markdown
from memlens.export.report import report
from memlens.export.summary import WITH_CONTENTS, WITHOUT_CONTENTS, summary
from memlens.fleet.summary import summary_of
from memlens.store.snapshot import Snapshot
from memlens.views.findings.ahead import findings
from memlens.views.findings.answers import TextPart
from memlens.views.findings.contents import finding_without_contents
from memlens.views.findings.graph.duplicates import QUOTED

TOKENS = ("Bearer s3cret of ada@example.org", "4929 1234 1234 1234")


def dump() -> bytes:
    """A heap that consists of two texts, again and again."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    holder = heap.node("object", "Cache", 64)
    heap.edge(root, "property", "cache", holder)
    for number in range(400):
        heap.edge(holder, "element", number, heap.node("string", TOKENS[number % 2], 4_000))
    return heap.data()


def quoted(sentence: TextPart) -> Iterator[str]:
    """The texts of strings in a sentence."""
    if sentence.template == QUOTED:
        yield sentence.values["text"].text
    for each in sentence.values.values():
        yield from quoted(each)


def test_contents_are_left_out_unless_asked_for(opened: Callable[[Path], Snapshot], tmp_path: Path) -> None:
    path = tmp_path / "tokens.heapsnapshot"
    path.write_bytes(dump())
    snapshot = opened(path)
    found = snapshot.ask(lambda asked: findings(asked, None, 50)).findings
    # as of the same bytes, the copies are in the sentence about what retains most
    (first,) = found
    texts = [f"“{text}”" for text in quoted(first.sentence)]
    assert texts == [f"“{text}”" for text in TOKENS]

    def shown(*, values: bool) -> list[str]:
        page = snapshot.ask(lambda asked: report(asked, values=values))
        lines = snapshot.ask(lambda asked: "\n".join(markdown(summary(asked, values=values))))
        return [html.unescape(page), re.sub(r"\\(.)|`", r"\1", lines)]

    for words in shown(values=False):
        assert "copies of others" in words
        assert not [text for text in texts if text in words]
        assert WITHOUT_CONTENTS in words
    for words in shown(values=True):
        assert [text for text in texts if text in words] == texts
        assert WITH_CONTENTS in words
    copied = "".join(finding_markdown(finding_without_contents(first)))
    assert "copies of others" in copied
    assert not [text for text in texts if text in copied]


NAMES = {
    # a class is called as Symbol.toStringTag says, and a type of nodes as the header says
    "v8": {"class without a function", "unknown type of objects", "name of a type"},
    "pyheap": set[str](),
    # a variable on a stack is named with its function's thread
    "python": {"variable", "name of a thread"},
    "hprof": set[str](),
}
"""Places of each format whose texts are names of types, variables and threads."""
UNREAD = (
    *planted_heaps.DAMAGE, *planted_heaps.NUMBERS_OF_HEADER, *planted_heaps.TRACE, "line of a function",
    "last id of a sample",
)  # fmt: skip
"""Places with which a dump isn't read: V8's counts have to be right, and its lines and ids fit in 32 bits."""


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_leaves_the_machine_has_contents(
    name: str, opened: Callable[[Path], Snapshot], tmp_path: Path
) -> None:
    places, make, file = planted_heaps.FORMATS[name]
    path = tmp_path / file
    path.write_bytes(make([place for place in places if place not in UNREAD]))
    snapshot = opened(path)
    leaving = [
        html.unescape(snapshot.ask(report)),
        "\n".join(snapshot.ask(lambda asked: markdown(summary(asked)))),
        msgspec.json.encode(summary_of(snapshot)).decode(),
    ]
    secrets = planted_heaps.Secrets(places, places)
    found = {place for place in places for each in leaving if secrets.text(place) in each}
    assert found <= NAMES[name]
