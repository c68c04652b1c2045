"""Cuts the names in a heap dump, which are shown with each of many rows; what strings contain stays whole."""

import numpy as np

from memlens.arrays import U32
from memlens.model.distinct import distinct
from memlens.model.frames import MOST_NAME
from memlens.model.graph import Graph
from memlens.units import shortened


def cut_names(graph: Graph) -> None:
    """Cut names of types, modules, references, roots, threads and variables to what can be shown.

    A text that is both a name and what an object contains stays whole there.
    """
    lengths = np.diff(graph.texts.end, prepend=np.uint64(0))
    long = np.flatnonzero(lengths > MOST_NAME)
    if not len(long):
        return
    references, kinds, values = graph.references, graph.reference_kinds, graph.values
    by_text = np.array([kind.naming == "text" for kind in kinds], np.bool_)
    named = by_text[references.kind] if len(kinds) else np.zeros(0, np.bool_)
    columns: list[U32 | None] = [
        graph.types.name, graph.types.module, references.name[named], graph.roots["detail"],
        graph.threads.rows["name"], graph.threads.rows["state"], graph.threads.variables["name"],
        graph.unread["name"], graph.unread["function"], None if values is None else values.name,
    ]  # fmt: skip
    used = distinct(
        np.concatenate([column[np.isin(column, long)] for column in columns if column is not None])
    )
    if not len(used):
        return
    count = len(graph.texts)
    cut = (shortened(text, MOST_NAME) for text in graph.texts.some(used.tolist()).values())
    graph.texts = graph.texts.with_more(cut)

    def renumbered(column: U32) -> U32:
        found = column.copy()
        places = np.searchsorted(used, column).clip(max=len(used) - 1)
        mine = used[places] == column
        found[mine] = count + places[mine]
        return found

    graph.types.name = renumbered(graph.types.name)
    if graph.types.module is not None:
        graph.types.module = renumbered(graph.types.module)
    if np.isin(references.name[named], used).any():
        references.name = np.where(named, renumbered(references.name), references.name)
    for rows, names in (
        (graph.roots, ("detail",)), (graph.threads.rows, ("name", "state")),
        (graph.threads.variables, ("name",)), (graph.unread, ("name", "function")),
    ):  # fmt: skip
        for name in names:
            if np.isin(rows[name], used).any():
                rows[name] = renumbered(rows[name])
    if values is not None:
        values.name = renumbered(values.name)
