"""Where most of the bytes are: one call site, many small allocations, buffers larger than the data written to them."""

from collections.abc import Iterator

from memlens.model.frames import is_by_address
from memlens.texts import Text, phrase
from memlens.units import format_bytes
from memlens.views.findings.answers import Figure, FigureKind
from memlens.views.findings.profile.case import ProfileCase, is_own
from memlens.views.findings.profile.itself import is_made_by_itself
from memlens.views.findings.writing import Ranked, amount, made, percent

SITE_SHARE = 0.5
NO_SYMBOL_SHARE = 0.5
SMALL_BYTES, SMALL_COUNT, SMALL_SHARE = 64, 100_000, 0.1
OVERSIZED_BYTES, OVERSIZED_SHARE, WRITTEN_SHARE = 64 << 10, 0.05, 0.25


def one_site(case: ProfileCase) -> Iterator[Ranked]:
    """One line has at least half of the profile's first value, of three or more lines.

    A note, as most files have such a line, and the headline names it.
    """
    value = case.info.default_value
    if case.main.negative or case.main.total <= 0:
        return
    found = case.by_line(value, _kind(case))
    # amounts of 0 share nothing
    if (
        found.count < 3
        or found.total <= 0
        or found.groups[0].amount < SITE_SHARE * found.total
        or found.groups[0].is_bare
    ):
        return
    group = found.groups[0]
    sentence = phrase(
        "{line} has {size}, {share} of {whole}.",
        line=group.with_function(), size=group.measured(), share=percent(group.amount, found.total),
        whole=_whole(case),
    )  # fmt: skip
    finding = made(
        "one_site", phrase("One call site"), sentence, group.figure, group.evidence, group.line, is_note=True
    )
    yield Ranked(group.amount / found.total, finding)


def _whole(case: ProfileCase) -> Text:
    """The meaning of the profile's main value, in words."""
    match case.main.meaning, case.main.title.text.removesuffix(" in total"):
        case "total", "Allocated":
            return phrase("all that was allocated")
        case "total", "Allocated (estimated)":
            return phrase("all that was allocated (estimated)")
        case "total", "Copied":
            return phrase("all that was copied")
        case "peak", _:
            return phrase("the peak")
        case "live", _:
            return phrase("what is in use")
        case _:
            return phrase("all of “{value}”", value=case.main.title)


def _kind(case: ProfileCase) -> FigureKind:
    return "live" if case.main.meaning in ("peak", "live", "end") else "value"


def no_counts(case: ProfileCase) -> Text | None:
    """Why the sizes of single allocations are unknown."""
    count = case.number("count", "total", "live")
    if count is None or case.number("bytes", case.info.values[count].meaning) is None:
        return phrase("The profile doesn't count allocations.")
    return None


def no_written(case: ProfileCase) -> Text | None:
    """Why bytes that were never written are unknown."""
    if {"written_bytes", "total_bytes"} <= {value.name for value in case.info.values}:
        return None
    return phrase("The profile doesn't say how much was written to.")


def small_allocations(case: ProfileCase) -> Iterator[Ranked]:
    """A line of the user's code itself makes at least 100,000 allocations, a tenth of all, of at most 64 B on average.

    Of profiles that count allocations and their bytes: all of the run, else those that are live.
    """
    count = case.number("count", "total", "live")
    if count is None:
        return
    meaning = case.info.values[count].meaning
    size = case.number("bytes", meaning)
    if size is None or case.main.negative:
        return
    bytes_of = case.amounts(size)
    for group in case.by_line(count, "count").groups[:2]:
        total = bytes_of.get(group.evidence.of.filter)
        if (
            group.amount < max(SMALL_COUNT, SMALL_SHARE * case.total(count))
            or total is None
            or not is_own(group)
        ):
            continue
        mean = total / group.amount
        if not 0 < mean <= SMALL_BYTES or not is_made_by_itself(case, count, group):
            continue
        sentence = phrase(
            "{line} made {n} allocations of {mean} on average, {share} of all that were ever made. {advice}"
            if meaning == "total"
            else "{line} holds {n} allocations of {mean} on average, {share} of all live ones. {advice}",
            line=group.with_function(), n=group.measured(), mean=f"{mean:.0f} B",
            share=percent(group.amount, case.total(count)),
            advice=phrase(
                "An arena, a pool or a single array of values would avoid the allocator's work and its "
                "overhead for each."
            ),
        )  # fmt: skip
        title = phrase("Many small allocations")
        finding = made("small_allocations", title, sentence, group.figure, group.evidence, group.line)
        yield Ranked(0.6 * group.amount / case.total(count), finding)


def oversized_buffers(case: ProfileCase) -> Iterator[Ranked]:
    """A line of the user's code allocates at least 64 KiB, 5% of all, of which less than a quarter was ever written.

    Few formats count written bytes; bytes written twice count twice, so the true share is even lower.
    """
    named = {value.name: number for number, value in enumerate(case.info.values)}
    written, total = named.get("written_bytes"), named.get("total_bytes")
    if written is None or total is None:
        return
    written_of = case.amounts(written)
    for group in case.by_line(total, "allocated").groups[:5]:
        used = written_of.get(group.evidence.of.filter, 0)
        least = max(OVERSIZED_BYTES, OVERSIZED_SHARE * case.total(total))
        if group.amount < least or used >= WRITTEN_SHARE * group.amount or not is_own(group):
            continue
        query = group.figure.sql.replace(f"value = {total} ", f"value = {written} ")
        figure = Figure(used, "bytes", "value", query if used else "")
        sentence = phrase(
            "{line} allocates {size} and writes only {written} to it ({unwritten} stay untouched): the buffers are "
            "larger than needed.",
            line=group.with_function(), size=group.measured(), written=amount(figure),
            unwritten=format_bytes(group.amount - used),
        )  # fmt: skip
        title = phrase("Oversized buffers")
        finding = made("oversized_buffers", title, sentence, group.figure, group.evidence, group.line)
        yield Ranked(0.8 * group.amount / case.total(total), finding)


def no_symbols(case: ProfileCase) -> Iterator[Ranked]:
    """At least half of the value that the profile is shown by is charged to functions known by address only."""
    value = case.info.default_value
    if case.main.negative or case.main.total <= 0:
        return
    number = case.info.values[value].total
    unnamed = [group for group in case.by_line(value, _kind(case)).groups if is_by_address(group.name)]
    without = sum(group.amount for group in unnamed)
    if without < NO_SYMBOL_SHARE * number:
        return
    figure = Figure(without, case.main.unit, _kind(case), case.unnamed_sql(value))
    binary = unnamed[0].name.partition(" at ")[0]
    # the warning about the lookup says what to do
    is_said = any(warning.code == "no-symbols" for warning in case.info.warnings)
    sentence = phrase(
        "Names are missing: {size} ({share}) is in functions known by address only{whose}.{advice}",
        advice="" if is_said else phrase(" Symbolize the profile where it was recorded, to see lines."),
        size=amount(figure, case.evidence(value)), share=percent(without, number),
        whose="" if binary.startswith("0x") else phrase(", most of them in {binary}", binary=binary),
    )  # fmt: skip
    finding = made("no_symbols", phrase("No symbols"), sentence, figure, case.evidence(value))
    yield Ranked(0.9 * without / number, finding)
