"""What answers ``memlens_sql``: rows of a query, without what objects contain unless that is asked for."""

from typing import Any

from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.tools.declared import tool
from memlens.server.tools.parameters import SqlArguments
from memlens.server.tools.reading import readable
from memlens.store.models import heap_dump_of
from memlens.views.heap.objects.plain_names import WITHOUT_CONTENTS
from memlens.views.sql.schema import schema_of

SQL_SECONDS = 60.0
"""A model's query is ended after so long; a person can cancel one."""


@tool(
    "memlens_sql",
    "SQL on a Snapshot",
    "A read-only query on the tables of a memory snapshot",
    "One read-only SELECT (SQLite) on a snapshot's tables, for what the other tools don't answer. Call it without "
    "a query first: the tables, their columns with units, and examples. Text columns hold what the file has, "
    "including the text of strings.",
)
async def sql(opened: OpenSnapshot, arguments: SqlArguments) -> Any:
    """The rows of a query, or the names that a query may use."""
    if not arguments.query.strip():
        found = await opened.ask_aside(schema_of)
        return {
            "tables": [
                {
                    "name": f"{table.name}({', '.join(table.arguments)})" if table.arguments else table.name,
                    "about": table.description,
                    "columns": ", ".join(
                        f"{column.name} {column.type}"
                        + (f" ({column.description})" if column.description else "")
                        for column in table.columns
                    ),
                }
                for table in found.tables
            ],
            "examples": [f"-- {example.title}\n{example.query}" for example in found.examples],
        }
    hides = heap_dump_of(opened.info) is not None and not arguments.values
    query = WITHOUT_CONTENTS + arguments.query if hides else arguments.query
    answer = readable(await opened.query(query, 0, arguments.limit, None, most_s=SQL_SECONDS))
    return {**answer, "contents": "NULL: what objects contain is left out"} if hides else answer
