"""Reports and pictures as files: they load and run nothing, whatever the names, and are as exact as the view."""

import base64
import hashlib
import pickle
import random
import re
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from markdown_it import MarkdownIt
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.counted import some
from tests.python.profile_reading import FIXTURES
from tests.python.recordings import RUBY
from tests.python.test_hostile_names import NASTY, renamed

from memlens.errors import BadRequestError
from memlens.export.markdown import markdown
from memlens.export.pictures.flame import WIDTH, flame
from memlens.export.pictures.memory_map import HEIGHT as MAP_HEIGHT
from memlens.export.pictures.memory_map import memory_map
from memlens.export.pictures.plot import LEGEND, runs
from memlens.export.pictures.reserved import reserved
from memlens.export.pictures.svg import fitting
from memlens.export.pictures.timeline import Part, timeline
from memlens.export.report import report
from memlens.export.summary import Row, Summary, Table, summary
from memlens.model.info import FileWarning
from memlens.packs.dotnet.tests import gcdump_files
from memlens.packs.pytorch.tests.test_torch_reader import small
from memlens.server.handlers.views import QUESTIONS
from memlens.store.snapshot import Snapshot
from memlens.texts import Text
from memlens.units import format_bytes
from memlens.views.findings.ahead import findings
from memlens.views.findings.answers import HeadlineAnswer, TextPart
from memlens.views.flame.graph import first_tree
from memlens.views.trace.picture.map_lanes import map_lanes
from memlens.views.trace.picture.reserved import usage_of

Opened = Callable[[Path], Snapshot]
LEFT = 78
SVG = "{http://www.w3.org/2000/svg}"
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "strong", "dl", "div", "dt", "dd",
    "ol", "ul", "li", "span", "br", "code", "small", "table", "thead", "tbody", "tr", "th", "td", "footer",
    "svg", "rect", "path", "text",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "scope", "xmlns", "width", "height", "viewbox",
    "role", "aria-label", "x", "y", "d", "text-anchor",
}  # fmt: skip


class Page(HTMLParser):
    """The elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.sheet = ""
        self.policy = ""
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        assert {name for name, _ in attrs} <= ATTRIBUTES
        self._open = tag
        named = dict(attrs)
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"] or ""

    def handle_data(self, data: str) -> None:
        if self._open == "style":
            self.sheet += data
            self._open = ""
        else:
            self.words.append(data)


def checked(text: str) -> Page:
    """Check that a page loads and runs nothing, and that its policy allows only its own style sheet."""
    page = Page(text)
    digest = base64.b64encode(hashlib.sha256(page.sheet.encode()).digest()).decode()
    assert (
        page.policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert text.count("<style>") == 1
    assert "url(" not in page.sheet
    assert "@import" not in page.sheet
    assert set(re.findall(r"https?://[^\"'\s<]+", text)) <= {"http://www.w3.org/2000/svg"}
    for svg in re.findall(r"<svg .*?</svg>", text):
        ET.fromstring(svg)
    return page


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    file = tmp_path / "small.gcdump"
    file.write_bytes(gcdump_files.small())
    return file


def test_every_model_has_a_report(opened: Opened, dump: Path) -> None:
    for file, pictures in (
        (ROOT / "samples" / "train.pickle", 2),
        (FIXTURES / "service.heaptrack.zst", 1),
        (dump, 1),
        (RUBY, 2),
    ):
        snapshot = opened(file)
        text = snapshot.ask(report)
        page = checked(text)
        assert text.count("<svg ") == pictures
        assert file.name in page.words
        assert "<table>" in text
        # objects of a heap dump aren't allocations
        assert ("Allocations" in page.words) == (file.suffix == ".pickle" or "heaptrack" in file.name)
        assert "0.0%" not in page.words


@pytest.mark.slow
@pytest.mark.parametrize("kind", NASTY)
def test_names_are_only_text_in_reports(kind: str, opened: Opened, tmp_path: Path) -> None:
    file = tmp_path / "names.pickle"
    file.write_bytes(pickle.dumps(renamed(small(), NASTY[kind]), 4))
    snapshot = opened(file)
    page = checked(snapshot.ask(report))
    assert not any(character in word for word in page.words for character in "\x1b\u202e\u2066\x85\u2028")
    for svg in (
        snapshot.ask(lambda each: timeline(each, Part(0)).document("both")),
        snapshot.ask(lambda each: flame(first_tree(each), NASTY[kind][:100]).document("light")),
    ):
        root = ET.fromstring(svg.encode())
        assert {each.tag for each in root.iter()} <= {
            SVG + tag for tag in ("svg", "style", "rect", "path", "text", "title")
        }


def test_areas_are_exact_in_every_column() -> None:
    chance = random.Random(1)
    for _ in range(200):
        count = chance.randrange(1, 30)
        bottom = np.array([chance.randrange(5, 9) for _ in range(count)], float)
        top = bottom - np.array([chance.choice((0, 0, 1, 2, 3)) for _ in range(count)])
        drawn = np.zeros((count, 10), bool)
        for path in runs(np.arange(count + 1.0), top, bottom):
            for column, (low, high) in columns_of(path).items():
                drawn[column, low:high] = True
        expected = (np.arange(10) >= top[:, None]) & (np.arange(10) < bottom[:, None])
        assert (drawn == expected).all()


def columns_of(path: str) -> dict[int, tuple[int, int]]:
    """The rows between which a closed path of horizontal and vertical lines is, by column."""
    edges: dict[int, list[int]] = {}
    x, y = 0, 0
    for command, numbers in re.findall(r"([MVHZ])([\d ]*)", path):
        values = [int(each) for each in numbers.split()]
        if command == "M":
            x, y = values
        elif command == "V":
            (y,) = values
        elif command == "H":
            (to,) = values
            for column in range(min(x, to), max(x, to)):
                edges.setdefault(column, []).append(y)
            x = to
    return {column: (min(rows), max(rows)) for column, rows in edges.items()}


def test_a_picture_has_the_figures_of_its_areas_at_the_peak(opened: Opened, sample: Path) -> None:
    snapshot = opened(sample)
    root = ET.fromstring(snapshot.ask(lambda each: timeline(each, Part(0)).inline()))
    words = [each.text or "" for each in root.iter(f"{SVG}text")]
    peak = snapshot.device(0).info.peak_bytes
    assert f"peak {format_bytes(peak)}" in words
    titles = [each.findtext(f"{SVG}title") for each in root.iter(f"{SVG}path")]
    assert any(title and title.endswith("at the peak") for title in titles)


def test_boxes_of_a_flame_graph_fill_their_parents(opened: Opened, sample: Path) -> None:
    snapshot = opened(sample)
    root = ET.fromstring(snapshot.ask(lambda each: flame(first_tree(each), "A title").inline()))
    rows: dict[float, list[tuple[float, float]]] = {}
    for each in root.iter(f"{SVG}rect"):
        x, y, width = (float(each.attrib[name]) for name in ("x", "y", "width"))
        rows.setdefault(y, []).append((x, x + width))
    above = [(0.0, float(WIDTH))]
    for y in some(sorted(rows), 4):
        for (_, right), (left, _) in zip(sorted(rows[y]), sorted(rows[y])[1:], strict=False):
            assert right <= left
        assert all(any(a <= x0 and x1 <= b + 0.5 for a, b in above) for x0, x1 in rows[y])
        above = rows[y]


def test_text_that_does_not_fit_is_truncated() -> None:
    assert fitting("forward", 100) == "forward"
    assert fitting("forward", 30) == "for…"
    assert fitting("forward", 10) == ""
    assert fitting("前向传播前向传播", 60) == "前向传…"


def test_a_heap_dump_is_drawn_as_its_dominators(dump: Path) -> None:
    drawn = []
    for arguments in ([], ["--of", "dominators"], ["--of", "sunburst"]):
        text = memlens("picture", dump, *arguments).stdout
        root = ET.fromstring(text.encode())
        assert root.tag == f"{SVG}svg"
        assert "small.gcdump: dominators by type, retained bytes" in text
        drawn.append(sum(len(list(root.iter(f"{SVG}{tag}"))) for tag in ("rect", "path")))
    assert drawn[0] == drawn[1] > 2
    assert drawn[2] > 2
    for arguments, reason, status in (
        (["--filter", "type:a"], "Dominators are drawn unfiltered", 2),
        (["--of", "flame"], "no allocation stacks", 1),
        (["--of", "timeline"], "a picture over time", 1),
    ):
        assert reason in memlens("picture", dump, *arguments, status=status).stderr


def test_the_command_line_writes_them(tmp_path: Path, sample: Path) -> None:
    page = tmp_path / "out.html"
    assert memlens("report", sample, "-o", page).stdout == f"{page}\n"
    checked(page.read_text("utf-8"))
    printed = memlens("report", sample, "--markdown").stdout
    assert printed.startswith("**Peak")
    assert "| train.py:46 | 15 MiB | 18.8% | 5 |" in printed
    assert printed.startswith(memlens("findings", sample, "--markdown").stdout)
    for arguments in (["--by", "category"], ["--of", "flame", "--theme", "dark"], ["--filter", "size>1MiB"]):
        root = ET.fromstring(memlens("picture", sample, *arguments).stdout.encode())
        assert root.tag == f"{SVG}svg"
    refused = memlens("report", sample, "-o", tmp_path / "none" / "out.html", status=1)
    assert "there is no folder" in refused.stderr


ACTING = (
    "@octocat", "ping @org/team", "(@a.b)", "a@b.example", "https://example.org/?q=1", "x:see https://e.org",
    "www.e.org", "mailto:a", "#123", "GH-7", "org/repo#5", "org/repo@abc1234", ":fire:", "ring::key::of", "$x$",
    "&copy;", "a|@b", "a\\|@b", "a\\\\|@b|c", "`@b`", "```@b", "@b` <i> *c*", "[a](https://e.org)", "<https://e.org>",
    "~~a~~",
)  # fmt: skip
MADE_OF_TEXT = re.compile(
    r"(?:^|\W)@\w|://|(?:^|[\s*_~(])www\.|(?:mailto|xmpp):|#\d|GH-\d|:[a-z0-9_+-]+:|(?:^|\W)\$\S",
    re.IGNORECASE,
)
"""What GitHub makes mentions, links, emoji and formulas of in the text of a page, which code isn't."""


@pytest.mark.parametrize("name", ACTING)
def test_a_name_in_markdown_is_text_to_github(name: str) -> None:
    first = HeadlineAnswer(
        "figures", [TextPart(name), TextPart(name)], name, [FileWarning("one", Text(name))]
    )
    table = Table(name, [name, "n"], 0, [Row([name, "1"], 0)], name)
    tokens = (
        MarkdownIt("commonmark")
        .enable("table")
        .parse("\n".join(markdown(Summary(name, "a", [], first, [], [table], name))))
    )
    blocks = ("paragraph", "table", "thead", "tbody", "tr", "th", "td", "heading", "blockquote")
    assert {token.type for token in tokens} <= {
        "inline", *(f"{kind}_{side}" for kind in blocks for side in ("open", "close"))
    }  # fmt: skip
    shown = []
    for inline in (token.children for token in tokens if token.children):
        assert {each.type for each in inline} <= {
            "text", "text_special", "code_inline", "strong_open", "strong_close"
        }  # fmt: skip
        outside = "\0".join(each.content for each in inline if each.type != "code_inline")
        assert not MADE_OF_TEXT.findall(outside)
        shown.append("".join(each.content for each in inline))
    # a backslash before a bar is what a table can't have in code
    of_cell = re.sub(r"(?<!\\)\\\|", "|", name)
    assert shown[:3] == [name, shown[1], name]
    assert shown[1].split(name) in (["", "", ""], ["", " ", ""])
    assert shown[3:] == [name, of_cell, "n", of_cell, "1", name]


def test_the_memory_map_is_as_high_as_its_contents(opened: Opened, sample: Path) -> None:
    snapshot = opened(sample)
    info = snapshot.device(0).info
    across = (0.0, float(info.events))
    text = snapshot.ask(lambda each: memory_map(each, 0, "event", across)).document("dark")
    root = ET.fromstring(text.split("\n", 1)[1])
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg",
        "style",
        "rect",
        "path",
        "text",
    }
    # at the peak no allocations overlap, so their heights add up to what was live
    at = LEFT + (info.peak_moment + 0.5) / info.events * (WIDTH - LEFT - LEGEND)
    free, high = "", 0.0
    for path in root.iter(f"{SVG}path"):
        if path.get("class") == "grid":
            continue
        free = free or path.get("class") or ""
        for x, width, height in re.findall(r"M([\d.]+) [\d.]+h([\d.]+)v([\d.]+)", path.get("d") or ""):
            if path.get("class") != free and float(x) <= at < float(x) + float(width):
                high += float(height)
    top = snapshot.ask(lambda each: map_lanes(each, 0)).top
    assert high * top / (MAP_HEIGHT - 64) == pytest.approx(info.peak_bytes, rel=0.06)


def test_the_picture_of_reserved_memory_has_the_figures_of_the_view(opened: Opened, sample: Path) -> None:
    snapshot = opened(sample)
    across = (0.0, float(snapshot.device(0).info.events))
    svg = snapshot.ask(lambda each: reserved(each, 0, "event", *across)).inline()
    words = [each.text or "" for each in ET.fromstring(svg).iter(f"{SVG}text")]
    usage = snapshot.ask(lambda each: usage_of(each, 0))
    for name, level in (("Reserved", usage.reserved), ("Requested", usage.requested)):
        assert f"{name}: at most {format_bytes(int(level.bytes.max()))}" in words
    with pytest.raises(BadRequestError):
        snapshot.ask(lambda each: reserved(each, 0, "event", 5.0, 5.0))


def asked(ask: Callable[[Snapshot, Any], Any], params: Any, snapshot: Snapshot) -> Any:
    return ask(snapshot, params)


def test_a_copied_finding_equals_that_of_the_list(opened: Opened, sample: Path) -> None:
    snapshot = opened(sample)
    question = QUESTIONS["memlens/findingMarkdown"]
    whole = "\n".join(markdown(summary(snapshot)))
    for number, finding in enumerate(findings(snapshot, None, 20).findings):
        params = question.params(snapshot="s", number=number)
        text = snapshot.ask(partial(asked, question.ask, params)).text
        assert text.startswith(f"**{finding.title}**")
        assert text.splitlines()[0] in whole
    with pytest.raises(BadRequestError):
        snapshot.ask(lambda each: question.ask(each, question.params(snapshot="s", number=1000)))
