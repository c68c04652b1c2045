"""The columns of a V8 heap snapshot, as they stand in the file."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import I64, U8
from memlens.model.graph import NONE, Objects, References
from memlens.model.texts import Texts
from memlens.packs.v8.kernels.edges import Edges
from memlens.packs.v8.places import Functions, TraceRows


class Scopes(NamedTuple):
    """Rows of the three sections; those of ``names`` and ``uses`` belong to the scopes in their order."""

    script: I64
    """The scripts' objects."""
    id: I64
    """Unique within a script."""
    depth: I64
    """0 for the outermost scope of a script; the others follow the scope they are in."""
    variables: I64
    """The number of ``names`` of each scope."""
    uses: I64
    """The number of uses of each scope."""
    names: I64
    """The variables, numbers of texts."""
    used_scope: I64
    """The scope that declares a variable which is read."""
    used_slot: I64
    """The index of the variable in that scope."""


class Snapshot(Struct):
    """The columns of a file. Kinds of references and types of nodes are the file's; names are texts."""

    objects: Objects
    references: References
    texts: Texts
    node_type: U8
    detachedness: U8 | None
    node_types: list[str]
    edge_types: list[str]
    root: int
    functions: Functions | None
    trace: TraceRows | None
    locations: dict[str, npt.NDArray[Any]] | None
    extra_native_bytes: int
    samples: npt.NDArray[Any]
    """Rows of SAMPLE_DTYPE."""
    scopes: Scopes | None = None
    has_unknown_scopes: bool = False
    """Whether the file has scopes that are damaged or in another layout."""

    def edges(self) -> Edges:
        """The references as kernels take them."""
        columns = self.references
        return Edges(
            columns.start, columns.target, columns.kind, columns.name, len(self.edge_types),
            self.edge_type("internal"),
        )  # fmt: skip

    def edge_type(self, name: str) -> int:
        """The number of a kind of references, -1 if the file has none."""
        return self.edge_types.index(name) if name in self.edge_types else -1

    def text_number(self, text: str) -> int:
        """The number of the first text that is equal, NONE if there is none."""
        found = np.flatnonzero(self.texts.mask(text))
        return int(found[0]) if len(found) else NONE

    def is_of_type(self, *names: str) -> U8:
        """An item per object: 1 for those of some types."""
        found = np.zeros(len(self.node_type), np.bool_)
        for number, name in enumerate(self.node_types):
            if name in names:
                found |= self.node_type == number
        return found.view(np.uint8)

    def is_named(self, among: U8, texts: U8) -> U8:
        """An item per object: 1 for those of ``among`` whose name is of some texts, an item of 1 each."""
        found = np.zeros(len(among), np.uint8)
        numbers = np.flatnonzero(among)
        found[numbers] = texts[self.objects.name[numbers]]
        return found
