from memlens.arrays import U8, U32, U64

def descending(values: U64, ordered: U32) -> None: ...
def grouped(group: U32, ordered: U32, begin: U32, member: U32) -> None: ...
def below_own_group(
    first: U32, last: U32, child: U32, root: int, group: U32, groups: int, below: U8
) -> bool: ...
def sums_by_group(
    chosen: U8,
    type_of: U32,
    group_of: U32,
    node_of: U32,
    below: U8,
    dominator: U32,
    shallow: U64,
    retained: U64,
    first: int,
    last: int,
    most: int,
    counts: U64,
    own: U64,
    held: U64,
) -> bool: ...
def frames_alike(places: U32, type_of: U32, found: U32) -> None: ...
