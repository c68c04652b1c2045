"""Writes snapshots whose names act, if they are taken for more than text: ``python -m tests.e2e.hostile FOLDER``.

A heap dump of Java with every name in each of its fields, one of Node.js in which the names are those of classes that
``app.vue`` defines, one a line, and a fleet whose snapshots are called so, each of which allocated on a line of
``fleet.py``.
"""

import sys
from contextlib import closing
from pathlib import Path

from tests.python.heap_files import HeapFile
from tests.python.hostile_heaps import PLANTED

from memlens.fleet.database import Database
from memlens.fleet.tables import CurveRow, LineRow, PeakRow, SnapshotRow, StepRow, Summary

NAMES = (
    '[quit](command:workbench.action.quit "quit")',
    '**bold** _thin_ `code` <b onclick="window.ran=1">tag</b><evil-tag><img src=x onerror="window.ran=1">',
    "$(alert) $(sync~spin) \\$(shield)",
    "abc\u202egnp.exe\u2066x\u200f",
    "{project} {{x}} {0} ${env:HOME} %s \\1 'q\" ; --",
    "one\ntwo\r\n\x1b[31mred\x1b]0;title\x07\x00",
    "javascript:alert(1) file:///etc/passwd \\\\host\\share\\a.py",
    "[link](file:///etc/passwd) <https://example.invalid/> https://example.invalid/x",
    "N" * 400,
    "\u0301z" + "\u0301\u0489" * 50 + "algo \u3164 \ufdfd",
    "| a | b |\n|---|---|\n# heading\n```",
)


def defined(source: Path) -> bytes:
    """A heap dump of classes that a file defines, one on each line."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    everything = heap.node("object", "global", 100)
    heap.edge(root, "shortcut", "global", everything)
    script = heap.node("hidden", str(source), 8)
    for number, name in enumerate(NAMES):
        shared, closure = heap.node("code", name, 40), heap.node("closure", name, 64)
        heap.edge(everything, "property", name, closure)
        heap.edge(closure, "internal", "shared", shared)
        heap.edge(shared, "internal", "script", script)
        heap.locations.append((closure, 1, number, 0))
        for each in range(3):
            held = heap.node("object", name, 100_000 * (number + 1))
            heap.edge(everything, "property", f"{name}{each}", held)
            heap.edge(held, "property", "constructor", closure)
            heap.locations.append((held, 1, number, 0))
    return heap.data()


def fleet(folder: Path) -> None:
    """Make the summaries of snapshots that were never there."""
    source = folder / "fleet.py"
    source.write_text("".join(f"allocate_{number}()\n" for number in range(len(NAMES))))
    with closing(Database(folder / "named.fleet", str(folder / "named"))) as database:
        for number, name in enumerate(NAMES):
            peak = (number + 1) << 30
            summary = Summary(
                model="timeline", kind="made", peak_bytes=peak, peak_unix_us=None, end_bytes=peak, lines_left_out=0,
                types_left_out=0, memory_bytes=None, figures=[],
                peaks=[PeakRow(0, peak, 1, None, None, None, peak, 1, None, 0)],
                curves=[CurveRow(0, 0, "microseconds", 0.0, 1000.0, peak, peak)],
                lines=[LineRow(str(source), number + 1, name, "user", peak, peak, peak, 1)],
                steps=[StepRow(0, 0, name, False, None, None, peak, 0, 0, 0)], findings=[], types=[], ooms=[],
            )  # fmt: skip
            file = f"{name}{number}.pickle"
            row = SnapshotRow(
                number, file, number, "ok", None, None, "timeline", "made", 1, None, "1", peak, None, peak, 0, 1, 0, 0,
                "here", 1, 0.5, None,
            )  # fmt: skip
            database.put(row, summary)


def main() -> None:
    """Write them."""
    folder = Path(sys.argv[1])
    source = folder / "app.vue"
    source.write_text("".join(f"class C{number} {{}}\n" for number in range(len(NAMES))))
    (folder / "java [quit](command:workbench.action.quit 'quit') $(alert) {project} %s.hprof").write_bytes(
        PLANTED["hprof"](NAMES).data
    )
    (folder / "defined.heapsnapshot").write_bytes(defined(source))
    fleet(folder)


if __name__ == "__main__":
    main()
