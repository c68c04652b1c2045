"""The filter that narrows every view of a snapshot: a text of terms, all of which an allocation must match.

A term about allocations or samples is a row of :data:`ALLOCATIONS`, and nothing else: how it is written, what the page
and the view say of it, what it finds, and what would match where it finds nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.model.info import Model
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text, phrase
from memlens.views.naming.modules import modules_of_stacks
from memlens.views.naming.operators import operators_of_stacks
from memlens.views.selection import changes, hints, masks
from memlens.views.selection.language import EXCLUDES, Entry
from memlens.views.selection.machinery import machinery_stacks
from memlens.views.selection.terms import Term, amount_of, number_of, numbered, written_terms


@dataclass(frozen=True, kw_only=True, slots=True)
class AllocationTerm:
    """A term about allocations and samples. It has one of the functions that find something, at least."""

    field: str
    """Its name; empty for words."""
    entries: tuple[Entry, ...]
    """How it is written and described: one entry, or several where it is offered in several ways."""
    rows: Callable[[Snapshot, Device, Term], Mask] | None = None
    """The allocations of a trace that it finds; None for those of its ``stacks``."""
    stacks: Callable[[Snapshot, Term], Mask | None] | None = None
    """The stacks that it finds; None from it for a value that isn't about stacks."""
    samples: Callable[[Snapshot, Term], Mask] | None = None
    """The samples of a profile that it finds; None for those of its ``stacks``."""
    check: Callable[[Term, str], object] = lambda _term, _written: None
    """Raises :class:`BadRequestError` for a value that no file can have."""
    is_amount: bool = False
    """Whether it is compared with ``<`` and ``>``."""
    of_sample: Callable[[Snapshot, Term], Text | None] = lambda _snapshot, _term: None
    """What would match instead: of a profile, and of a trace where ``of_row`` is None."""
    of_row: Callable[[Snapshot, Device, Term], Text | None] | None = None

    def hint(self, snapshot: Snapshot, device: Device, term: Term) -> Text | None:
        """The values that would match a term among a trace's allocations."""
        return self.of_sample(snapshot, term) if self.of_row is None else self.of_row(snapshot, device, term)


def _numbers(term: Term, written: str) -> None:
    for value in term.values:
        number_of(value, written)


def _amounts(term: Term, written: str) -> None:
    if term.comparison not in (":", "=") and len(term.values) > 1:
        raise BadRequestError(phrase("'{written}' is compared with more than one value", written=written))
    for value in term.values:
        amount_of(term.field, value, written)


def _filters(term: Term, written: str) -> None:
    if term.negated:
        raise BadRequestError(phrase("'{written}' can't be excluded: leave it out", written=written))
    for value in term.values:
        if any(each.field in changes.TERMS for each in parse(value)):
            raise BadRequestError(phrase("'{written}' can't change what is changed", written=written))


def _changing(field: str, what: str, example: str, note: str = "") -> AllocationTerm:
    return AllocationTerm(
        field=field,
        entries=(Entry(f"{field}:", what, (example,), note),),
        # all of them are there; `narrowed` changes some
        rows=lambda _, device, __: np.ones(len(device.start), bool),
        check=_filters,
    )


def _states(term: Term, written: str) -> None:
    if not set(term.values) <= set(masks.STATES):
        raise BadRequestError(
            phrase("'{written}': expected one of {known}", written=written, known=", ".join(masks.STATES))
        )


_BOTH: tuple[Model, ...] = ("timeline", "profile")
_EXCLUDES = Entry("-", EXCLUDES, ("-size>1MiB",), "", _BOTH)

ALLOCATIONS = (
    AllocationTerm(
        field="",
        entries=(
            Entry(
                "", "a file, a function or an operator of the stack has each of the words",
                ("forward model.py",), "", _BOTH,
            ),
        ),
        rows=masks.words, stacks=masks.through(masks.at_place), of_sample=hints.of_places,
        of_row=hints.of_places_or_frees,
    ),
    AllocationTerm(
        field="file",
        entries=(
            Entry(
                "file:", "a file on the stack", ("file:model.py", "file:model.py:88", "file:layers/*.py"), "", _BOTH
            ),
        ),
        stacks=masks.through(masks.in_file), of_sample=hints.of_files, of_row=hints.of_files_or_frees,
    ),
    AllocationTerm(
        field="function",
        entries=(Entry("function:", "a function on the stack", ("function:forward",), "", _BOTH),),
        stacks=masks.through(masks.in_function), of_sample=hints.of_functions,
    ),
    AllocationTerm(
        field="by",
        entries=(
            Entry("by:", "the line that is shown for it", ("by:model.py:88", "by:forward"), "", _BOTH),
        ),
        rows=masks.by, stacks=masks.charged_to, of_sample=hints.of_places,
    ),
    AllocationTerm(
        field="innermost",
        entries=(
            Entry(
                "innermost:", "the innermost line, no matter whose code it is", ("innermost:parser.go:88",), "", _BOTH
            ),
        ),
        rows=masks.by, stacks=masks.charged_to, of_sample=hints.of_places,
    ),
    AllocationTerm(
        field="freed-by",
        entries=(Entry("freed-by:", "the line that freed it", ("freed-by:train.py:105", "freed-by:none")),),
        rows=masks.freed_by, of_row=hints.of_freeing_lines,
    ),
    AllocationTerm(
        field="module",
        entries=(Entry("module:", "the module of the model that it was made in", ("module:Linear", "module:none")),),
        rows=masks.module,
        of_sample=lambda snapshot, term: hints.of_names(
            term, modules_of_stacks(snapshot)[1]
        ),
    ),
    AllocationTerm(
        field="operator",
        entries=(
            Entry("operator:", "the operator that C++ frames name", ("operator:aten::mm", "operator:none")),
        ),
        rows=masks.operator,
        of_sample=lambda snapshot, term: hints.of_names(
            term, operators_of_stacks(snapshot)[1]
        ),
    ),
    AllocationTerm(
        field="label",
        entries=(
            Entry("label:", "a label of the sample", ("label:worker", "label:thread:worker"), "", ("profile",)),
        ),
        samples=masks.labelled, of_sample=hints.of_labels,
    ),
    AllocationTerm(
        field="machinery",
        entries=(
            Entry(
                "machinery:", "the framework's own: workspaces, buffers, gradients, an optimizer's temporaries",
                ("machinery:workspace", "machinery:none"),
            ),
        ),
        rows=masks.machinery, of_sample=lambda snapshot, term: hints.of_names(term, machinery_stacks(snapshot)),
    ),
    AllocationTerm(
        field="size",
        entries=(
            Entry("size>", "requested bytes", ("size>1MiB", "size<=512"), "", _BOTH),
            Entry("size<", "requested bytes", ("size<64KiB",), "", _BOTH),
        ),
        rows=masks.size, samples=masks.sample_sizes, check=_amounts, is_amount=True,
        of_sample=lambda snapshot, _: hints.of_sizes(snapshot.samples.size),
        of_row=lambda _, device, __: hints.of_sizes(device.size),
    ),
    AllocationTerm(
        field="life",
        entries=(
            Entry("life>", "how long it was held", ("life>10ms", "life>100ev"), "ev are events"),
            Entry("life<", "how long it was held, where that is known", ("life<1ms",)),
        ),
        rows=masks.life, check=_amounts, is_amount=True, of_row=hints.of_lives,
    ),
    AllocationTerm(
        field="category",
        entries=(Entry("category:", "what it holds", ("category:gradient", "category:none")),),
        rows=masks.category,
        of_sample=lambda snapshot, term: hints.of_names(
            term, timeline_of(snapshot.info, "categories").categories
        ),
    ),
    AllocationTerm(
        field="stream", entries=(Entry("stream:", "the stream", ("stream:0",)),),
        rows=masks.stream, check=_numbers, of_row=hints.of_streams,
    ),
    AllocationTerm(
        field="pool", entries=(Entry("pool:", "the memory pool", ("pool:default", "pool:private", "pool:1.0")),),
        rows=masks.pool,
    ),
    AllocationTerm(
        field="address", entries=(Entry("address:", "what held an address", ("address:0x7f3a20000000",)),),
        rows=masks.address, check=_numbers, of_sample=lambda _, __: phrase(
            "No allocation in the file held it."),
    ),
    AllocationTerm(
        field="stack", entries=(Entry("stack:", "stacks by their numbers", ("stack:12", "stack:20-25"), "", _BOTH),),
        stacks=masks.stacks_numbered, check=lambda term, _: numbered(0, term), of_sample=hints.of_stacks,
    ),
    AllocationTerm(
        field="allocation", entries=(Entry("allocation:", "an allocation by its number", ("allocation:240",)),),
        rows=masks.allocation, check=_numbers, of_row=hints.of_allocations,
    ),
    AllocationTerm(
        field="is",
        entries=(
            Entry("is:before", "allocated before recording"),
            Entry("is:live", "never freed"),
            Entry("is:freed", "freed while recording"),
            Entry("is:pending", "free requested, still held"),
            Entry("is:native", "only C++ frames", (), "", _BOTH),
            Entry("is:inferred", "its line is inferred, not recorded"),
        ),
        rows=masks.state, stacks=masks.only_native, check=_states, of_sample=hints.of_states,
    ),
    _changing("without", "as if it were not allocated", 'without:"file:model.py size>1MiB"', "its value is a filter"),
    _changing("halve", "as if it had half as many bytes", "halve:file:model.py"),
    _changing("free-at-once", "as if it were freed before the next event", "free-at-once:forward"),
    _changing("recompute", "as if it were computed again for the backward pass", "recompute:module:Block"),
)  # fmt: skip
"""The terms about allocations of a trace and samples of a profile, in the order in which they are listed."""
TERMS = {term.field: term for term in ALLOCATIONS}
FIELDS = tuple(field for field in TERMS if field)
ENTRIES = (*(entry for term in ALLOCATIONS for entry in term.entries), _EXCLUDES)
"""How all of them are written and described."""


def parse(text: str) -> list[Term]:
    """The terms of a filter. Raises :class:`BadRequestError` that says which term is wrong."""
    found = written_terms(text, FIELDS)
    for term, written in found:
        row = TERMS[term.field]
        if term.comparison not in (":", "=") and not row.is_amount:
            raise BadRequestError(
                phrase("'{written}' can't be compared with < or >: only size and life can", written=written)
            )
        row.check(term, written)
    return [term for term, _ in found]


def matching(snapshot: Snapshot, device: Device, terms: list[Term]) -> Mask:
    """The rows of ``device`` that match all terms. Raises :class:`BadRequestError`."""
    mask = np.ones(len(device.start), bool)
    for term in terms:
        found = _of_rows(snapshot, device, term)
        mask &= ~found if term.negated else found
    return mask


def _of_rows(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    rows = TERMS[term.field].rows
    if rows is not None:
        return rows(snapshot, device, term)
    stacks = stacks_where(snapshot, term)
    if stacks is None:
        raise BadRequestError(phrase("'{term}': only samples of profiles have labels", term=str(term)))
    return stacks[device.stack]


def stacks_where(snapshot: Snapshot, term: Term) -> Mask | None:
    """Mask of the stacks that match a term that is only about stacks; None for other terms."""
    stacks = TERMS[term.field].stacks
    return None if stacks is None else stacks(snapshot, term)


def narrowed(snapshot: Snapshot, number: int, text: str) -> Device:
    """The device of that number with only what matches a filter, and changed by it. Raises :class:`BadRequestError`.

    What it matches is what was recorded: half of what is larger than a mebibyte is changed even if it then isn't.
    """
    terms = parse(text)
    if not terms:
        return snapshot.device(number)
    changing = changes.changes_of(terms)
    plain = [term for term in terms if term.field not in changes.TERMS]

    def narrow(device: Device) -> Device:
        if not changing.kinds:
            return device.narrowed(np.flatnonzero(matching(snapshot, device, terms)).astype(np.uint32))
        rows = changes.changed_rows(device, changing, lambda text: narrowed(snapshot, number, text))
        lives = changes.lives_with(snapshot, device, rows)
        return device.changed(lives.where(matching(snapshot, device, plain)[lives.rows]) if plain else lives)

    return snapshot.narrowed(number, " ".join(map(str, terms)), narrow)
