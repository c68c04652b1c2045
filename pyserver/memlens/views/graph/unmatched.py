"""What to say of a filter that matches no object of a heap dump."""

from collections.abc import Sequence
from typing import assert_never

import numpy as np

from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.units import format_bytes
from memlens.views.graph.filters import checked_terms, chosen
from memlens.views.graph.kinds import named_by_code
from memlens.views.graph.native import native_columns
from memlens.views.graph.packages import packages_of
from memlens.views.graph.rows import plain_type_names
from memlens.views.graph.thread_table import table
from memlens.views.selection.filters import Term
from memlens.views.selection.unmatched import check_matches, of_names, unmatched

_OF_TYPES = ("", "type", "extends", "held-by", "retained-by")


def check_filter(snapshot: Snapshot, text: str, devices: Sequence[int] = ()) -> None:
    """Raise :class:`~memlens.views.selection.unmatched.NothingMatchesError` if nothing matches a filter.

    ``devices`` are those of a trace that are asked about; empty for all.
    """
    match snapshot.info:
        case TimelineInfo() | ProfileInfo():
            check_matches(snapshot, text, devices)
        case GraphInfo():
            check_objects_match(snapshot, text)
        case _:
            assert_never(snapshot.info)


def check_objects_match(snapshot: Snapshot, text: str) -> None:
    """Raise :class:`~memlens.views.selection.unmatched.NothingMatchesError` if no object matches a filter."""
    terms = checked_terms(snapshot, text)

    def count(some: Sequence[Term]) -> int:
        found = chosen(snapshot, " ".join(map(str, some)))
        return len(snapshot.objects.type) if found is None else int(found.mask(snapshot).sum())

    if len(snapshot.objects.type) and not count(terms):
        raise unmatched(text, terms, count, lambda term: _hint(snapshot, term))


def _hint(snapshot: Snapshot, term: Term) -> Text | None:
    """What would match instead of a term."""
    if term.field in _OF_TYPES:
        return of_names(term, _types(snapshot))
    match term.field:
        case "package":
            return of_names(term, packages_of(snapshot).names)
        case "kind":
            return of_names(term, snapshot.graph_names.type_kinds)
        case "field":
            stored = snapshot.references
            numbers = np.unique(stored.name[named_by_code(snapshot)[stored.kind]])
            return of_names(term, snapshot.strings.texts(numbers[:1_000]))
        case "thread":
            return of_names(term, snapshot.strings.texts(table(snapshot).name))
        case "retained":
            return _largest(snapshot.objects.retained)
        case "shallow":
            return _largest(snapshot.objects.shallow)
        case "native":
            return _largest(native_columns(snapshot)[0])
        case "native-retained":
            return _largest(native_columns(snapshot)[1])
        case "id":
            return phrase("No object of the file has it.")
        case "name" | "string":
            return phrase("No name or text of the file has that in it.")
    return None


def _largest(sizes: "np.typing.NDArray[np.uint64]") -> Text:
    return phrase("Sizes go up to {most}.", most=format_bytes(int(sizes.max())))


def _types(snapshot: Snapshot) -> list[str]:
    """Names of types, in full and without their packages, those with the most objects first."""
    names = plain_type_names(snapshot)
    counts = np.diff(snapshot.types.instance_start)
    ordered = [names[number] for number in np.argsort(-counts, kind="stable").tolist()]
    return [each for name in ordered for each in (name.rpartition(".")[2].rpartition("$")[2], name)]
