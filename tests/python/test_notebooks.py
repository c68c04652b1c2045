"""Snapshots in notebooks that Jupyter runs, and tables as Arrow's data.

What isn't in the development environment is in ``.cache/notebook``, where ``npm test`` installs what
``tests/python/notebook.lock`` pins; without it these tests are skipped.
"""

import base64
import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.python.command_line import memlens as command
from tests.python.conftest import ROOT
from tests.python.counted import some
from tests.python.test_report_contents import TOKENS, dump

import memlens
from memlens.api.table import Table
from memlens.sources.cells import cell_name, names_of

SAMPLE = ROOT / "samples" / "train.pickle"
HEAP = ROOT / "tests" / "fixtures" / "heap" / "sessions.hprof.zst"
_ENVIRONMENT = ROOT / ".cache" / "notebook"
PACKAGES = next(
    iter([*_ENVIRONMENT.glob("lib/*/site-packages"), *_ENVIRONMENT.glob("Lib/site-packages")]), None
)

pytestmark = pytest.mark.slow
with_jupyter = pytest.mark.skipif(PACKAGES is None, reason="nanoarrow and Jupyter aren't installed")

RUN = """
import json, sys
import nbclient, nbformat
cells = [nbformat.v4.new_code_cell(each) for each in json.load(sys.stdin)]
book = nbformat.v4.new_notebook(cells=cells)
nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
json.dump([cell.outputs for cell in book.cells], sys.stdout)
"""


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CACHE_HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(folder / name))
        yield


def run(code: str, *, stdin: object = None, cwd: Path = ROOT) -> Any:
    """What a program prints as JSON, which has the packages."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(stdin), capture_output=True, text=True, cwd=cwd, check=False, timeout=240,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(PACKAGES), str(ROOT / "pyserver")))},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def notebook(*cells: str, cwd: Path = ROOT) -> list[list[dict[str, Any]]]:
    """The outputs of each cell of a notebook."""
    found: list[list[dict[str, Any]]] = run(RUN, stdin=cells, cwd=cwd)
    return found


def shown(outputs: list[dict[str, Any]]) -> str:
    """The HTML that a cell shows."""
    return "".join(each["data"]["text/html"] for each in outputs if "text/html" in each.get("data", {}))


def drawing_of(page: str) -> str:
    """The one picture of a page."""
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    text = base64.b64decode(data).decode()
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    return text


@with_jupyter
def test_a_notebook_shows_the_headline_the_picture_and_tables() -> None:
    _, trace, table, heap = notebook(
        "import memlens",
        "memlens.open('samples/train.pickle')",
        "memlens.open('samples/train.pickle').lines(top=30)",
        "memlens.open('tests/fixtures/heap/sessions.hprof.zst')",
    )
    said = json.loads(command("findings", SAMPLE, "--json").stdout)
    page = shown(trace)
    assert said["headline"]["text"] in html.unescape(re.sub(r"<[^>]+>", "", page))
    assert "train.py:46" in drawing_of(page)
    assert all(f"<strong>{each['title']}</strong>" in page for each in some(said["findings"][:5]))
    rows = re.findall(r"<tr>(.*?)</tr>", shown(table))
    assert '<td class="name">train.py</td><td>46</td>' in rows[1]
    assert "and 5 more rows" in shown(table)
    assert "Dominators by type" in drawing_of(shown(heap))
    for output in (trace, table, heap):
        assert "<script" not in shown(output)


def test_names_from_a_file_are_escaped(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\u202e"
    cells = {"name": [evil, "b"], f"{evil}_bytes": [1 << 20, 7]}
    page = Table(cells, {"name": "text", f"{evil}_bytes": "integer"})._repr_html_()
    assert "<script" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "1 MiB" in page
    copy = tmp_path / "<img src=x onerror=alert(1)>.pickle"
    copy.write_bytes(SAMPLE.read_bytes())
    with memlens.open(copy) as trace:
        page = trace._repr_html_()
    assert "<img src=x" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page


def test_strings_of_the_program_are_left_out_of_a_page(tmp_path: Path) -> None:
    path = tmp_path / "tokens.heapsnapshot"
    path.write_bytes(dump())
    with memlens.open(path, values=True) as quoting, memlens.open(path) as discreet:
        for each in (quoting, quoting.findings()):
            assert all(token in html.unescape(each._repr_html_()) for token in TOKENS)
        for each in (discreet, discreet.findings()):
            assert "copies of others" in each._repr_html_()
            assert not any(token in html.unescape(each._repr_html_()) for token in TOKENS)
        assert not any(token in discreet.headline for token in TOKENS)


@with_jupyter
def test_a_cell_is_recorded_and_shown(tmp_path: Path) -> None:
    cells = (
        "%load_ext memlens",
        "kept = []",
        "%%memlens found\nlarge = bytearray(30 << 20)\ndel large\nkept.append(bytearray(5 << 20))\nlen(kept)",
        "print(found.left_bytes, found.peak_bytes)\nfound.snapshot.lines()",
        "import json; print(json.dumps([*found.snapshot.lines(top=1)]))",
        "%%memlens -o kept\nkept.append([])\nkept.append(bytearray(1 << 20))",
        "%%memlens\nkept.clear()",
    )
    outputs = notebook(*cells, cwd=tmp_path)
    recorded, figures, row, _, nothing = outputs[2:]
    assert recorded[0]["data"]["text/plain"] == "1"
    page = shown(recorded)
    said = re.search(r"Peak ([\d.]+) MiB above what was there before; ([\d.]+) MiB of it is left", page)
    assert said is not None
    assert 30 <= float(said[1]) < 32
    assert 5 <= float(said[2]) < 6
    assert "bytearray(5" not in page
    assert "svg" in drawing_of(page)
    left, peak = map(int, figures[0]["text"].split())
    assert 5 << 20 <= left < 6 << 20 <= 30 << 20 <= peak < 32 << 20
    (first,) = json.loads(row[0]["text"])
    # the magic is the first line
    assert (first["line"], first["itself"] >> 20) == (4, 5)
    name = cell_name(first["file"])
    assert name is not None
    assert name.key in [placed.key for placed in names_of(cells[2])]
    assert "Peak" in shown(nothing)
    (file,) = tmp_path.glob("kept.*")
    with memlens.open(file) as snapshot:
        assert isinstance(snapshot, memlens.Profile)
        assert snapshot.lines()["itself"][0] >> 20 == 1


@with_jupyter
def test_a_cell_that_fails_is_shown_too_and_ends_the_notebook(tmp_path: Path) -> None:
    code = """
import json, sys
import nbclient, nbformat
cells = ["%load_ext memlens", "%%memlens\\nkept = bytearray(3 << 20)\\n1 / 0"]
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
try:
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
except nbclient.exceptions.CellExecutionError as error:
    json.dump([error.ename, book.cells[1].outputs], sys.stdout)
"""
    name, outputs = run(code, cwd=tmp_path)
    assert name == "ZeroDivisionError"
    assert "MiB of it is left" in shown(outputs)
    asked = "%load_ext memlens\nget_ipython().run_cell_magic('memlens', '--by nothing', '1')"
    with pytest.raises(AssertionError, match="nothing records nothing"):
        notebook(asked, cwd=tmp_path)


ARROW = """
import json, sys
import nanoarrow, memlens
found = {}
trace = memlens.open("samples/train.pickle")
heap = memlens.open("tests/fixtures/heap/sessions.hprof.zst")
query = '''
SELECT 1 AS a, 'x' AS b, NULL AS c, 2.5 AS d, x'0102' AS e, 9223372036854775807 AS f, 9007199254740993 AS g
UNION ALL SELECT NULL, NULL, NULL, 1, NULL, -1, 0.5
'''
tables = {
    "lines": trace.lines(), "live": trace.live(by="module"), "findings": trace.findings(),
    "empty": trace.lines()[:0], "query": trace.sql(query),
    "objects": heap.sql("SELECT id, type, name, distance FROM objects"),
}
for name, table in tables.items():
    stream, whole = nanoarrow.ArrayStream(table), nanoarrow.Array(nanoarrow.c_array(table))
    rows = [row for array in stream for row in array.to_pylist()]
    assert rows == whole.to_pylist()
    types = [(each.name, each.type.name) for each in whole.schema.fields]
    if name == "query":
        rows = [{**row, "e": row["e"] and row["e"].hex()} for row in rows]
        found[name] = [types, rows]
    else:
        found[name] = [types, rows == [*table], len(rows)]
json.dump(found, sys.stdout)
"""


@with_jupyter
def test_tables_are_arrow_data_with_the_same_cells() -> None:
    found = run(ARROW)
    for name in ("lines", "live", "findings", "empty", "objects"):
        types, is_same, count = found[name]
        assert is_same, name
        assert (count == 0) == (name == "empty")
        assert {kind for _, kind in types} <= {"STRING", "INT64", "BOOL", "NULL"}
    # the types don't depend on which rows there are
    assert found["empty"][0] == found["lines"][0]
    types, rows = found["query"]
    assert [kind for _, kind in types] == ["INT64", "STRING", "NULL", "DOUBLE", "BINARY", "INT64", "STRING"]
    assert rows == [
        {"a": 1, "b": "x", "c": None, "d": 2.5, "e": "0102", "f": 2**63 - 1, "g": "9007199254740993"},
        {"a": None, "b": None, "c": None, "d": 1.0, "e": None, "f": -1, "g": "0.5"},
    ]


def test_without_nanoarrow_a_table_says_what_to_install() -> None:
    table = Table({"a": [1]}, {"a": "integer"})
    with pytest.raises(memlens.MemlensError, match=r"needs the package nanoarrow.*memlens\[arrow\]"):
        table.__arrow_c_stream__()


CONSUMERS = {
    "polars": "polars.DataFrame(table).to_dicts()",
    "pandas": "pandas.DataFrame.from_arrow(table).to_dict('records')",
    "duckdb": "[dict(zip(table.columns, row)) for row in duckdb.sql('SELECT * FROM table_').fetchall()]",
    "pyarrow": "pyarrow.table(table).to_pylist()",
}


@with_jupyter
@pytest.mark.parametrize("package", CONSUMERS)
def test_a_library_takes_a_table_as_it_is(package: str) -> None:
    """Where it is installed in that environment, which has only what the other tests need."""
    assert PACKAGES is not None
    if not (PACKAGES / package).is_dir():
        pytest.skip(f"{package} isn't installed in {PACKAGES}")
    table = f"import json, sys, memlens, {package}; table = memlens.open('samples/train.pickle').lines()"
    if package == "duckdb":
        table += "; table_ = table"
    assert run(f"{table}; json.dump({CONSUMERS[package]} == [*table], sys.stdout)") is True
