"""SQL on a snapshot: which tables a query reads, and its rows."""

from contextlib import closing

from memlens.api.table import Table, table_of_cells
from memlens.store.models import heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.store.tables.fill import fill
from memlens.store.tables.schema import Part
from memlens.views.heap.objects.plain_names import WITHOUT_CONTENTS
from memlens.views.sql.pages import distinct
from memlens.views.sql.query import SqlSession


def parts_read(snapshot: Snapshot, query: str) -> tuple[Part, ...]:
    """The parts of the tables that a query reads. Raises :class:`memlens.views.sql.pages.SqlError` for a wrong one."""
    with closing(SqlSession(snapshot.again(), names_only=True)) as session:
        return session.needs(query)


def rows_of(snapshot: Snapshot, query: str, *, values: bool) -> Table:
    """All rows of a query. Without ``values``, what objects of a heap dump contain is None."""
    if heap_dump_of(snapshot.info) is not None and not values:
        query = WITHOUT_CONTENTS + query
    fill(snapshot, lambda _stage, _fraction: None, parts_read(snapshot, query))
    with closing(SqlSession(snapshot.again())) as session:
        names, rows = session.stream(query)
        return table_of_cells(distinct(names), rows)
