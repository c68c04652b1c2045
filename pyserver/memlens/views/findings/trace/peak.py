"""What holds the peak: by line, by module, by category."""

from collections.abc import Iterator

from memlens.units import format_bytes
from memlens.views.findings.answers import TextPart
from memlens.views.findings.groups import TopGroup, top_groups
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.writing import Ranked, made, percent, words

LINE_SHARE, MOST_LINES = 0.15, 3
MODULE_SHARE = 0.25
CATEGORY_SHARE = 0.25


def dominant_lines(case: TraceCase) -> Iterator[Ranked]:
    """Lines that hold at least 15% of the peak, three at most; what has no stack has a rule of its own."""
    found = case.peak_by_line()
    named = [
        group for group in found.groups if not group.is_bare and group.amount >= LINE_SHARE * found.total
    ]
    for group in named[:MOST_LINES]:
        sentence = [
            group.named(), words(f"{_function(group)} holds "), group.measured(),
            words(f", {percent(group.amount, found.total)} of {case.whole}{in_pieces(group)}."),
        ]  # fmt: skip
        finding = made(
            "dominant_line", "Most memory", sentence, group.figure, group.evidence, group.line,
            inferred=group.inferred,
        )  # fmt: skip
        yield Ranked(group.amount / found.total, finding)


def _function(group: TopGroup) -> str:
    return f" ({group.function})" if group.function and group.line is not None else ""


def in_pieces(group: TopGroup) -> str:
    """In how many allocations a group's bytes are, if that says something."""
    if not group.count or group.count == 1:
        return ", in one allocation" if group.count else ""
    if group.largest and group.largest * group.count == group.amount:
        return f", in {group.count:,} allocations of {format_bytes(group.largest)} each"
    largest = f", the largest {format_bytes(group.largest)}" if group.largest else ""
    return f", in {group.count:,} allocations{largest}"


def dominant_module(case: TraceCase) -> Iterator[Ranked]:
    """The ``torch.nn`` module that holds the most, with at least a quarter of the peak and another one beside it."""
    found = top_groups(case.snapshot, case.peak, "module", 2)
    modules = [group for group in found.groups if "module:none" not in group.evidence.of.filter]
    if len(modules) == 0 or found.count < 3 or modules[0].amount < MODULE_SHARE * found.total:
        return
    group = modules[0]
    sentence = [
        words("Module "), group.named(), words(" holds "), group.measured(),
        words(f", {percent(group.amount, found.total)} of {case.whole}."),
    ]  # fmt: skip
    finding = made(
        "dominant_module", "Largest module", sentence, group.figure, group.evidence, inferred=group.inferred
    )
    yield Ranked(0.7 * group.amount / found.total, finding)


def dominant_categories(case: TraceCase) -> Iterator[Ranked]:
    """Categories of at least a quarter of the peak, in files that have them or for which they were inferred."""
    if not case.snapshot.timeline.categories:
        return
    found = top_groups(case.snapshot, case.peak, "category", 4)
    for group in found.groups:
        if group.amount < CATEGORY_SHARE * found.total or group.name in ("No category", "unknown"):
            continue
        name = _plural(group.name)
        sentence = [
            TextPart(name[0].upper() + name[1:], None, None, group.evidence),
            words(" take up "), group.measured(),
            words(f", {percent(group.amount, found.total)} of {case.whole}."),
        ]  # fmt: skip
        finding = made(
            "dominant_category", "Largest category", sentence, group.figure, group.evidence,
            inferred=group.inferred,
        )  # fmt: skip
        yield Ranked(0.8 * group.amount / found.total, finding)


_PLURALS = {
    "input": "inputs", "activation": "activations", "temporary": "temporaries", "gradient": "gradients",
    "optimizer state": "optimizer states", "parameter": "parameters",
    "parameter or optimizer state": "parameters and optimizer states",
    "autograd detail": "autograd's own tensors",
}  # fmt: skip


def _plural(name: str) -> str:
    bare = name.removesuffix(" (inferred)")
    return _PLURALS.get(bare, bare) + name[len(bare) :]
