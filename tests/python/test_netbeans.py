"""Retained sizes of Java's heap dumps against those of NetBeans' profiler library, object by object.

Run where ``MEMLENS_NETBEANS`` is the jar org-netbeans-lib-profiler and there is a JDK. The library's rules differ: it
has sizes of its own; what stands on a stack is a root; neither classes nor their protection domains are held by
instances and classes; and what a reference object or garbage refers to as well is retained by nobody. With these rules
Memlens' own dominators must give its figures.
"""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import zstandard
from tests.python.conftest import DATA, ROOT
from tests.python.graph_reading import Rows, dominated, followed, load

from memlens.model.graph import Graph

JAR = os.environ.get("MEMLENS_NETBEANS", "")
PROGRAM = ROOT / "tests" / "bench" / "heaps" / "NetBeansRetained.java"
NOT_FOLLOWED = ("class", "super class", "protection domain", "signers", "local variable")

pytestmark = pytest.mark.skipif(
    not (JAR and shutil.which("javac")), reason="needs NetBeans' library and a JDK"
)


def _retained(graph: Graph, sizes: Rows) -> Rows:
    """What each object retains by NetBeans' rules, 0 for what no root reaches."""
    follows = followed(graph, NOT_FOLLOWED)
    is_weak = np.zeros(256, np.bool_)
    is_weak[: len(graph.reference_kinds)] = [not each.retains for each in graph.reference_kinds]
    roots = np.unique(graph.roots["object"]).astype(np.uint32)
    reached = dominated(graph, follows, roots, sizes, attached=True)[0]
    held_twice = np.unique(graph.references.target[is_weak[graph.references.kind]])
    roots = np.union1d(roots, held_twice[reached[held_twice] == 1]).astype(np.uint32)
    reached, _, retained = dominated(graph, follows, roots, sizes, attached=True)
    found: Rows = np.where(reached == 1, retained.astype(np.int64), 0)
    return found


@pytest.mark.parametrize(
    ("path", "most_others"),
    [
        (ROOT / "tests" / "fixtures" / "heap" / "sessions.hprof.zst", 0),
        # of 119,228; they are class loaders and their lists, which hold classes
        (DATA / "heap" / "hprof" / "javac_60files.hprof.zst", 4),
    ],
)
def test_retained_sizes_by_its_rules_agree_with_netbeans(
    path: Path, most_others: int, tmp_path: Path
) -> None:
    if not path.exists():
        pytest.skip("needs a real heap dump")
    dump, listed = tmp_path / "dump.hprof", tmp_path / "retained.txt"
    with path.open("rb") as file:
        dump.write_bytes(zstandard.ZstdDecompressor().stream_reader(file).read())
    subprocess.run(["javac", "-cp", JAR, "-d", tmp_path, PROGRAM], check=True)
    run = [
        "java",
        "-Xmx1g",
        "-cp",
        f"{tmp_path}{os.pathsep}{JAR}",
        "NetBeansRetained",
        str(dump),
        str(listed),
    ]
    subprocess.run(run, check=True)
    theirs = np.loadtxt(listed, dtype=np.int64)
    theirs = theirs[np.argsort(theirs[:, 0])]
    graph = load(dump)
    ids = graph.objects.ids.astype(np.int64)
    place = np.minimum(np.searchsorted(theirs[:, 0], ids), len(theirs) - 1)
    # its objects are all but the classes
    known = theirs[place, 0] == ids
    assert np.count_nonzero(known) == len(theirs) > 10_000
    retained = _retained(graph, np.where(known, theirs[place, 1], 0).astype(np.uint64))
    others = np.count_nonzero(known & (retained != theirs[place, 2]))
    assert others <= most_others
    assert np.count_nonzero(retained) > 10_000
