"""``memlens explain``: each kind of text has examples beside its pack, whose meaning is in expected.toml.

Those of Java, Node.js, Python, of smaps and of a control group of version 1 are real ones; the others are written by
the sources that their readers name.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.hostile_names import NAMES
from tests.python.java_classes import QUICK
from tests.python.recipes import Page, needs
from tests.python.test_hostile_names import HIDDEN, shown

from memlens.errors import BadRequestError
from memlens.explain.answers import Explained, Explanation
from memlens.explain.explanation import ANY_RUNTIME, MOST_BYTES, MOST_SHOWN, explain, kinds, signs
from memlens.explain.text import MOST_LINE, Log
from memlens.packs import registry
from memlens.server.handlers import explain as handler
from memlens.texts import Text

FOLDERS = [ROOT / "tests/fixtures/messages", *sorted(ROOT.glob("pyserver/memlens/packs/*/tests/messages"))]
EXPECTED: list[tuple[Path, list[dict[str, Any]]]] = [
    (folder / name, rows)
    for folder in FOLDERS
    for name, rows in tomllib.loads((folder / "expected.toml").read_text("utf-8")).items()
]
NAME = Text("The text")


def explained(text: str) -> Explained:
    return explain(text, NAME)


def said(one: Explanation) -> str:
    return " ".join(str(each) for each in (*one.conclusions, *one.settings))


@pytest.mark.parametrize(
    ("path", "rows"), EXPECTED, ids=[str(path.relative_to(ROOT)) for path, _ in EXPECTED]
)
def test_an_example_says_what_is_expected(path: Path, rows: list[dict[str, Any]]) -> None:
    text = path.read_text("utf-8")
    if "refused" in rows[0]:
        with pytest.raises(BadRequestError) as refused:
            explained(text)
        assert str(refused.value.message) == rows[0]["refused"]
        return
    found = explained(text).explanations
    assert [each.title.text for each in found] == [row["title"] for row in rows]
    for each, row in zip(found, rows, strict=True):
        assert each.kind == row["kind"]
        assert [each.first_line, each.last_line] == row["lines"]
        assert (each.ended_by, each.memory) == (row["ended_by"], row["memory"])
        assert [one.section for one in each.next_time] == [row["next"]]
        assert {str(amount.label): amount.bytes for amount in each.amounts} == row.get("amounts", {})
        for words in row.get("says", ()):
            assert words in said(each)


def test_every_example_has_its_row_and_every_kind_its_example() -> None:
    for folder in FOLDERS:
        files = {each.name for each in folder.iterdir()} - {"expected.toml"}
        assert files == {path.name for path, _ in EXPECTED if path.parent == folder}
    texts = [(path, path.read_text("utf-8"), rows) for path, rows in EXPECTED]
    explained_kinds = {row.get("kind") for _, rows in EXPECTED for row in rows}
    for kind in kinds():
        message = kind.message
        for sign in message.signs:
            assert any(sign in text for _, text, _ in texts), sign
        if message.title.text:
            assert message.name in explained_kinds
        else:
            # what only looks like a message is refused by its name
            refused = [rows for _, text, rows in texts if any(sign in text for sign in message.signs)]
            assert any("refused" in rows[0] for rows in refused), message.name
    names = [kind.message.name for kind in kinds()]
    assert len(names) == len({*names})


def test_logs_that_put_something_before_each_line_say_the_same() -> None:
    """As kubectl logs, docker compose and CI do; the kernel's lines as dmesg and the journal have them."""
    for path, rows in EXPECTED:
        if "kernel-" not in path.name:
            continue
        bare = re.sub(
            r"(?m)^(?:Mar .*? kernel: |\[[^\]]*\.\d+\](?:\[T\d+\])? |\[Wed .*?\] )",
            "",
            path.read_text("utf-8"),
        )
        for before in ("Mar 04 05:06:07 host kernel: ", "[  123.456789] ", "[Wed Mar  4 05:06:07 2026] "):
            text = "".join(f"{before}{line}\n" for line in bare.splitlines())
            found = explained(text).explanations[0]
            assert found.title.text == rows[0]["title"], before
            assert {str(each.label): each.bytes for each in found.amounts} == rows[0]["amounts"]


def test_colours_and_windows_line_ends_change_nothing() -> None:
    path = next(path for path, _ in EXPECTED if path.name == "native-memory.txt")
    text = path.read_text("utf-8")
    assert explained(text.replace("\n", "\r\n").replace("Total", "\x1b[31mTotal\x1b[0m")) == explained(text)


def test_of_two_messages_the_one_that_knows_who_it_was_stays() -> None:
    kernel = (ROOT / "tests/fixtures/messages/kernel-line.txt").read_text("utf-8")
    found = explained(
        f"./train.sh: line 12:  4711 Killed                  python train.py\n{kernel}"
    ).explanations
    assert [each.kind for each in found] == ["kernel"]


def test_many_messages_are_cut_to_the_last() -> None:
    line = "[ 1.0] Out of memory: Killed process {} (render) total-vm:8kB, anon-rss:8kB, file-rss:0kB, shmem-rss:0kB\n"
    found = explained("".join(line.format(number) for number in range(1, 101)))
    assert found.left_out == 100 - MOST_SHOWN
    assert [re.findall(r"process (\d+)", each.title.text)[0] for each in found.explanations] == [
        str(number) for number in range(101 - MOST_SHOWN, 101)
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "The text is empty"),
        ("  \n", "The text is empty"),
        ("a\0b", "The text is no text"),
        ("Everything went well.\n", "has no message about memory that Memlens knows"),
        ("ProcessKilled 137 things; MemoryErrors; Killed.\n", "has no message about memory"),
    ],
)
def test_what_is_unknown_is_refused(text: str, words: str) -> None:
    with pytest.raises(BadRequestError, match=words) as refused:
        explained(text)
    if "has no message" in words:
        assert "Java's OutOfMemoryError; " in refused.value.advice.text


def hostile_texts() -> Iterator[tuple[str, str]]:
    """Long lines, many signs, and beginnings that go on with what a pattern might try again and again."""
    size = 100_000
    for sign in signs():
        for filler in ("a", " ", "1", "(", "[1] ", "=", "-", "kernel: ", "0 MB -> ", "1 GiB ", ": "):
            yield f"{sign} and {filler!r}", f"x {sign}{filler * (size // len(filler))}{sign}"
        yield f"many {sign}", f"{sign}\n" * (size // (len(sign) + 1))
    for path, _ in EXPECTED:
        text = path.read_text("utf-8")
        yield f"digits of {path.name}", re.sub(r"\d+", "9" * 40, text)
        yield f"{path.name} many times", text * max(2, size // len(text) // 4)


@pytest.mark.slow
def test_a_strangers_text_takes_bounded_time() -> None:
    # what takes time by the square of the text's length ends by the limit of all tests
    for name, text in hostile_texts():
        try:
            found = explained(text)
        except BadRequestError:
            pass
        else:
            assert len(found.explanations) <= MOST_SHOWN, name
            assert all(len(each.title.text) < 1_000 for each in found.explanations), name


def test_names_in_a_message_are_text(tmp_path: Path) -> None:
    line = "[ 1.0] Out of memory: Killed process 7 ({}) total-vm:8kB, anon-rss:8kB, file-rss:0kB, shmem-rss:0kB\n"
    names = [" ".join(name[:40].replace("\0", "").split()) for name in NAMES]
    path = tmp_path / "kernel.log"
    for at in range(0, len(names), MOST_SHOWN):
        text = "".join(line.format(name) for name in names[at : at + MOST_SHOWN])
        path.write_text(text, "utf-8", "replace")
        printed = shown(["explain", str(path)])
        assert not [c for c in printed if unicodedata.category(c) in HIDDEN and c != "\n"]
        for message in handler._result(explained(text)).messages:
            assert not re.search(r"(?<!\\)(\]\(command:|<img)", message.markdown)


def test_a_line_is_looked_at_up_to_its_bound() -> None:
    log = Log("first\n" + "a" * 2 * MOST_LINE)
    assert len(log.line(1)) == MOST_LINE
    assert [*log.found("a")] == [1]


def test_recordings_for_the_next_time_stand_on_the_page() -> None:
    page = Page("it-already-died.md")
    recordings = {
        (each.section, each.recording)
        for path, rows in EXPECTED
        if "refused" not in rows[0]
        for one in explained(path.read_text("utf-8")).explanations
        for each in one.next_time
    }
    recordings |= {(each.section, each.recording) for each in registry.next_times()}
    recordings.add((ANY_RUNTIME.section, ANY_RUNTIME.recording))
    assert len(recordings) >= 9
    for section, recording in recordings:
        assert recording in page.section(f"Next time: {section}")


def test_the_command_reads_files_and_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROOT / "tests/fixtures/messages/kernel-pod.txt"
    shown = memlens("explain", path).stdout
    assert shown.startswith(
        "The kernel killed python3 (process 7001), because its control group reached its limit"
    )
    assert re.search(r"limit of the control group +512 MiB \(536,870,912 bytes\)", shown)
    assert "    python -m memray run -o run.bin app.py" in shown
    answer = json.loads(memlens("explain", path, "--json").stdout)
    assert answer["explanations"][0]["kind"] == "kernel"
    assert {each["label"]: each["bytes"] for each in answer["explanations"][0]["amounts"]}[
        "limit of the control group"
    ] == 512 << 20
    done = subprocess.run(
        [sys.executable, "-m", "memlens", "explain", "-"],
        input=path.read_bytes(),
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode() == shown
    # of a longer text the end is read, and that is said
    long = tmp_path / "long.log"
    long.write_bytes(b"nothing\n" * (MOST_BYTES // 8) + path.read_bytes())
    shown = memlens("explain", long).stdout
    assert "process 7001" in shown
    assert "note: Only the last 16,777,216 bytes were read" in shown
    assert "can't be read: No such file" in memlens("explain", tmp_path / "none", status=1).stderr


def test_control_characters_of_a_text_reach_no_terminal() -> None:
    text = "[ 1.0] Out of memory: Killed process 7 (evil\x1b]0;x\x07\u202e) total-vm:8kB, anon-rss:8kB\n"
    (found,) = explained(text).explanations
    assert not re.search(r"[\x00-\x1f\x7f\u202e]", found.title.text)


# real ones


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's files")
def test_mappings_of_a_process_add_up_to_what_the_kernel_says(tmp_path: Path) -> None:
    program = (
        "import sys, mmap\nheld = bytearray(30 << 20)\nshared = mmap.mmap(-1, 5 << "
        "20)\nshared.write(b'x' * (5 << 20))\nprint('ready', flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        folder = Path("/proc") / str(process.pid)
        for _ in range(50):
            # until it waits for its stdin
            before = (folder / "smaps_rollup").read_bytes()
            (maps,) = json.loads(memlens("explain", folder / "smaps", "--json").stdout)["explanations"]
            (rollup,) = json.loads(memlens("explain", folder / "smaps_rollup", "--json").stdout)[
                "explanations"
            ]
            if (folder / "smaps_rollup").read_bytes() == before:
                break
        (status,) = json.loads(memlens("explain", folder / "status", "--json").stdout)["explanations"]
        assert process.stdin is not None
        process.stdin.close()
    sizes, sums, kept = (
        {each["label"]: each["bytes"] for each in one["amounts"]} for one in (maps, rollup, status)
    )
    assert sizes["resident"] == sums["resident"]
    parts = (
        "anonymous mappings",
        "[heap]",
        "files",
        "shared memory",
        "the main thread's stack",
        "the kernel's pages",
    )
    assert sum(sizes.get(part, 0) for part in parts) == sizes["resident"]
    assert sizes["shared memory"] >= 5 << 20
    assert sizes["anonymous mappings"] >= 30 << 20
    assert abs(kept["resident"] - sizes["resident"]) < 1 << 20
    assert status["next_time"][0]["section"] == "Python"


@pytest.mark.slow
def test_a_node_that_reaches_its_limit(tmp_path: Path) -> None:
    node = needs("node")
    (tmp_path / "app.js").write_text(
        "const sessions = [];\nfor (let id = 0; ; id++) sessions.push({ id, visited: new Array(500).fill(id) });\n"
    )
    command = [node, "--max-old-space-size=30", "--report-on-fatalerror", "app.js"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    (found,) = explained(done.stderr).explanations
    assert (found.kind, found.memory) == ("node-fatal-error", "heap")
    live = next(each for each in found.amounts if "live" in str(each.label))
    assert 20 << 20 < live.bytes < 80 << 20
    (report,) = tmp_path.glob("report.*.json")
    (found,) = explained(report.read_text("utf-8")).explanations
    sizes = json.loads(report.read_text("utf-8"))["javascriptHeap"]
    assert sizes["usedMemory"] in [each.bytes for each in found.amounts]
    assert "--max-old-space-size=30" in said(found)


@pytest.mark.slow
def test_a_java_that_runs_out(tmp_path: Path) -> None:
    compiler, java = needs("javac"), needs("java")
    (tmp_path / "Leak.java").write_text(
        "import java.util.*;\npublic class Leak {\n  static final List<byte[]> kept = new ArrayList<>();\n"
        "  public static void main(String[] names) {\n    while (true) kept.add(new byte[10000]);\n  }\n}\n"
    )
    subprocess.run([compiler, *QUICK, "Leak.java"], cwd=tmp_path, check=True, timeout=120)
    options = [
        "-Xmx24m",
        "-XX:+CrashOnOutOfMemoryError",
        "-XX:NativeMemoryTracking=summary",
        "-XX:-CreateCoredumpOnCrash",
    ]
    command = [java, *options, f"-XX:ErrorFile={tmp_path / 'hs_err.log'}", "-cp", ".", "Leak"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert explained(done.stdout).explanations[0].title.text.endswith(": Java heap space")
    error, counted = explained((tmp_path / "hs_err.log").read_text("utf-8", "replace")).explanations
    assert (error.kind, error.memory) == ("java-out-of-memory", "heap")
    assert {str(each.label): each.bytes for each in counted.amounts}["of it the heap"] == 24 << 20


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of address space is Linux's")
def test_a_python_below_a_limit() -> None:
    program = (
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\nkept = []\n"
        "while True:\n    kept.append(bytearray(1 << 20))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    (found,) = explained(done.stderr).explanations
    assert found.kind == "python-memory-error"


GROUPS = Path("/sys/fs/cgroup/memory")


@pytest.mark.slow
@pytest.mark.skipif(
    not (GROUPS / "cgroup.procs").exists() or not os.access(GROUPS, os.W_OK) or os.geteuid() != 0,
    reason="control groups of version 1 that may be made",
)
def test_a_process_that_the_kernel_kills_for_its_group() -> None:
    group = GROUPS / f"memlens-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(60 << 20))
        program = (
            f"import os\nopen({str(group / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"
            "kept = []\nwhile True:\n    kept.append(bytearray(1 << 20))\n"
        )
        with subprocess.Popen([sys.executable, "-c", program]) as process:
            process.wait(60)
        lines = subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout.splitlines()
    finally:
        group.rmdir()
    if process.returncode != -9 or not any(f"Killed process {process.pid} " in line for line in lines):
        pytest.skip("the kernel's lines can't be read here")
    last = max(number for number, line in enumerate(lines) if f"Killed process {process.pid} " in line)
    found = explained("\n".join(lines[: last + 1])).explanations[-1]
    sizes = {str(each.label): each.bytes for each in found.amounts}
    assert found.title.text.endswith("because its control group reached its limit of 60 MiB")
    assert sizes["limit of the control group"] == 60 << 20
    assert sizes["of it anonymous: heaps, stacks"] > 40 << 20
    assert group.name in said(found)
