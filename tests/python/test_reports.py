"""Reports and pictures for files: they load and run nothing, whatever the names, and are as exact as the view."""

import base64
import hashlib
import pickle
import random
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.python import gcdump_files
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.profile_reading import FIXTURES
from tests.python.test_hostile_names import NASTY, renamed
from tests.python.test_torch_reader import small

from memlens.export.pictures.flame import WIDTH, flame
from memlens.export.pictures.svg import fitting
from memlens.export.pictures.timeline import Part, _runs, timeline
from memlens.export.report import report
from memlens.store.snapshot import Snapshot
from memlens.units import format_bytes
from memlens.views.flame.graph import first_tree

Opened = Callable[[Path], Snapshot]
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
    """What a page is made of."""

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
    """A page that loads and runs nothing, and whose style sheet is the only one that its policy allows."""
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
        (dump, 0),
        (FIXTURES.parent / "heap" / "sessions.ruby.json.zst", 1),
    ):
        snapshot = opened(file)
        text = snapshot.ask(report)
        page = checked(text)
        assert text.count("<svg ") == pictures
        assert file.name in page.words
        assert "<table>" in text
        # objects of a heap dump are no allocations
        assert ("Allocations" in page.words) == (file.suffix == ".pickle" or "heaptrack" in file.name)
        assert "0.0%" not in page.words


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


def test_an_area_is_exact_in_every_column() -> None:
    chance = random.Random(1)
    for _ in range(200):
        count = chance.randrange(1, 30)
        bottom = np.array([chance.randrange(5, 9) for _ in range(count)], float)
        top = bottom - np.array([chance.choice((0, 0, 1, 2, 3)) for _ in range(count)])
        drawn = np.zeros((count, 10), bool)
        for path in _runs(np.arange(count + 1.0), top, bottom):
            for column, (low, high) in columns_of(path).items():
                drawn[column, low:high] = True
        expected = (np.arange(10) >= top[:, None]) & (np.arange(10) < bottom[:, None])
        assert (drawn == expected).all()


def columns_of(path: str) -> dict[int, tuple[int, int]]:
    """Between which rows a closed path of horizontal and vertical lines is, by column."""
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


def test_a_picture_says_what_its_areas_have_at_the_peak(opened: Opened, sample: Path) -> None:
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
    for y in sorted(rows):
        for (_, right), (left, _) in zip(sorted(rows[y]), sorted(rows[y])[1:], strict=False):
            assert right <= left
        assert all(any(a <= x0 and x1 <= b + 0.5 for a, b in above) for x0, x1 in rows[y])
        above = rows[y]


def test_text_is_cut_where_it_has_no_room() -> None:
    assert fitting("forward", 100) == "forward"
    assert fitting("forward", 30) == "for…"
    assert fitting("forward", 10) == ""
    assert fitting("前向传播前向传播", 60) == "前向传…"


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
