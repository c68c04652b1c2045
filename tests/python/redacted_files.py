"""Helpers for tests of ``memlens redact``: dumps written anew, and what must be the same in them."""

import io
import tempfile
from collections.abc import Collection
from pathlib import Path

import numpy as np
from tests.python.graph_reading import load

from memlens.formats.containers import open_source
from memlens.formats.redacted import VALUES, Removed, Wanted
from memlens.formats.redaction import redact
from memlens.model.graph import ENTRY, Graph
from memlens.texts import Text

SECRET = "s3cret-of-alice@example.com"


def redacted(
    path: Path,
    removed: Removed = VALUES,
    mapping: list[str] | None = None,
    *,
    allows_damage: bool = False,
    keeps_shared: bool = True,
    keeps_time: bool = True,
    keeps_threads: bool = True,
) -> tuple[bytes, Text | None]:
    """The dump without its values, and the sentence about where it breaks."""
    wanted = Wanted(removed, allows_damage, keeps_shared, keeps_time, keeps_threads)
    out = io.BytesIO()
    with open_source(path, Path(tempfile.gettempdir()), lambda *_: None) as source:
        note = redact(source, out, wanted, lambda *_: None, mapping)
    return out.getvalue(), note


def written_anew(path: Path, folder: Path, removed: Removed = VALUES) -> Graph:
    """What is read from the dump without its values."""
    again = folder / f"redacted-{path.name.removesuffix('.gz').removesuffix('.zst')}"
    again.write_bytes(redacted(path, removed)[0])
    return load(again)


def encodings_of(text: str) -> list[bytes]:
    """How files hold a text: in strings, in arrays of bytes, chars and ints, and in longs."""
    forms = [text.encode(form) for form in ("utf-8", "utf-16-be", "utf-16-le", "utf-32-be", "utf-32-le")]
    return [*forms, text.encode()[:8], text.encode()[8:16]]


def names_of(graph: Graph, numbers: list[int]) -> list[str]:
    """The texts of some numbers; "" for none."""
    return [graph.texts[number] for number in numbers]


def _kept(name: str, renamed: str) -> str:
    at = name.find(renamed) if renamed else -1
    return name if at < 0 else name[:at] + name[at:].split(" ", maxsplit=1)[0].rstrip(">")


def reference_names(graph: Graph, kinds: Collection[str]) -> list[str]:
    """The name of each reference of ``kinds``."""
    chosen = [number for number, kind in enumerate(graph.reference_kinds) if kind.name in kinds]
    return names_of(graph, graph.references.name[np.isin(graph.references.kind, chosen)].tolist())


def assert_same_graph(
    before: Graph,
    after: Graph,
    *,
    unnamed: Collection[str] = (),
    renamed: str = "",
    more_files: bool = False,
) -> None:
    """Everything that figures, dominators, paths and tables of types rest on is equal.

    ``unnamed`` are kinds of references whose names are contents; in the names of types that have ``renamed`` in them
    what is from the first space on may be one. With ``more_files`` frames may have one that had none.
    """
    for name in ("shallow", "ids", "flags", "space", "stack", "type"):
        assert np.array_equal(getattr(before.objects, name), getattr(after.objects, name)), name
    types = [
        [_kept(name, renamed) for name in names_of(each, each.types.name.tolist())]
        for each in (before, after)
    ]
    # classes of V8 that no function has may be contents
    assert all(
        one == other or (before.kind == "v8" and "removed " in other)
        for one, other in zip(*types, strict=True)
    )
    assert np.array_equal(before.types.kind, after.types.kind)
    assert list(before.type_kinds) == list(after.type_kinds)
    for name in ("start", "target"):
        assert np.array_equal(getattr(before.references, name), getattr(after.references, name)), name
    # a symbol whose description isn't one that code writes becomes a key
    changed = before.references.kind != after.references.kind
    if before.kind == "python":
        # an attribute of which nothing says that code named it
        assert set(names_of(after, after.references.name[changed].tolist())) <= {""}
    else:
        symbols = names_of(before, before.references.name[changed].tolist())
        assert all(name.startswith("<symbol ") for name in symbols)
    if changed.any():
        return
    kinds = {each.name for each in before.reference_kinds}
    assert kinds == {each.name for each in after.reference_kinds}
    # constants of Java's classes are counted anew
    by_index = {each.name for each in before.reference_kinds if each.naming == "index"} - {"constant"}
    chosen = [number for number, each in enumerate(before.reference_kinds) if each.name in by_index]
    rows = np.isin(before.references.kind, chosen)
    assert np.array_equal(before.references.name[rows], after.references.name[rows])
    named = {each.name for each in before.reference_kinds if each.naming == "text"} - set(unnamed)
    if before.kind == "v8":
        named -= {ENTRY}
        assert all(name.startswith("removed ") for name in reference_names(after, {ENTRY}))
    assert reference_names(before, named) == reference_names(after, named)
    assert list(before.root_kinds) == list(after.root_kinds)
    for name in ("object", "kind", "frame"):
        assert np.array_equal(before.roots[name], after.roots[name]), name
    assert names_of(before, before.roots["detail"].tolist()) == names_of(
        after, after.roots["detail"].tolist()
    )
    assert before.root == after.root
    for name in ("object", "end", "out_of_memory"):
        assert np.array_equal(before.threads.rows[name], after.threads.rows[name]), name
    for name in ("name", "state"):
        texts = [names_of(each, each.threads.rows[name].tolist()) for each in (before, after)]
        assert texts[0] == texts[1], name
    assert np.array_equal(before.threads.frames, after.threads.frames)
    for name in ("thread", "depth", "object", "kind"):
        assert np.array_equal(before.threads.variables[name], after.threads.variables[name]), name
    frames = [
        other if more_files and not one.file else one
        for one, other in zip(before.frames.frames, after.frames.frames, strict=True)
    ]
    assert frames == list(after.frames.frames)
    assert np.array_equal(before.frames.starts, after.frames.starts)
    assert np.array_equal(before.places, after.places)
    assert np.array_equal(before.samples, after.samples)
    assert before.facts == after.facts
