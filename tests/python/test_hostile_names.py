"""Names from a snapshot on a terminal: whatever they contain, only text is printed, in lines of limited length."""

import contextlib
import io
import json
import logging
import pickle
import unicodedata
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec import structs
from tests.python.command_line import memlens
from tests.python.hostile_files import PROFILES
from tests.python.profile_reading import load

from memlens.cli import main
from memlens.cli.failures import failed
from memlens.packs.pytorch.tests.test_torch_reader import small
from memlens.server.figures import Measure, figure_of
from memlens.store.snapshot import Snapshot

NASTY = {
    "escapes": "\x1b[31mred\x1b]0;title\x07\x9b2J\x08\x7f",
    "directions": "abc\u202egnp.exe\u2066x\u200f",
    "lines": "one\ntwo\rthree\x85four\u2028five\tsix",
    "zero": "nul\0name\ud800half\ufffe\uffff",
    "markup": "<img src=x onerror=alert(1)>[a](command:x)`$(touch x)`",
    "syntax": "{project} {{x}} {0} {} %s %(a)s %n \\1 \\g<0> $& ' \" ; -- /* */ ) * [a",
    "long": "y" * 1_000_000,
}
LONGEST_LINE = 200_000
"""Each folded stack is one line, of names that the reader has truncated to about ten thousand characters."""

HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}

COMMANDS = [
    ["info"],
    ["lines"],
    ["stack", "0"],
    ["stack", "1"],
    ["steps"],
    ["oom"],
    ["what-if"],
    ["compare", "ITSELF"],
    ["compare", "ITSELF", "--by", "stack"],
    ["compare", "ITSELF", "--by", "function"],
    ["flame"],
    ["flame", "--by-line", "--value", "total"],
    ["flame", "--folded", "--value", "total"],
    ["sql", "SELECT * FROM frames"],
    ["sql", "SELECT * FROM annotations"],
    ["sql", "SELECT * FROM allocations"],
    ["sql", "SELECT * FROM events"],
    *(["sql", "SELECT * FROM frames", form] for form in ("--json", "--csv")),
    ["sql", "SELECT * FROM allocations", "--json"],
    *(
        [*command, "--json"]
        for command in (["info"], ["lines"], ["stack", "0"], ["steps"], ["oom"], ["what-if"], ["flame"])
    ),
    ["compare", "ITSELF", "--json"],
]

OF_PROFILES = [
    ["info"],
    ["lines"],
    ["flame"],
    ["flame", "--folded"],
    ["compare", "ITSELF"],
    ["sql", "SELECT * FROM frames"],
    ["sql", "SELECT * FROM frames", "--csv"],
    *([*command, "--json"] for command in (["info"], ["lines"], ["flame"], ["compare", "ITSELF"])),
    ["sql", "SELECT * FROM frames", "--json"],
]


def renamed(value: Any, name: str) -> Any:
    """A snapshot with ``name`` in the place of every text that isn't a key and names no action or state."""
    kept = {
        "alloc",
        "free_requested",
        "free_completed",
        "segment_alloc",
        "oom",
        "empty_cache",
        "snapshot",
        "small",
    }
    match value:
        case dict():
            return {
                key: each if key in ("state", "action") else renamed(each, name)
                for key, each in value.items()
            }
        case list() | tuple():
            return type(value)(renamed(each, name) for each in value)
        case str() if value not in kept:
            return name
    return value


class Terminal(io.TextIOWrapper):
    """A stdout that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def shown(arguments: list[str]) -> str:
    """Return the output of a command, whether it succeeds or fails."""
    written = io.BytesIO()
    out = Terminal(written, encoding="utf-8", errors="surrogatepass", newline="")
    errors = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        with contextlib.suppress(SystemExit):
            main(arguments)
        out.flush()
    printed = written.getvalue().decode("utf-8", "surrogatepass")
    assert "Traceback" not in errors.getvalue()
    assert printed or errors.getvalue()
    return printed + errors.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("kind", NASTY)
def test_names_are_only_text_on_a_terminal(kind: str, tmp_path: Path) -> None:
    snapshot = renamed(small(), NASTY[kind])
    snapshot["external_annotations"] = [
        {"stage": "START", "name": NASTY[kind], "device": 0, "time_us": 1001},
        {"stage": "END", "name": NASTY[kind], "device": 0, "time_us": 1006},
    ]
    file = tmp_path / "names.pickle"
    file.write_bytes(pickle.dumps(snapshot, 4))
    check(file, COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", NASTY)
@pytest.mark.parametrize("form", PROFILES)
def test_names_of_profiles_are_only_text_on_a_terminal(form: str, kind: str, tmp_path: Path) -> None:
    file = tmp_path / form
    file.write_bytes(PROFILES[form](NASTY[kind]))
    check(file, OF_PROFILES)
    assert "Internal error" not in shown(["info", str(file), "--cache-dir", str(tmp_path / "cache")])


@pytest.mark.parametrize("kind", NASTY)
@pytest.mark.parametrize("form", PROFILES)
def test_figures_of_lines_are_only_text_in_an_editor(
    form: str, kind: str, tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    file = tmp_path / form
    file.write_bytes(PROFILES[form](NASTY[kind]))
    info = opened(file).profile
    for number in range(len(info.values)):
        shown_first = structs.replace(info, default_value=number)
        for measure in get_args(Measure):
            figure = figure_of(shown_first, measure)
            text = f"{figure.words}: {figure.say(5)}"
            assert not {c for c in text if unicodedata.category(c) in HIDDEN}
            assert len(text) < 500


@pytest.mark.parametrize("kind", [kind for kind in NASTY if kind != "long"])
def test_the_name_of_the_file_is_only_text_on_a_terminal(kind: str, tmp_path: Path) -> None:
    # an undecodable byte instead of a lone surrogate, which no file name can contain
    name = NASTY[kind].replace("/", "").replace("\0", "").replace("\ud800", "\udcff")
    file = tmp_path / f"{name}.pickle"
    check(file, [["info"], ["sql", "nonsense"]])  # before the file exists
    file.write_bytes(pickle.dumps(small(), 4))
    target = str(tmp_path / f"{name}.out")
    exports = [["export", f"--{form}", target] for form in ("snapviewer", "speedscope", "pprof")]
    check(file, [["info"], ["info", "--json"], ["ingest", "--out", target], *exports, ["stack", "0", name]])
    file.write_bytes(b"\x80\x04damaged.")
    check(file, [["info"]])


@pytest.mark.parametrize("kind", NASTY)
def test_what_a_bug_prints_is_only_text_on_a_terminal(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed(Namespace(), ValueError(f"before {NASTY[kind][:1000]}\nafter"))
    assert logging.lastResort is not None
    record = logging.LogRecord(
        "memlens", logging.WARNING, "", 0, "%s of\n%s", (NASTY[kind][:1000], "a file"), None
    )
    text = capsys.readouterr().err + logging.lastResort.format(record)
    assert "ValueError: before" in text
    assert {c for c in text if unicodedata.category(c) in HIDDEN} == {"\n"}


def check(file: Path, commands: list[list[str]]) -> None:
    for command in commands:
        words = [str(file) if word == "ITSELF" else word for word in command[1:]]
        text = shown([command[0], str(file), *words, "--cache-dir", str(file.parent / "cache")])
        hidden = sorted({c for c in text if unicodedata.category(c) in HIDDEN and c != "\n"})
        assert not hidden, f"{command} printed {hidden}"
        if "--json" in command and not text.startswith("memlens:"):
            json.loads(text)
            continue
        longest = max(map(len, text.splitlines()))
        assert longest < LONGEST_LINE, f"{command} printed a line of {longest:,} characters"


@pytest.mark.parametrize("form", ["pprof", "dhat", "massif"])
def test_texts_of_a_megabyte_are_cut_by_the_readers(form: str, tmp_path: Path) -> None:
    file = tmp_path / form
    file.write_bytes(PROFILES[form](NASTY["long"]))
    profile = load(file)
    names = [text for kind in profile.value_types for text in (kind.name, kind.unit, kind.title.text)]
    assert max(map(len, names)) <= 200
    words = [*(warning.message for warning in profile.warnings), *profile.strings.values()]
    assert max(map(len, [json.dumps(profile.settings), *words])) < 20_000
    if form == "pprof":
        message = next(warning.message for warning in profile.warnings if warning.code == "no-symbols")
        assert message.endswith("without the symbols of its binaries."), "the sentence is complete"


def growing(file: str) -> bytes:
    """A trace of three marked steps, in which two lines of a file keep more after each."""
    frames = [{"filename": file, "line": line, "name": file} for line in (2, 1)]
    start = 1_700_000_000_000_000
    trace = [
        {"action": "alloc", "addr": (0x7F0 << 32) + (number << 28), "size": (8 + number % 4) << 20, "stream": 0,
         "frames": frames, "time_us": start + 1000 * number}
        for number in range(60)
    ]  # fmt: skip
    notes = [
        {"stage": stage, "name": f"ProfilerStep#{step}", "device": 0, "time_us": start + step * 20_000 + after}
        for step in range(3) for stage, after in (("START", 0), ("END", 19_500))
    ]  # fmt: skip
    return pickle.dumps({"segments": [], "device_traces": [trace], "external_annotations": notes}, 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["{project}", "{{cookiecutter.name}}", "{", "}", "{}", "{0}", "%s", "it's", NASTY["syntax"]]
)
def test_every_figure_of_a_finding_is_what_its_query_answers(name: str, tmp_path: Path) -> None:
    path = tmp_path / "growing.pickle"
    path.write_bytes(growing(f"/srv/{name}/train.py"))
    own = "--cache-dir", tmp_path / "cache"
    found = json.loads(memlens("findings", path, "--json", *own).stdout)
    assert "grows_by_step" in [finding["rule"] for finding in found["findings"]]
    asked = [(figure["amount"], figure["sql"]) for figure in figures(found) if figure["sql"]]
    assert len(asked) > 5
    for amount, query in asked:
        (row,) = json.loads(memlens("sql", path, query, "--json", *own).stdout)
        assert list(row.values()) == [amount], query


def test_a_trace_of_allocations_without_bytes_has_answers(tmp_path: Path) -> None:
    path = tmp_path / "nothing.pickle"
    own = "--cache-dir", tmp_path / "cache"
    trace = [{"action": "alloc", "addr": 512, "size": 0, "stream": 0, "time_us": 1, "frames": []}]
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}, 4))
    for command in (["findings"], ["report", "--markdown"], ["info"], ["lines"], ["flame"], ["steps"]):
        assert "Internal error" not in memlens(command[0], path, *command[1:], *own, status=None).stderr
    assert memlens("findings", path, *own).stdout.startswith("Nothing was allocated")


def figures(data: Any) -> Iterator[dict[str, Any]]:
    """Every figure in an answer."""
    if isinstance(data, dict):
        if data.keys() >= {"amount", "sql"}:
            yield data
        for value in data.values():
            yield from figures(value)
    elif isinstance(data, list):
        for value in data:
            yield from figures(value)
