"""Masks of the types or objects that match a term of the filter over a heap dump."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memlens.arrays import U64, Mask
from memlens.errors import BadRequestError
from memlens.kernels.graph import filtering as kernel
from memlens.model.distinct import distinct
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.models import has_stacks
from memlens.store.objects.columns import FieldColumns, ReferenceColumns
from memlens.store.objects.moments import allocated_us
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.units import format_bytes
from memlens.views.heap.objects.halves import in_halves
from memlens.views.heap.objects.hierarchy import extending
from memlens.views.heap.objects.packages import packages_of
from memlens.views.heap.objects.plain_names import plainly_named
from memlens.views.heap.objects.reference_kinds import has_strength, named_by_code, string_types
from memlens.views.heap.objects.rows import Numbers, plain_type_names, type_names
from memlens.views.heap.objects.thread_table import table
from memlens.views.heap.reachable.from_roots import softly_reachable
from memlens.views.selection.expressions import Expression
from memlens.views.selection.hints import of_names
from memlens.views.selection.terms import Term, bytes_of, compared, number_of, numbered
from memlens.views.selection.texts import Pattern, either_fits, fitting, pattern_of

_MOST_SECONDS = 1e9
_SOFTLY = "softly-reachable"


def of_each(numbers: Numbers, fits: Mask) -> Mask:
    """A mask, one item per number in a column: whether the number's name matches."""
    found = np.empty(len(numbers), np.bool_)
    table, marks = fits.view(np.uint8), found.view(np.uint8)
    in_halves(
        len(numbers),
        lambda first, last: kernel.marked(numbers[first:last], table, marks[first:last]),
    )
    return found


def patterns(term: Term) -> list[Pattern]:
    """Return a term's values as patterns, each of which may match a part of a text."""
    return [Pattern(value) for value in term.values]


def expressions(term: Term) -> list[Pattern | Expression]:
    """Return a term's values as patterns, which may be regular expressions."""
    return [pattern_of(value) for value in term.values]


# ---- types -------------------------------------------------------------------------------------------------


def named_types(snapshot: Snapshot, term: Term) -> Mask:
    """The types with matching names."""
    return _types_that_fit(snapshot, expressions(term))


def _types_that_fit(snapshot: Snapshot, some: Sequence[Pattern | Expression]) -> Mask:
    return either_fits(some, type_names(snapshot), plain_type_names(snapshot))


def extending_types(snapshot: Snapshot, term: Term) -> Mask:
    """The classes with matching names, and their subclasses."""
    return extending(snapshot, expressions(term))


def in_package(snapshot: Snapshot, term: Term) -> Mask:
    """The types in matching packages."""
    packages, some = packages_of(snapshot), expressions(term)
    found: Mask = np.array([any(p.matches(name) for p in some) for name in packages.names], bool)[
        packages.of_type
    ]
    return found


def of_kind(snapshot: Snapshot, term: Term) -> Mask:
    """The types of matching kinds."""
    some = patterns(term)
    fits = np.array([any(p.matches(name) for p in some) for name in snapshot.graph_names.type_kinds], bool)
    found: Mask = fits[snapshot.types.kind]
    return found


# ---- objects -----------------------------------------------------------------------------------------------


def sized(sizes: U64, term: Term) -> Mask:
    """The objects with matching sizes."""
    return compared(sizes.view(np.int64), term, sizes_in(term))


def distance(snapshot: Snapshot, term: Term) -> Mask:
    """The objects at a matching distance from a root."""
    found = _nearer(snapshot.objects.distance, term)
    found &= snapshot.objects.distance != NEVER
    return found


def _nearer(distance: Numbers, term: Term) -> Mask:
    """Return a mask of the distances that satisfy a term such as ``distance<5``, without copying the column."""
    amounts = distances_in(term)
    found: Mask
    match term.comparison:
        case "<":
            found = distance < amounts[0]
        case "<=":
            found = distance <= amounts[0]
        case ">":
            found = distance > amounts[0]
        case ">=":
            found = distance >= amounts[0]
        case _:
            found = np.zeros(len(distance), np.bool_)
            for amount in amounts:
                found |= distance == amount
    return found


def with_id(snapshot: Snapshot, term: Term) -> Mask:
    """The objects with matching ids."""
    return np.isin(snapshot.objects.id, np.array(numbers_in(term), np.uint64))


def since(snapshot: Snapshot, term: Term) -> Mask:
    """The objects allocated from a moment on."""
    found: Mask = allocated_us(snapshot.objects, slice(None)) >= round(seconds_in(snapshot, term) * 1e6)
    return found


def until(snapshot: Snapshot, term: Term) -> Mask:
    """The objects allocated before a moment."""
    times = allocated_us(snapshot.objects, slice(None))
    found: Mask = times < round(seconds_in(snapshot, term) * 1e6)
    found &= times >= 0
    return found


def string(snapshot: Snapshot, term: Term) -> Mask:
    """The strings with matching texts."""
    objects = snapshot.objects
    found = of_each(objects.type, _string_types(snapshot))
    found &= of_each(objects.name, _texts(snapshot, term.values))
    return found


def named(snapshot: Snapshot, term: Term) -> Mask:
    """The objects with matching names."""
    return of_each(snapshot.objects.name, _texts(snapshot, term.values))


def plain_named(snapshot: Snapshot, term: Term) -> Mask:
    """The objects with matching names that aren't their contents."""
    return plainly_named(snapshot, named(snapshot, term))


def words(snapshot: Snapshot, term: Term) -> Mask:
    """The objects whose own name or type contains a word."""
    found = of_each(snapshot.objects.name, _texts(snapshot, term.values, has_expressions=False))
    found |= of_each(snapshot.objects.type, _types_that_fit(snapshot, patterns(term)))
    return found


def plain_words(snapshot: Snapshot, term: Term) -> Mask:
    """Like :func:`words`, ignoring names that are contents of objects."""
    found = plainly_named(
        snapshot, of_each(snapshot.objects.name, _texts(snapshot, term.values, has_expressions=False))
    )
    found |= of_each(snapshot.objects.type, _types_that_fit(snapshot, patterns(term)))
    return found


@kept
def _texts(snapshot: Snapshot, values: tuple[str, ...], *, has_expressions: bool = True) -> Mask:
    """Return a mask of the strings that match one of a term's values."""
    parsed: Callable[[str], Pattern | Expression] = pattern_of if has_expressions else Pattern
    return fitting(snapshot.strings, list(map(parsed, values)), snapshot.work)


def _string_types(snapshot: Snapshot) -> Mask:
    """The types of strings: the names of their objects are texts."""
    kinds = snapshot.graph_names.type_kinds
    texts: Mask = np.array(["string" in kind.lower() for kind in kinds], bool)[snapshot.types.kind]
    known = string_types(snapshot)
    texts |= np.array([name in known for name in plain_type_names(snapshot)])
    return texts


def in_state(snapshot: Snapshot, term: Term) -> Mask:
    """The objects in a matching state."""
    objects, labels = snapshot.objects, snapshot.graph_names
    found = np.zeros(len(objects.type), bool)
    for state in term.values:
        if state == "unreachable":
            found |= objects.distance == NEVER
        elif state == _SOFTLY:
            found |= softly_reachable(snapshot)
        elif state == "root":
            found[objects.roots["object"]] = True
        elif objects.flags is not None:
            found |= (objects.flags >> labels.flags.index(state) & 1).astype(bool)
    return found


def held_by(snapshot: Snapshot, term: Term) -> Mask:
    """The objects that an object of a matching type dominates.

    Groups of the compact tree suffice: the groups above one have the types of the dominators of each of its objects.
    """
    compact = snapshot.compact
    wanted = np.append(named_types(snapshot, term), False)
    own = wanted[np.minimum(compact.type, len(wanted) - 1)]
    below = np.empty(len(own), np.bool_)
    kernel.handed_down(compact.parent, own.view(np.uint8), below.view(np.uint8))
    return of_each(snapshot.objects.group, below)


def with_field(snapshot: Snapshot, term: Term) -> Mask:
    """The objects with a matching reference or field. Two threads each search half of all objects."""
    stored, fields = snapshot.references, snapshot.fields
    fits = _texts(snapshot, term.values).view(np.uint8)
    found = np.zeros(len(snapshot.objects.type), np.bool_)
    if not fits.any():
        return found
    marks, by_text = found.view(np.uint8), named_by_code(snapshot).view(np.uint8)
    rows = [(stored.unchecked(ReferenceColumns.start), stored.name, stored.kind)]
    if fields is not None:
        start, name = fields.unchecked(FieldColumns.start), fields.unchecked(FieldColumns.name)
        rows.append((start, name, np.empty(0, np.uint8)))
    with ThreadPoolExecutor(2) as pool:
        for start, name, kind in rows:
            # halves with about equally many rows; a scalar of another type would make NumPy convert the whole column
            half = int(np.searchsorted(start, start[-1] // start.dtype.type(2)))
            halves = [
                pool.submit(kernel.having, start, name, kind, by_text, fits, first, last, marks)
                for first, last in ((0, half), (half, len(found)))
            ]
            for each in halves:
                each.result()
    return found


# ---- values ------------------------------------------------------------------------------------------------


def check_states(snapshot: Snapshot, term: Term) -> None:
    """Raise :class:`BadRequestError` for a state that the dump doesn't know."""
    softly = (_SOFTLY,) if has_strength(snapshot, "soft") else ()
    known = ("unreachable", *softly, "root", *snapshot.graph_names.flags)
    if not set(term.values) <= set(known):
        raise BadRequestError(
            phrase("'{term}': expected one of {known}", term=str(term), known=", ".join(known))
        )


def seconds_in(snapshot: Snapshot, term: Term) -> float:
    """A term's moment. Raises :class:`BadRequestError`."""
    if not len(snapshot.objects.moments):
        raise BadRequestError(
            phrase("'{term}': the heap dump doesn't say when its objects were allocated", term=str(term))
        )
    try:
        seconds = [float(value) for value in term.values]
    except ValueError:
        seconds = []
    if len(seconds) != 1 or not 0 <= seconds[0] <= _MOST_SECONDS:
        raise BadRequestError(
            phrase("'{term}': expected seconds since the start of the recording", term=str(term))
        )
    return seconds[0]


def sizes_in(term: Term) -> list[float]:
    """A term's amounts of bytes. Raises :class:`BadRequestError`."""
    _check_count(term)
    return [bytes_of(value, str(term)) for value in term.values]


def distances_in(term: Term) -> list[int]:
    """A term's numbers of references. Raises :class:`BadRequestError`."""
    _check_count(term)
    return numbers_in(term)


def numbers_in(term: Term) -> list[int]:
    """A term's whole numbers. Raises :class:`BadRequestError`."""
    return [number_of(value, str(term)) for value in term.values]


def check_stacks(snapshot: Snapshot, term: Term) -> None:
    """Raise :class:`BadRequestError` if the dump doesn't say which stacks allocated anything."""
    if not has_stacks(snapshot.info):
        raise BadRequestError(
            phrase("'{term}': the heap dump doesn't say which stacks allocated its objects", term=str(term))
        )


def check_stack_numbers(snapshot: Snapshot, term: Term) -> None:
    """Raise :class:`BadRequestError` for what isn't a number of a stack, or if the dump has none."""
    numbered(0, term)
    check_stacks(snapshot, term)


def _check_count(term: Term) -> None:
    if term.comparison not in (":", "=") and len(term.values) > 1:
        raise BadRequestError(phrase("'{term}' is compared with more than one value", term=str(term)))


# ---- what would match --------------------------------------------------------------------------------------


def types_there(snapshot: Snapshot, term: Term) -> Text | None:
    """Types that would match."""
    return of_names(term, _types(snapshot))


def packages_there(snapshot: Snapshot, term: Term) -> Text | None:
    """Packages that would match."""
    return of_names(term, packages_of(snapshot).names)


def kinds_there(snapshot: Snapshot, term: Term) -> Text | None:
    """Kinds that would match."""
    return of_names(term, snapshot.graph_names.type_kinds)


def fields_there(snapshot: Snapshot, term: Term) -> Text | None:
    """Fields that would match."""
    stored = snapshot.references
    numbers = distinct(stored.name[named_by_code(snapshot)[stored.kind]])
    return of_names(term, snapshot.strings.texts(numbers[:1_000]))


def threads_there(snapshot: Snapshot, term: Term) -> Text | None:
    """Threads that would match."""
    return of_names(term, snapshot.strings.texts(table(snapshot).name))


def largest(sizes: U64) -> Text:
    """The largest of some sizes."""
    return phrase("Sizes go up to {most}.", most=format_bytes(int(sizes.max())))


def _types(snapshot: Snapshot) -> list[str]:
    """Names of types, in full and without their packages, those with the most objects first."""
    names = plain_type_names(snapshot)
    counts = np.diff(snapshot.types.instance_start)
    ordered = [names[number] for number in np.argsort(-counts, kind="stable").tolist()]
    return [each for name in ordered for each in (name.rpartition(".")[2].rpartition("$")[2], name)]
