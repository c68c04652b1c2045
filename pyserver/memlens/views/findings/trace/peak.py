"""What holds the peak: by line, by module, by category."""

from collections.abc import Iterator

from memlens.texts import Text, phrase, plural
from memlens.units import format_bytes
from memlens.views.findings.answers import Evidence, Figure
from memlens.views.findings.groups import TopGroup, top_groups
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.trace.lines import known_by_line
from memlens.views.findings.writing import Ranked, amount, linked, made, percent, text_in_sql
from memlens.views.naming.modules import class_of_module
from memlens.views.selection.terms import Term
from memlens.views.tables.groupings import INFERRED
from memlens.views.tables.groups import Branch, Group, groups

LINE_SHARE, MOST_LINES = 0.15, 3
MODULE_SHARE = 0.25
MOST_MODULES, MOST_IN_QUERY, LEAST_GROUPS = 1000, 200, 3
CATEGORY_SHARE = 0.25


def dominant_lines(case: TraceCase) -> Iterator[Ranked]:
    """Lines that hold at least 15% of the peak, three at most.

    Notes, as most files have such lines, and the headline names them. What has no stack has a rule of its own.
    """
    found = known_by_line(case)
    named = [
        group
        for group in found.groups
        if not group.is_bare and group.amount > 0 and group.amount >= LINE_SHARE * found.total
    ]
    for group in named[:MOST_LINES]:
        sentence = phrase(
            "{line} holds {size}, {share} of {whole}{pieces}.",
            line=group.with_function(), size=group.measured(), share=percent(group.amount, found.total),
            whole=case.whole, pieces=in_pieces(group),
        )  # fmt: skip
        finding = made(
            "dominant_line", phrase("Most memory"), sentence, group.figure, group.evidence, group.line,
            inferred=group.inferred, is_note=True,
        )  # fmt: skip
        yield Ranked(group.amount / found.total, finding)


def in_pieces(group: TopGroup) -> Text | str:
    """The number of a group's allocations, if it is informative."""
    if not group.count or group.count == 1:
        return phrase(", in one allocation") if group.count else ""
    if not group.largest:
        return phrase(", in {n} allocations", n=group.count)
    size = format_bytes(group.largest)
    if group.largest * group.count == group.amount:
        return phrase(", in {n} allocations of {size} each", n=group.count, size=size)
    return phrase(", in {n} allocations, the largest {size}", n=group.count, size=size)


def dominant_module(case: TraceCase) -> Iterator[Ranked]:
    """The class of modules that hold the most, with at least a quarter of the peak and something beside them.

    Only where the file names the class: a framework's own modules by their file, others where the profiler, the
    compiler or the function's name has it. A ``forward`` in a file of the user's doesn't say of which class it is.
    """
    rows = groups(case.snapshot, Branch(case.peak, ["module"]), "bytes", 0, MOST_MODULES, descending=True)
    classes: dict[str, list[Group]] = {}
    for row in rows.rows:
        if name := class_of_module(row.name.text):
            classes.setdefault(name, []).append(row)
    sums = {name: sum(row.bytes for row in each) for name, each in classes.items()}
    name = max(sums, key=lambda each: sums[each], default="")
    if not name or rows.groups < LEAST_GROUPS or sums[name] < max(MODULE_SHARE * rows.set_bytes, 1):
        return
    terms = str(Term("module", ":", tuple(f"={row.name.text}" for row in classes[name])))
    evidence = Evidence("liveSet", case.at(case.info.peak_moment, terms), "module")
    query = (
        f"SELECT sum(size_bytes) FROM live_at({case.number}, {case.info.peak_moment}, {text_in_sql(terms)})"
    )
    figure = Figure(sums[name], "bytes", "live", query if len(classes[name]) <= MOST_IN_QUERY else "")
    count = len(classes[name])
    sentence = phrase(
        plural(
            count,
            "Modules of class {name} hold {size}, {share} of {whole}.",
            "Modules of class {name} hold {size}, {share} of {whole}, in {n} places of the model.",
        ),
        name=linked(name, evidence=evidence), size=amount(figure, evidence),
        share=percent(sums[name], rows.set_bytes), whole=case.whole, n=count,
    )  # fmt: skip
    finding = made("dominant_module", phrase("Most memory by module"), sentence, figure, evidence)
    yield Ranked(0.7 * sums[name] / rows.set_bytes, finding)


def no_categories(case: TraceCase) -> Text | None:
    """Why categories are unknown."""
    return None if case.snapshot.timeline.categories else phrase("The file has no categories.")


def dominant_categories(case: TraceCase) -> Iterator[Ranked]:
    """Categories of at least a quarter of the peak, in files that have them or for which they were inferred."""
    if no_categories(case) is not None:
        return
    found = top_groups(case.snapshot, case.peak, "category", 4)
    for group in found.groups if found.total > 0 else ():
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
    """The contents of a category, at the beginning of a sentence."""
    name = group.name.removesuffix(INFERRED)
    what = _CONTENTS.get(name) or Text(name[:1].upper() + name[1:])
    return phrase("{name} (inferred)", name=what) if group.inferred else what
