"""The tables as Parquet, for DuckDB, pandas and Polars: a file for each, whose schema describes the columns."""

import contextlib
import itertools
from pathlib import Path

from memlens.fleet.database import Database
from memlens.fleet.tables import SCHEMA_KEY, SCHEMA_VERSION, SNAPSHOTS, TABLES, Column, columns_of
from memlens.missing import needed
from memlens.store.files.disk import make_private, room_in
from memlens.store.files.output import Output
from memlens.texts import phrase

_ROWS = 100_000
"""Rows of a group, which are in memory at the same time."""


def check() -> None:
    """Raises :class:`memlens.missing.MissingPackageError` where Parquet can't be written."""
    with needed("pyarrow"):
        import pyarrow.parquet  # noqa: F401


def write_parquet(database: Database) -> list[Path]:
    """Write all tables beside the database, each completely or not at all. Raises OSError."""
    return [_write(database, table) for table in (SNAPSHOTS, *TABLES)]


def _write(database: Database, table: str) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = columns_of(table)
    schema = pa.schema([_field(column) for column in columns], metadata={SCHEMA_KEY: str(SCHEMA_VERSION)})
    target = database.folder / f"{table}.parquet"
    output = Output(target, force=True, private=True)
    rows = database.rows(table)
    with contextlib.ExitStack() as cleanup:
        cleanup.enter_context(
            room_in(database.folder, target.name, advice=phrase("Choose another folder with --out."))
        )
        partial = cleanup.enter_context(output.making())
        with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
            while batch := list(itertools.islice(rows, _ROWS)):
                arrays = [
                    pa.array(
                        (bool(row[place]) for row in batch)
                        if column.type == "boolean"
                        else [row[place] for row in batch],
                        schema.field(place).type,
                    )
                    for place, column in enumerate(columns)
                ]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        make_private(partial)
    return target


def _field(column: Column) -> object:
    import pyarrow as pa

    types = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string(), "boolean": pa.bool_()}
    return pa.field(
        column.name,
        types[column.type],
        nullable=column.optional,
        metadata={"description": column.description},
    )
