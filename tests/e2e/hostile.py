"""Writes snapshots whose names act, if they are taken for more than text: ``python -m tests.e2e.hostile FOLDER``.

A heap dump of Java with every name in each of its fields, and one of Node.js in which the names are those of classes
that ``app.js`` defines, one a line.
"""

import sys
from pathlib import Path

from tests.python.heap_files import HeapFile
from tests.python.hostile_heaps import PLANTED

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


def main() -> None:
    """Write them."""
    folder = Path(sys.argv[1])
    source = folder / "app.js"
    source.write_text("".join(f"class C{number} {{}}\n" for number in range(len(NAMES))))
    (folder / "java [quit](command:workbench.action.quit 'quit') $(alert) {project} %s.hprof").write_bytes(
        PLANTED["hprof"](NAMES).data
    )
    (folder / "defined.heapsnapshot").write_bytes(defined(source))


if __name__ == "__main__":
    main()
