from typing_extensions import Buffer

from memlens.arrays import U8, U32, U64
from memlens.packs.jvm.kernels.hprof_objects import Objects

FIELD: int
ELEMENT: int
SUPER: int
PHANTOM_REFERENT: int
UNKNOWN_TYPE: int
CLASS_TYPE: int
PRIMITIVE_ARRAY_TYPES: int

class References:
    objects: Objects
    dangling: int
    short_instances: int
    unknown_classes: int
    shortened_texts: int
    def __init__(self, objects: Objects, held: U32, without_zeros: bool = False) -> None: ...
    @property
    def offset(self) -> int: ...
    def run(self, limit: int) -> int: ...
    def name_of_thread(self, number: int) -> int: ...
    def take_objects(self) -> tuple[Buffer, Buffer, Buffer, Buffer]: ...
    def take_ids(self) -> Buffer: ...
    def take_references(self) -> tuple[Buffer, Buffer, Buffer, Buffer]: ...
    def take_values(self) -> tuple[Buffer, Buffer, Buffer, Buffer]: ...
    def take_arrays(self) -> Buffer: ...
    def class_rows(
        self,
        names: U32,
        ordinals: U32,
        loaders: U64,
        arrays: U8,
    ) -> None: ...
