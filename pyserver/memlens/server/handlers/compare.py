"""Requests about several snapshots, which involve the threads of each."""

from pygls.lsp.server import LanguageServer

from memlens.server.sessions.compared_queries import ComparedQueries
from memlens.server.sessions.comparisons import Comparisons
from memlens.server.sessions.differences import Differences
from memlens.server.sessions.heap_comparisons import HeapComparisons
from memlens.server.sessions.registry import Registry
from memlens.server.wire import answer


def register(server: LanguageServer, registry: Registry) -> None:
    """Register the requests of ``protocol/compare.py``."""
    comparisons = Comparisons(registry)
    differences = Differences(registry, comparisons)
    heaps = HeapComparisons(registry)
    queries = ComparedQueries(registry)
    answer(server, "memlens/compare", comparisons.compare)
    answer(server, "memlens/compareSql", queries.of_two)
    answer(server, "memlens/compareStacks", comparisons.stacks)
    answer(server, "memlens/compareCurves", comparisons.curves)
    answer(server, "memlens/compareMoments", comparisons.moments)
    answer(server, "memlens/compareFlame", differences.flame)
    answer(server, "memlens/compareFlameSvg", differences.svg)
    answer(server, "memlens/compareFlameNode", differences.node)
    answer(server, "memlens/compareFlameChildren", differences.children)
    answer(server, "memlens/compareFlameSearch", differences.search)
    answer(server, "memlens/compareHeaps", heaps.compare)
    answer(server, "memlens/compareHeapTypes", heaps.types)
    answer(server, "memlens/compareHeapObjects", heaps.objects)
    answer(server, "memlens/compareHeapFindings", heaps.findings)
    answer(server, "memlens/heapSeries", heaps.series)
    answer(server, "memlens/seriesSql", queries.of_series)
