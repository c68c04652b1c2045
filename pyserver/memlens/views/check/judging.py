"""Whether limits are kept: each is exceeded, or kept, or can't be checked, and says why."""

from collections.abc import Callable, Iterator, Sequence

from memlens.errors import BadRequestError, MemlensError
from memlens.model.info import TimelineInfo
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, in_a_row, phrase, plural
from memlens.views.check.answers import Limit, LimitLine, LimitResult, Measured, shown_amount
from memlens.views.check.baseline import Baseline, BaselineFigure, check_same_kind, lines_in
from memlens.views.check.lines import changed, lines_of, of_rows
from memlens.views.check.measuring import lacks, measured, of_query, recorded_devices, without_full_stop
from memlens.views.findings.ahead import MOST_FINDINGS, findings
from memlens.views.findings.answers import SnapshotFinding
from memlens.views.findings.contents import finding_without_contents
from memlens.views.findings.table import cannot_say, every_rule, rules_for
from memlens.views.sql.pages import SqlAnswer

LinesOf = Callable[[Measured, BaselineFigure | None, float], list[LimitLine]]
"""The lines of what is measured, with what the base has of it, and the most that is allowed."""


def judged(
    snapshot: Snapshot, limits: Sequence[Limit], base: Baseline | None, most: int
) -> list[LimitResult]:
    """The results of limits, except for those of queries, with at most ``most`` lines each."""
    return [each for limit in limits for each in _of_limit(snapshot, limit, base, most)]


def _of_limit(snapshot: Snapshot, limit: Limit, base: Baseline | None, most: int) -> list[LimitResult]:
    try:
        if limit.name == "no-finding":
            return list(_of_rule(snapshot, limit))
        found = measured(snapshot, limit)
        if base is not None:
            check_same_kind(base, snapshot.info)
    except BadRequestError as error:
        return [unchecked(limit, error)]

    def lines(each: Measured, before: BaselineFigure | None, _allowed: float) -> list[LimitLine]:
        rows = lines_of(snapshot, limit, each.device)
        grown = [] if before is None else changed(lines_in(before), rows)
        # what grew is of no help where the base already exceeds the limit
        return (grown or rows.rows)[:most]

    return [_compared(limit, each, base, lines) for each in found]


def of_query_rows(limit: Limit, answer: SqlAnswer, base: Baseline | None, most: int) -> LimitResult:
    """The result of a query's limit."""
    try:
        found, order = of_query(answer)
    except BadRequestError as error:
        return unchecked(limit, error)
    return _compared(
        limit, found, base, lambda _each, _before, allowed: of_rows(answer, order, found.unit, allowed)[:most]
    )


def unchecked(limit: Limit, error: MemlensError, device: int | None = None) -> LimitResult:
    """The result of a limit that can't be checked, with the reason."""
    return LimitResult(
        limit.name, limit.of, limit.written, "unchecked", Text(error.problem().sentence), device
    )


def _compared(limit: Limit, found: Measured, base: Baseline | None, lines: LinesOf) -> LimitResult:
    figure = None if base is None else base.figure(limit, found.device)
    if limit.bound.relative and figure is None:
        return unchecked(limit, _no_base(limit, found, base), found.device)
    before = None if figure is None else figure.amount
    allowed = limit.bound.most(0 if before is None else before)
    is_exceeded = found.amount > allowed
    if not is_exceeded and found.lacks is not None:
        said = phrase(
            "{what} is {amount} or more, so it isn't known whether that is too much",
            what=found.what, amount=found.shown,
        )  # fmt: skip
        return unchecked(limit, BadRequestError(said, advice=found.lacks), found.device)
    return LimitResult(
        limit.name, limit.of, limit.written, "exceeded" if is_exceeded else "kept",
        _sentence(found, base, before, allowed, is_exceeded=is_exceeded), found.device, found.unit, found.amount,
        allowed, before, lines(found, figure, allowed) if is_exceeded else [],
    )  # fmt: skip


def _no_base(limit: Limit, found: Measured, base: Baseline | None) -> BadRequestError:
    if base is None:
        return BadRequestError(
            phrase(
                "{bound} needs a base to compare with",
                bound=limit.bound.text,
            ),
            advice=phrase("Name one with --against."),
        )
    return BadRequestError(
        phrase("{base} doesn't have what this is compared with: {what}", base=base.name, what=found.what),
        advice=phrase(
            "Make it again with the same limits (memlens baseline), from a file that was recorded in the same way."
        ),
    )


def _sentence(
    found: Measured, base: Baseline | None, before: float | None, allowed: float, *, is_exceeded: bool
) -> Text:
    if base is None or before is None:
        change = Text("")
    elif found.amount == before:
        change = phrase(", as in {base}", base=base.name)
    else:
        share = f", {(found.amount - before) / before:+.1%}" if before else ""
        change = phrase(
            "; {base} has {before} ({difference}{share})",
            before=shown_amount(before, found.unit), base=base.name,
            difference=f"{'+' if found.amount > before else '-'}{shown_amount(abs(found.amount - before), found.unit)}",
            share=share,
        )  # fmt: skip
    if not is_exceeded:
        return phrase("{what} is {amount}{change}.", what=found.what, amount=found.shown, change=change)
    return phrase(
        "{what} is {amount}{change}; at most {allowed} is allowed.",
        what=found.what, amount=found.shown, change=change, allowed=shown_amount(allowed, found.unit),
    )  # fmt: skip


def _of_rule(snapshot: Snapshot, limit: Limit) -> Iterator[LimitResult]:
    info = snapshot.info
    if limit.of not in {name for rule in rules_for(info) for name in rule.names}:
        raise _not_a_rule(limit.of)
    devices: list[int | None] = (
        [each.device for each in recorded_devices(snapshot)] if isinstance(info, TimelineInfo) else [None]
    )
    for device in devices:
        answer = findings(snapshot, device, MOST_FINDINGS).findings
        found = [each for each in answer if limit.of in {name.rule for name in each.names}]
        if found:
            yield _forbidden(limit, found, device)
            continue
        reason = cannot_say(snapshot, device, limit.of) or lacks(snapshot)
        if reason is not None:
            yield unchecked(limit, BadRequestError(without_full_stop(reason)), device)
            continue
        said = phrase("There is no finding {rule}.", rule=limit.of)
        yield LimitResult(limit.name, limit.of, limit.written, "kept", said, device, "count", 0, 0)


def _not_a_rule(name: str) -> BadRequestError:
    if name in every_rule():
        return BadRequestError(
            phrase("The rule {name} is for other files than this one", name=name),
            advice=phrase("docs/findings.md lists the rules for each kind of file."),
        )
    return BadRequestError(phrase("There is no rule {name}", name=name))


def _forbidden(limit: Limit, found: list[SnapshotFinding], device: int | None) -> LimitResult:
    shown = [finding_without_contents(each) for each in found]
    lines = [
        LimitLine(each.line.file, each.line.line, each.line.function, each.figure.amount, each.figure.unit)
        for each in shown
        if each.line is not None
    ]
    said = phrase(
        plural(len(found), "{n} finding: {findings}", "{n} findings: {findings}"),
        n=len(found), findings=in_a_row([each.text for each in shown], " "),
    )  # fmt: skip
    return LimitResult(
        limit.name, limit.of, limit.written, "exceeded", said, device, "count", len(found), 0, None, lines
    )
