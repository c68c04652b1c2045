"""Requests about several snapshots, which involve the threads of each."""

from pygls.lsp.server import LanguageServer

from memlens.server.sessions.compared_queries import ComparedQueries
from memlens.server.sessions.comparisons import Comparisons
from memlens.server.sessions.differences import Differences
from memlens.server.sessions.heap_comparisons import HeapComparisons
from memlens.server.sessions.registry import Registry
from memlens.server.wire import answer
from memlens.texts import phrase


def register(server: LanguageServer, registry: Registry) -> None:
    """Register the requests of ``protocol/compare.py``."""
    comparisons = Comparisons(registry)
    differences = Differences(registry, comparisons)
    heaps = HeapComparisons(registry)
    queries = ComparedQueries(registry)
    answer(server, "memlens/compare", comparisons.compare, of_view=True)
    answer(server, "memlens/compareHeadline", comparisons.headline, of_view=True)
    answer(server, "memlens/compareSql", queries.of_two, of_view=True)
    answer(server, "memlens/compareStacks", comparisons.stacks, of_view=True)
    answer(
        server,
        "memlens/compareCurves",
        comparisons.curves,
        of_view=True,
        name=phrase("the comparison over time"),
    )
    answer(
        server,
        "memlens/compareMoments",
        comparisons.moments,
        of_view=True,
        name=phrase("the comparison over time"),
    )
    answer(
        server, "memlens/compareSizes", comparisons.sizes, of_view=True, name=phrase("how large it may be")
    )
    answer(server, "memlens/compareFlame", differences.flame, of_view=True)
    answer(server, "memlens/compareFlameSvg", differences.svg, of_view=True)
    answer(server, "memlens/compareFlameNode", differences.node, of_view=True)
    answer(server, "memlens/compareFlameChildren", differences.children, of_view=True)
    answer(server, "memlens/compareFlameSearch", differences.search, of_view=True)
    answer(server, "memlens/compareHeaps", heaps.compare, of_view=True)
    answer(server, "memlens/compareHeapHeadline", heaps.headline, of_view=True)
    answer(server, "memlens/compareHeapTypes", heaps.types, of_view=True)
    answer(server, "memlens/compareHeapObjects", heaps.objects, of_view=True)
    answer(server, "memlens/compareHeapFindings", heaps.findings, of_view=True)
    answer(server, "memlens/heapSeries", heaps.series, of_view=True)
    answer(server, "memlens/seriesSql", queries.of_series, of_view=True)
