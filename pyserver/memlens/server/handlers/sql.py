"""SQL queries, answered outside the snapshot's thread, so that they don't slow down the view."""

from pygls.lsp.server import LanguageServer

from memlens.server.protocol.sql import SqlFillParams, SqlParams, SqlSchemaParams, SqlState, SqlStateParams
from memlens.server.sessions.registry import Registry
from memlens.server.wire import answer
from memlens.views.sql.pages import SqlAnswer
from memlens.views.sql.schema import SqlSchema, schema_of


def register(server: LanguageServer, registry: Registry) -> None:
    """Register the requests of the SQL pane."""

    async def ask(params: SqlParams) -> SqlAnswer:
        opened = registry.get(params.snapshot)
        return await opened.query(params.query, params.offset, params.limit, params.sort)

    async def describe(params: SqlSchemaParams) -> SqlSchema:
        return await registry.get(params.snapshot).ask_aside(schema_of)

    async def fill(params: SqlFillParams) -> SqlState:
        await registry.get(params.snapshot).sql.fill()
        return SqlState(filled=True, fraction=None)

    async def state(params: SqlStateParams) -> SqlState:
        queries = registry.get(params.snapshot).sql
        return SqlState(queries.filled, queries.fraction)

    answer(server, "memlens/sql", ask, of_view=True)
    answer(server, "memlens/sqlSchema", describe, of_view=True)
    answer(server, "memlens/sqlFill", fill, of_view=True)
    answer(server, "memlens/sqlState", state, of_view=True)
