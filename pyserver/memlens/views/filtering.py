"""What the filter over a heap dump has from above it: findings and SQL ask this filter, too."""

from memlens.views.findings import filtering as of_findings
from memlens.views.graph import filters
from memlens.views.graph.allocations import add_object_filter
from memlens.views.sql import filtering as of_queries


def complete_filters() -> None:
    """Let filters of heap dumps have ``finding:`` and ``query:``, and sets of their allocations such filters."""
    filters.ABOVE["finding"] = of_findings.objects_of
    filters.ABOVE["query"] = of_queries.objects_of
    add_object_filter()
