from memlens.arrays import U8, U32, U64

def number_names(kind: U8, name: U32, by_index: U8, strings: int) -> int: ...
def weak_map_tables(utf8: U8, end: U64, table: U64) -> None: ...
def mark_uncounted(
    start: U64,
    target: U32,
    kind: U8,
    name: U32,
    ids: U64,
    table: U64,
    owned: U8,
    root: int,
    kinds: int,
    shortcut: int,
    internal: int,
) -> None: ...
def spread_states(
    start: U64, target: U32, kind: U8, follows: U8, is_native: U8, attached: int, detached: int, state: U8
) -> None: ...
def charge_parts(
    start: U64, target: U32, kind: U8, weak: int, is_part: U8, is_synthetic: U8, shallow: U64
) -> None: ...
def number_types(
    node_type: U8, name: U32, texts: int, by_name: U8, type_of: U32, kinds: U8, names: U32
) -> int: ...
def shapes(start: U64, kind: U8, name: U32, chosen: U32, of_kind: int, left_out: int, found: U64) -> None: ...
