"""A report of a snapshot as one HTML file for any browser, without network access or scripts.

Its content security policy allows only its own style sheet, by the sheet's hash. Everything that comes from the file is
escaped.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import assert_never

from msgspec.structs import replace

from memlens.errors import BadRequestError
from memlens.export.markdown import place_of
from memlens.export.pictures.flame import flame
from memlens.export.pictures.svg import Svg, escaped, style
from memlens.export.pictures.timeline import Part, timeline
from memlens.export.summary import Row, Summary, Table, set_of, summary, unit_of
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.snapshot import Snapshot
from memlens.views.findings.answers import SnapshotFinding, TextPart, inferred_mark, pieces
from memlens.views.flame.first import opening_options
from memlens.views.flame.graph import tree_of
from memlens.views.heap.dominators.flame import drawn_tree

_SHEET = (
    ":root{color-scheme:light dark;--paper:#fff;--ink:#1f1f1f;--faint:#5f5f5f;--line:#d9d9d9;--soft:#f3f3f3;"
    "--bar:#9cc3ea}"
    "@media(prefers-color-scheme:dark){:root{--paper:#1f1f1f;--ink:#e4e4e4;--faint:#a8a8a8;--line:#3d3d3d;"
    "--soft:#2a2a2a;--bar:#2f5f8f}}"
    "body{margin:0;background:var(--paper);color:var(--ink);font:14px/1.5 system-ui,'Segoe UI',sans-serif}"
    "main{max-width:1180px;margin:0 auto;padding:24px 16px 48px}"
    "h1{font-size:22px;margin:0;overflow-wrap:anywhere}h2{font-size:17px;margin:32px 0 8px}"
    "p{margin:8px 0;overflow-wrap:anywhere}.kind,.more,footer{color:var(--faint)}"
    ".headline{font-size:17px;margin:16px 0;padding:12px 16px;background:var(--soft);border-left:4px solid var(--bar)}"
    ".facts{display:flex;flex-wrap:wrap;gap:8px 32px;margin:16px 0}.facts div{min-width:120px}"
    ".facts dt{color:var(--faint);font-size:12px}.facts dd{margin:0;font-size:16px}"
    "ol{padding-left:24px}li{margin:8px 0;overflow-wrap:anywhere}"
    "code{font:12px ui-monospace,Consolas,monospace;overflow-wrap:anywhere}"
    ".tag{color:var(--faint);font-size:12px}.scroll{overflow-x:auto}svg{display:block;max-width:100%;min-width:760px;height:auto}"
    "table{border-collapse:collapse;width:100%}th,td{padding:4px 8px;text-align:right;vertical-align:top;"
    "border-bottom:1px solid var(--line);white-space:nowrap}"
    "th{font-weight:600}th.name,td.name{text-align:left;white-space:normal;overflow-wrap:anywhere}"
    "td.name small{display:block;color:var(--faint);overflow-wrap:anywhere}"
    "@media print{.scroll{overflow:visible}svg{min-width:0}}"
)
_PART_SHEET = (
    ".memlens .name{text-align:left}.memlens .scroll{overflow-x:auto}.memlens img{display:block;max-width:100%}"
    ".memlens .name small{display:block;opacity:.7}.memlens p,.memlens li{overflow-wrap:anywhere}"
)
_FINDINGS_OF_EXCERPT = 5
_ROWS_OF_EXCERPT = 10


def report(
    snapshot: Snapshot, device: int | None = None, compared: Table | None = None, *, values: bool = False
) -> str:
    """The whole page, with a table of what is compared with another snapshot; texts of strings only with ``values``.

    Raises :class:`memlens.errors.BadRequestError` for a device that the snapshot doesn't have.
    """
    page = summary(snapshot, device, compared=compared, values=values)
    pictures = list(_pictures(snapshot, device))
    colours = {colour for picture in pictures for colour in picture.colours}
    sheet = _SHEET + style(colours, "both")
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = "\n".join(_body(page, pictures))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(page.title)}: memory report</title>\n<style>{sheet}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def excerpt(snapshot: Snapshot, *, values: bool = False) -> str:
    """The beginning of the page as a part of another one, such as a notebook: without scripts, and without a style that
    applies to anything else.
    """
    page = summary(snapshot, None, _FINDINGS_OF_EXCERPT, values=values)
    pictures = [_as_image(each) for each in islice(_pictures(snapshot, None), 1)]
    tables = [replace(each, rows=each.rows[:_ROWS_OF_EXCERPT]) for each in page.tables[:1]]
    first = (f"<p><strong>{escaped(page.title)}</strong>: {escaped(page.kind)}</p>", _headline(page))
    return as_part([*first, *_findings(page), *pictures, *(grid(each) for each in tables)])


def as_part(parts: Iterable[str]) -> str:
    """Markup as a part of another page."""
    return f'<div class="memlens"><style>{_PART_SHEET}</style>{"".join(parts)}</div>'


def _as_image(picture: Svg) -> str:
    """A picture whose names and styles are its own, wherever it is."""
    data = base64.b64encode(picture.document("both").encode()).decode()
    return f'<img alt="{escaped(picture.label)}" src="data:image/svg+xml;base64,{data}">'


def _pictures(snapshot: Snapshot, device: int | None) -> Iterator[Svg]:
    info, of = snapshot.info, set_of(snapshot.info, device)
    match info:
        case TimelineInfo():
            yield from _over_time(snapshot, info, info.default_device if device is None else device)
        case ProfileInfo():
            pass
        case GraphInfo():
            yield flame(drawn_tree(snapshot), "Dominators by type: retained bytes")
        case _:
            assert_never(info)
    if of is None:
        return
    words, _ = unit_of(info)
    tree = tree_of(snapshot, of, "bytes", opening_options(info))
    if tree.total > 0:
        yield flame(tree, f"Flame graph: {words}")


def _over_time(snapshot: Snapshot, info: TimelineInfo, device: int) -> Iterator[Svg]:
    try:
        yield timeline(snapshot, Part(device))
    except BadRequestError:
        if all(each.device != device for each in info.devices):
            raise
        # nothing happened on the device, so there is no picture over time


def _body(page: Summary, pictures: list[Svg]) -> Iterator[str]:
    yield f'<h1>{escaped(page.title)}</h1><p class="kind">Memory report by Memlens: {escaped(page.kind)}</p>'
    if page.contents:
        yield f'<p class="kind">{escaped(page.contents)}</p>'
    yield _headline(page)
    facts = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(text)}</dd></div>" for name, text in page.facts
    )
    yield f'<dl class="facts">{facts}</dl>'
    yield from _findings(page, "<h2>Findings</h2>")
    if pictures:
        yield "<h2>Pictures</h2>"
        yield from (f'<div class="scroll">{picture.inline()}</div>' for picture in pictures)
    for table in page.tables:
        yield from _table(table)
    if page.headline.warnings:
        warnings = "".join(f"<li>{escaped(warning.message)}</li>" for warning in page.headline.warnings)
        yield f"<h2>What the file lacks</h2><ul>{warnings}</ul>"
    yield "<footer><p>This page holds all of its data, loads nothing and runs nothing.</p></footer>"


def _headline(page: Summary) -> str:
    sentences = [_sentence(each) for each in page.headline.sentences]
    first, rest = sentences[0] if sentences else "", " ".join(sentences[1:])
    return f'<p class="headline"><strong>{first}</strong> {rest}</p>'


def _findings(page: Summary, heading: str = "") -> Iterator[str]:
    if page.findings:
        yield f"{heading}<ol>{''.join(map(_finding, page.findings))}</ol>"


def _finding(finding: SnapshotFinding) -> str:
    mark = inferred_mark(finding)
    inferred = f' <span class="tag">{mark}</span>' if mark else ""
    line = "" if finding.line is None else f"<br><code>{escaped(place_of(finding.line))}</code>"
    return (
        f"<li><strong>{escaped(finding.title)}</strong>{inferred}: {_sentence(finding.sentence)}{line}</li>"
    )


def _sentence(sentence: TextPart) -> str:
    """A sentence in which lines of source are code."""
    return "".join(
        f"<code>{escaped(part.text)}</code>"
        if part.line is not None and part.figure is None
        else escaped(part.text)
        for part in pieces(sentence)
    )


def _table(table: Table) -> Iterator[str]:
    yield f"<h2>{escaped(table.title)}</h2>{grid(table)}"
    if table.more:
        yield f'<p class="more">{escaped(table.more)}</p>'


def grid(table: Table) -> str:
    """The columns and rows of a table."""
    head = "".join(
        f'<th scope="col"{_name_class(table, number)}>{escaped(column)}</th>'
        for number, column in enumerate(table.columns)
    )
    rows = "".join(f"<tr>{''.join(_cells(table, row))}</tr>" for row in table.rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cells(table: Table, row: Row) -> Iterator[str]:
    for number, cell in enumerate(row.cells):
        detail = _detail(row.detail) if number == table.named else ""
        yield f"<td{_name_class(table, number)}>{escaped(cell)}{detail}</td>"


def _name_class(table: Table, column: int) -> str:
    return ' class="name"' if column == table.named else ""


def _detail(detail: str) -> str:
    return f"<small>{escaped(detail)}</small>" if detail else ""
