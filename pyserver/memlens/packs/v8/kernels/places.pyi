from typing_extensions import Buffer

from memlens.arrays import U8, U32, U64

def rows_of(objects: U32, rows: U32) -> None: ...
def name_scripts(
    rows: U32,
    script: U64,
    script_object: U32,
    start: U64,
    target: U32,
    kind: U8,
    name: U32,
    is_shared: U8,
    is_script: U8,
    internal: int,
    names: U32,
    named: U32,
) -> None: ...
def count_places(rows: U32, script: U64, line: U32, named: U32, used: U8) -> int: ...
def number_places(
    rows: U32,
    script: U64,
    line: U32,
    column: U32,
    names: U32,
    named: U32,
    has_columns: U8,
    seed: int,
    places: U32,
) -> Buffer: ...
