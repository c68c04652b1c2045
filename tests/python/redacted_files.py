"""Helpers for tests of ``memlens redact``: dumps written anew, and what must be the same in them."""

import io
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

from memlens.formats.containers import open_source
from memlens.formats.redacted import VALUES, Removed
from memlens.formats.redaction import redact
from memlens.model.graph import NONE, Graph
from memlens.texts import Text

SECRET = "s3cret-of-alice@example.com"


def redacted(path: Path, removed: Removed = VALUES) -> tuple[bytes, Text | None]:
    """The dump without its values, and the sentence about where it breaks."""
    out = io.BytesIO()
    with open_source(path, Path(tempfile.gettempdir()), lambda *_: None) as source:
        note = redact(source, out, removed, lambda *_: None)
    return out.getvalue(), note


def names_of(graph: Graph, numbers: list[int]) -> list[str]:
    """The texts of some numbers; "" for none."""
    return [graph.texts[number] for number in numbers]


def reference_names(graph: Graph, kinds: set[str]) -> list[str]:
    """The name of each reference of ``kinds``."""
    chosen = [number for number, kind in enumerate(graph.reference_kinds) if kind.name in kinds]
    return names_of(graph, graph.references.name[np.isin(graph.references.kind, chosen)].tolist())


def assert_same_graph(before: Graph, after: Graph, *, unnamed: set[str] = frozenset()) -> None:
    """Everything that figures, dominators, paths and tables of types rest on is equal.

    ``unnamed`` are kinds of references whose names are contents.
    """
    for name in ("shallow", "ids", "flags", "space", "stack", "type"):
        assert np.array_equal(getattr(before.objects, name), getattr(after.objects, name)), name
    assert names_of(before, before.types.name.tolist()) == names_of(after, after.types.name.tolist())
    assert np.array_equal(before.types.kind, after.types.kind)
    assert list(before.type_kinds) == list(after.type_kinds)
    for name in ("start", "target", "kind"):
        assert np.array_equal(getattr(before.references, name), getattr(after.references, name)), name
    kinds = {each.name for each in before.reference_kinds}
    assert kinds == {each.name for each in after.reference_kinds}
    by_index = {each.name for each in before.reference_kinds if each.naming == "index"}
    chosen = [number for number, each in enumerate(before.reference_kinds) if each.name in by_index]
    rows = np.isin(before.references.kind, chosen)
    assert np.array_equal(before.references.name[rows], after.references.name[rows])
    named = {each.name for each in before.reference_kinds if each.naming == "text"} - unnamed
    assert reference_names(before, named) == reference_names(after, named)
    assert list(before.root_kinds) == list(after.root_kinds)
    for name in ("object", "kind", "frame"):
        assert np.array_equal(before.roots[name], after.roots[name]), name
    assert names_of(before, before.roots["detail"].tolist()) == names_of(after, after.roots["detail"].tolist())
    assert before.root == after.root
    assert [frame for frame in before.frames.frames] == [frame for frame in after.frames.frames]
    assert np.array_equal(before.frames.starts, after.frames.starts)
    assert np.array_equal(before.places, after.places)
    assert np.array_equal(before.samples, after.samples)
    assert before.facts == after.facts
