"""Retained sizes of Java's heap dumps against those of NetBeans' profiler library, object by object.

What the library says of a dump of ours is beside it (``make.py`` there). Where ``MEMLENS_NETBEANS`` is the jar
org-netbeans-lib-profiler and there is a JDK, it is also asked about a real one. The library's rules differ: it has
sizes of its own; what stands on a stack is a root; neither classes nor their protection domains are held by instances
and classes; and what a reference object or garbage refers to as well is retained by nobody. With these rules Memlens'
own dominators must give its figures.
"""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import zstandard
from tests.fixtures.heap.make import netbeans_retained
from tests.python.conftest import DATA
from tests.python.graph_reading import Rows, dominated, followed, load
from tests.python.recordings import JAVA

from memlens.model.graph import Graph

REAL = DATA / "heap" / "hprof" / "javac_60files.hprof.zst"
JAR = os.environ.get("MEMLENS_NETBEANS", "")
NOT_FOLLOWED = ("class", "super class", "protection domain", "signers", "local variable", "soft referent")


def _retained(graph: Graph, sizes: Rows) -> Rows:
    """What each object retains by NetBeans' rules, 0 for what no root reaches."""
    follows = followed(graph, NOT_FOLLOWED)
    is_weak = np.zeros(256, np.bool_)
    is_weak[: len(graph.reference_kinds)] = [each.strength != "strong" for each in graph.reference_kinds]
    roots = np.unique(graph.roots["object"]).astype(np.uint32)
    reached = dominated(graph, follows, roots, sizes, attached=True)[0]
    held_twice = np.unique(graph.references.target[is_weak[graph.references.kind]])
    roots = np.union1d(roots, held_twice[reached[held_twice] == 1]).astype(np.uint32)
    reached, _, retained = dominated(graph, follows, roots, sizes, attached=True)
    found: Rows = np.where(reached == 1, retained.astype(np.int64), 0)
    return found


CASES = [(JAVA, 0)]
if JAR and shutil.which("javac") and REAL.exists():
    # of 119,228; they are class loaders and their lists, which hold classes
    CASES.append((REAL, 4))


@pytest.mark.parametrize(("path", "most_others"), CASES, ids=lambda each: getattr(each, "name", ""))
def test_retained_sizes_by_its_rules_agree_with_netbeans(path: Path, most_others: int) -> None:
    if path == JAVA:
        said = zstandard.decompress((path.parent / "sessions.netbeans.zst").read_bytes())
    else:
        with path.open("rb") as file:
            said = netbeans_retained(zstandard.ZstdDecompressor().stream_reader(file).read(), JAR)
    theirs = np.frombuffer(said, "<i8").reshape(3, -1).T
    graph = load(path)
    ids = graph.objects.ids.astype(np.int64)
    place = np.minimum(np.searchsorted(theirs[:, 0], ids), len(theirs) - 1)
    # its objects are all but the classes
    known = theirs[place, 0] == ids
    assert np.count_nonzero(known) == len(theirs) > 10_000
    retained = _retained(graph, np.where(known, theirs[place, 1], 0).astype(np.uint64))
    others = np.count_nonzero(known & (retained != theirs[place, 2]))
    assert others <= most_others
    assert np.count_nonzero(retained) > 10_000
