"""What holds the peak: by line, by module, by category."""

from collections.abc import Iterator

from memlens.texts import Text, phrase
from memlens.units import format_bytes
from memlens.views.findings.groups import TopGroup, top_groups
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.writing import Ranked, linked, made, percent
from memlens.views.tables.groupings import INFERRED

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
        sentence = phrase(
            "{line} holds {size}, {share} of {whole}{pieces}.",
            line=group.with_function(), size=group.measured(), share=percent(group.amount, found.total),
            whole=case.whole, pieces=in_pieces(group),
        )  # fmt: skip
        finding = made(
            "dominant_line", phrase("Most memory"), sentence, group.figure, group.evidence, group.line,
            inferred=group.inferred,
        )  # fmt: skip
        yield Ranked(group.amount / found.total, finding)


def in_pieces(group: TopGroup) -> Text | str:
    """In how many allocations a group's bytes are, if that says something."""
    if not group.count or group.count == 1:
        return phrase(", in one allocation") if group.count else ""
    if not group.largest:
        return phrase(", in {n} allocations", n=group.count)
    size = format_bytes(group.largest)
    if group.largest * group.count == group.amount:
        return phrase(", in {n} allocations of {size} each", n=group.count, size=size)
    return phrase(", in {n} allocations, the largest {size}", n=group.count, size=size)


def dominant_module(case: TraceCase) -> Iterator[Ranked]:
    """The ``torch.nn`` module that holds the most, with at least a quarter of the peak and another one beside it."""
    found = top_groups(case.snapshot, case.peak, "module", 2)
    modules = [group for group in found.groups if "module:none" not in group.evidence.of.filter]
    if len(modules) == 0 or found.count < 3 or modules[0].amount < MODULE_SHARE * found.total:
        return
    group = modules[0]
    sentence = phrase(
        "Module {name} holds {size}, {share} of {whole}.",
        name=group.named(), size=group.measured(), share=percent(group.amount, found.total), whole=case.whole,
    )  # fmt: skip
    title = phrase("Most memory by module")
    finding = made("dominant_module", title, sentence, group.figure, group.evidence, inferred=group.inferred)
    yield Ranked(0.7 * group.amount / found.total, finding)


def dominant_categories(case: TraceCase) -> Iterator[Ranked]:
    """Categories of at least a quarter of the peak, in files that have them or for which they were inferred."""
    if not case.snapshot.timeline.categories:
        return
    found = top_groups(case.snapshot, case.peak, "category", 4)
    for group in found.groups:
        if group.amount < CATEGORY_SHARE * found.total or group.name in ("No category", "unknown"):
            continue
        sentence = phrase(
            "{category} take up {size}, {share} of {whole}.",
            category=linked(_contents(group), evidence=group.evidence), size=group.measured(),
            share=percent(group.amount, found.total), whole=case.whole,
        )  # fmt: skip
        finding = made(
            "dominant_category", phrase("Most memory by category"), sentence, group.figure, group.evidence,
            inferred=group.inferred,
        )  # fmt: skip
        yield Ranked(0.8 * group.amount / found.total, finding)


_CONTENTS = {
    "input": phrase("Inputs"), "activation": phrase("Activations"), "temporary": phrase("Temporaries"),
    "gradient": phrase("Gradients"), "optimizer state": phrase("Optimizer states"), "parameter": phrase("Parameters"),
    "parameter or optimizer state": phrase("Parameters and optimizer states"),
    "autograd detail": phrase("Autograd's own tensors"),
}  # fmt: skip


def _contents(group: TopGroup) -> Text:
    """What is of a category, at the beginning of a sentence."""
    name = group.name.removesuffix(INFERRED)
    what = _CONTENTS.get(name) or Text(name[0].upper() + name[1:])
    return phrase("{name} (inferred)", name=what) if group.inferred else what
