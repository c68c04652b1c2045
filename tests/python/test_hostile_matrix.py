"""Every hostile name in every field of every format, through every command and every question about a fleet.

The lists come from the registry of formats and the parser, so that what is added is missed here.
"""

import csv
import io
import json
import random
import re
import shlex
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.hostile_heaps import PLANTED
from tests.python.hostile_names import LONG, Place
from tests.python.test_hostile_names import HIDDEN, shown

from memlens.cli.command_line import commands
from memlens.formats import FORMATS, HEAP_DUMPS
from memlens.views.selection.terms import in_quotes

pytest_plugins = ("tests.python.hostile_fixtures",)

LISTED = (
    "ingest FILE", "info FILE", "info FILE --json", "oom FILE", "oom FILE --json", "lines FILE", "lines FILE --json",
    "lines FILE --csv", "lines FILE --by function", "lines FILE --by file --json", "lines FILE --by stack",
    "lines FILE --by package", "lines FILE --by thread", "lines FILE --by label", "lines FILE --by module",
    "lines FILE --by category", "lines FILE --filter NAME", "lines FILE --value VALUE", "lines FILE --at RAW",
    "stack FILE 3", "stack FILE 3 --json", "findings FILE", "findings FILE --json",
    "findings FILE --markdown --values", "findings FILE --of NAME", "bookmarks FILE", "bookmarks FILE --json",
    "compare FILE OTHER", "compare FILE OTHER --json", "compare FILE OTHER --by function",
    "compare FILE OTHER --by stack", "compare FILE OTHER --by finding", "compare FILE OTHER --search RAW",
    "compare FILE OTHER --sql SELECT --key function", "compare FILE OTHER --sql SELECT --key RAW",
    "compare FILE OTHER FILE", "steps FILE", "steps FILE --json", "steps FILE --filter NAME", "what-if FILE",
    "what-if FILE --without NAME --json", "types FILE", "types FILE --json",
    "types FILE --filter NAME", "types FILE --search RAW", "object FILE 3 --by-number",
    "object FILE 3 --by-number --json", "object FILE RAW", "paths FILE 3 --by-number",
    "paths FILE 3 --by-number --json", "paths FILE --of NAME", "paths FILE --of NAME --markdown",
    "paths FILE 3 --by-number --without RAW", "threads FILE", "threads FILE --json", "threads FILE --filter NAME",
    "images FILE", "images FILE --filter NAME", "flame FILE", "flame FILE --json", "flame FILE --folded",
    "flame FILE --bottom-up --by-line", "flame FILE --diff OTHER", "flame FILE --filter NAME",
    "flame FILE --group module", "flame FILE --tree paths --folded", "flame FILE --libraries RAW", "sql FILE --schema",
    "sql FILE RAW", "export FILE --force --speedscope OUT", "export FILE --force --pprof OUT",
    "export FILE --force --snapviewer OUT", "export FILE --force --pprof OUT --filter NAME",
    "report FILE -o OUT --force", "report FILE --markdown --values", "report FILE -o OUT --force --before OTHER",
    "picture FILE -o OUT --force", "picture FILE -o OUT --force --of sunburst --tree paths",
    "picture FILE -o OUT --force --by function", "picture FILE -o OUT --force --diff OTHER",
    "picture FILE -o OUT --force --filter NAME", "redact FILE OUT --force", "redact FILE OUT --force --json",
    "fleet summary FILE", "check FILE --max-peak 0 --top 200", "check FILE --max-peak 0 --json",
    "check FILE --against OTHER --max-peak 0 --max-retained NAME 1 --max-sql RAW 1",
    "baseline FILE -o OUT --force",
)  # fmt: skip
"""``FILE`` has the names, ``OTHER`` those of another order, ``NAME`` is a filter by a name, ``RAW`` is a name alone."""
REFUSED = {
    "compare FILE OTHER --sql SELECT --key RAW", "lines FILE --at RAW", "object FILE RAW", "sql FILE RAW",
}  # fmt: skip
"""A name is no column, moment, object or query: a sentence says so."""
OF_FLEETS = (
    "peaks", "peaks --json", "lines", "lines --json", "lines --search RAW", "lines RAW", "ooms", "ooms --json",
    "growth", "growth --json", "growth --of types", "growth --match RAW", "curves", "curves --json", "sql SELECT",
    "sql SELECT --json", "sql SELECT --csv",
)  # fmt: skip
ELSEWHERE = {
    "dump": "of a process: test_dumping.py", "record": "of a process: test_recordings.py",
    "run": "of a program: test_run.py",
    "lsp": "the requests below", "mcp": "the tools below", "diagnostics": "has no file", "filter": "has no file",
    "completion": "has no file", "new-pack": "has no file", "explain": "of a text: test_explain.py",
}  # fmt: skip
"""Commands that print nothing of a file, or are tried another way."""
COMMANDS = LISTED + tuple(
    f"{name} FILE{option}"
    for name in commands()
    if name not in {*ELSEWHERE, *(each.split()[0] for each in LISTED)}
    for option in ("", " --json")
)
"""A command without a row is asked about a file alone."""
FILTERED = {
    **dict.fromkeys(HEAP_DUMPS, "types"),
    **dict.fromkeys(("torch", "snapviewer"), "lines --by function --at all"),
}
"""How what a filter finds is listed, but for profiles."""
SHORTENED = {("v8", "<img src=x onerror=alert(1)>"), ("tracemalloc", "none"), ("hprof", "[table]"),
             ("hprof", '[a](command:workbench.action.quit "t")')}  # fmt: skip
"""Names that mean something in a format: an element of a page is of its tag's type, PyTorch's "none" is no file, and
Java's "[" begins an array's.
"""


CALLED = {"python_heap": "{}.{}"}
"""What a type is called, for which its module has the same name."""


def test_every_format_and_command_is_tried() -> None:
    assert {form.partition(",")[0] for form in PLANTED} == set(FORMATS)
    known = commands()
    tried = {command.split()[0] for command in COMMANDS}
    assert tried | set(ELSEWHERE) == set(known)
    assert not tried & set(ELSEWHERE)
    # what reads a place starts workers, which make the summaries that are asked about here
    assert {command.split()[0] for command in OF_FLEETS} | {"summary", "run"} == set(commands(known["fleet"]))


def words(command: str, place: Place, chance: random.Random, field: str) -> list[str]:
    name = chance.choice(place.names)
    out = place.path.with_name(f"{place.path.stem}{re.sub('[^a-z]+', '-', command)}.zip")
    known = {
        "FILE": str(place.path), "OTHER": str(place.other), "OUT": str(out), "VALUE": place.names[3],
        "NAME": f"{field}:{in_quotes('=' + name[:500])}", "RAW": name[:500].replace("\0", ""),
        "SELECT": "SELECT function, count(*) FROM frames GROUP BY 1",
    }  # fmt: skip
    return [known.get(word, word) for word in command.split()]


def model_of(form: str) -> str:
    return "graph" if form in HEAP_DUMPS else "timeline" if form in ("torch", "snapviewer") else "profile"


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, pytest.param(len(PLANTED), marks=pytest.mark.nightly)])
def test_every_command_prints_names_as_text(places: dict[str, Place], folder: Path, most: int) -> None:
    """Each is tried with other formats until ``most`` of each model have answered."""
    faults, answered = [], defaultdict[str, list[str]](list)
    chance = random.Random(36)
    for command in COMMANDS:
        for form, place in chance.sample(list(places.items()), len(places)):
            if sum(model_of(each) == model_of(form) for each in answered[command]) == most:
                continue
            arguments = words(command, place, chance, "type" if form in HEAP_DUMPS else "function")
            if command.split()[0] not in ("redact", "filter"):
                arguments += ["--cache-dir", str(folder / "cache")]
            if command.startswith("fleet"):
                arguments = arguments[:3]
            text = shown(arguments)
            hidden = sorted(c for c in set(text) if unicodedata.category(c) in HIDDEN and c != "\n")
            if hidden or "nternal error" in text:
                faults.append(f"{form}: {shlex.join(arguments)}: {hidden} {text[:300]!r}")
            if not text.startswith(("memlens:", "usage:")):
                answered[command].append(form)
                if "--json" in arguments:
                    json.loads(text)
    assert not faults, "\n".join(faults)
    unanswered = {command for command in COMMANDS if not answered[command]}
    # by chance a name may be an id or a column
    assert unanswered <= REFUSED, "a command that no format answers proves nothing"


@pytest.mark.slow
def test_every_question_about_a_fleet_prints_names_as_text(places: dict[str, Place], fleet: Path) -> None:
    chance, faults, answered = random.Random(38), [], set()
    for command in OF_FLEETS:
        for _ in range(8):
            place = places[chance.choice(list(places))]
            first, *rest = words(command, place, chance, "")
            rest = [
                "SELECT * FROM snapshots, lines LIMIT 300" if word.startswith("SELECT") else word
                for word in rest
            ]
            text = shown(["fleet", first, str(fleet), *rest])
            hidden = sorted(c for c in set(text) if unicodedata.category(c) in HIDDEN and c != "\n")
            if hidden or "nternal error" in text:
                faults.append(f"{first} {rest}: {hidden} {text[:300]!r}")
            if not text.startswith(("memlens:", "usage:")):
                answered.add(command)
    assert not faults, "\n".join(faults)
    assert set(OF_FLEETS) - answered <= {"lines RAW", "growth --match RAW"}


def all_texts(path: Path, folder: Path, form: str) -> Iterator[str]:
    """Every text of every table."""
    cache = ("--cache-dir", folder / "cache")
    for table in json.loads(memlens("sql", path, "--schema", "--json", *cache).stdout)["tables"]:
        texts = [column["name"] for column in table["columns"] if column["type"] in ("TEXT", "ANY")]
        # the names of frames are stored once, for two views
        if not texts or not (table["kind"] == "table" or table["name"] in ("frames", "lines")):
            continue
        query = f'SELECT {", ".join(texts)} FROM "{table["name"]}"'
        yield memlens("sql", path, query, form, *cache).stdout


@pytest.mark.slow
def test_names_come_out_of_sql_as_they_were(places: dict[str, Place], folder: Path) -> None:
    missing = []
    for form, place in places.items():
        every = "\n".join(
            str(value)
            for answer in all_texts(place.path, folder, "--json")
            for row in json.loads(answer)
            for value in row.values()
        )
        cells = [
            cell
            for answer in all_texts(place.path, folder, "--csv")
            for row in csv.reader(io.StringIO(answer, newline=""))
            for cell in row
        ]
        as_csv = "\n".join(cells).replace("'", "")
        for name in place.names:
            # what is no Unicode is replaced when it is read
            known = name[:200].partition("\ud800")[0]
            if known not in every:
                missing.append((form, name[:50], "JSON"))
            # apostrophes are put before what a spreadsheet would read as a formula
            if known.replace("'", "") not in as_csv:
                missing.append((form, name[:50], "CSV"))
        formulas = [cell for cell in cells if re.match(r"\s*[=@\uff1d\uff20]", cell)]
        missing += [(form, cell[:50], "is a formula") for cell in formulas]
    assert not missing, "\n".join(map(str, missing))


@pytest.mark.slow
@pytest.mark.parametrize("share", [9, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_filter_by_a_name_finds_what_has_it(places: dict[str, Place], folder: Path, share: int) -> None:
    """Of each format's names one in ``share``, others for the next format."""
    lost = []
    for number, (form, place) in enumerate(places.items()):
        command, field = FILTERED.get(form, "lines --by function"), "function"
        if command == "types":
            field = "type"
        elif form == "tracemalloc":
            field = "file"
        for name in place.names[number % share :: share]:
            if name[:99] == LONG[:99] or "\ud800" in name or (form, name) in SHORTENED:
                continue
            called = CALLED.get(form, "{}").replace("{}", name.replace("/", ".") if form == "hprof" else name)
            term = f"{field}:{in_quotes('=' + called)}"
            arguments = (*command.split(), "--filter", term, "--json", "--cache-dir", folder / "cache")
            first, *rest = arguments
            done = memlens(first, place.path, *rest, status=None)
            if done.returncode or not any(called in text for text in texts_in(json.loads(done.stdout))):
                lost.append((form, name, (done.stderr or done.stdout)[:200]))
    assert not lost, "\n".join(map(str, lost))


def texts_in(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for each in value.values():
                yield from texts_in(each)
        case list():
            for each in value:
                yield from texts_in(each)
        case str():
            yield value
