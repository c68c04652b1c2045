"""Exceeded limits as SARIF 2.1.0, which GitHub and others show at the lines of a change.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/sarif-v2.1.0-os.html. A result has the line that is to be
shown, and GitHub shows the first place of a result alone; so there is a result for each line. GitHub refuses results
without a place: those of no line have the snapshot's.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

import msgspec

from memlens.export.check.places import uri_of
from memlens.json_text import escaped
from memlens.project import REPOSITORY
from memlens.units import plain, shortened
from memlens.views.check.answers import CheckedFile, LimitLine, LimitName, LimitResult

RULES: dict[LimitName, str] = {
    "max-peak": "More memory is live at the peak than is allowed",
    "max-leaked": "More memory is live at the end than is allowed",
    "max-growth-per-step": "Lines hold more from step to step than is allowed",
    "max-retained": "Objects retain more than is allowed",
    "max-sql": "A query has a larger value than is allowed",
    "no-finding": "There is a finding that is not allowed",
}
_LONGEST = 1_000
_PLACEHOLDER = re.compile(r"\{(?=\d+\})")
_LINK = re.compile(r"\](?=\()")


def sarif(files: Sequence[CheckedFile], folder: Path, version: str) -> bytes:
    """The log of one run, for a project in a folder."""
    names = list(RULES)
    notifications = list(_notifications(files))
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "Memlens",
                        "version": version,
                        "informationUri": REPOSITORY,
                        "rules": [
                            {
                                "id": name,
                                "shortDescription": {"text": text},
                                "helpUri": f"{REPOSITORY}/blob/main/docs/check.md",
                                "defaultConfiguration": {"level": "error"},
                            }
                            for name, text in RULES.items()
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not notifications,
                        "toolExecutionNotifications": notifications,
                    }
                ],
                "results": [
                    row
                    for file in files
                    for each in file.results
                    if each.status == "exceeded"
                    for row in _results(file, each, names.index(each.limit), folder)
                ],
            }
        ],
    }
    return msgspec.json.format(escaped(msgspec.json.encode(log).decode()).encode(), indent=1) + b"\n"


def _results(file: CheckedFile, result: LimitResult, rule: int, folder: Path) -> Iterator[dict[str, Any]]:
    said = f"{result.written}: {result.text} ({PurePath(file.file).name})"
    places = [(line, _location(line, folder)) for line in result.lines]
    known = [(line, place) for line, place in places if place is not None]
    for line, place in known:
        yield _result(result, rule, f"{line.shown} in {line.place}. {said}", place)
    if not known:
        snapshot = {
            "artifactLocation": _artifact(uri_of(file.file, folder) or quote(PurePath(file.file).name))
        }
        yield _result(result, rule, said, {"physicalLocation": snapshot})


def _result(result: LimitResult, rule: int, said: str, location: dict[str, Any]) -> dict[str, Any]:
    return {
        "ruleId": result.limit,
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": _message(said)},
        "locations": [location],
    }


def _location(line: LimitLine, folder: Path) -> dict[str, Any] | None:
    uri = uri_of(line.file, folder)
    if uri is None:
        return None
    physical: dict[str, Any] = {"artifactLocation": _artifact(uri)}
    if line.line > 0:
        physical["region"] = {"startLine": line.line}
    location: dict[str, Any] = {"physicalLocation": physical}
    if line.function:
        location["logicalLocations"] = [
            {"name": plain(shortened(line.function, _LONGEST)), "kind": "function"}
        ]
    return location


def _artifact(uri: str) -> dict[str, str]:
    return {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": "%SRCROOT%"}


def _message(text: str) -> str:
    """A plain text, in which ``[a](b)`` would be a link and ``{0}`` an argument."""
    return _PLACEHOLDER.sub("{ ", _LINK.sub("] ", plain(shortened(text, _LONGEST))))


def _notifications(files: Sequence[CheckedFile]) -> Iterator[dict[str, Any]]:
    for file in files:
        problems = [each for each in file.results if each.status == "unchecked"]
        for each in problems:
            yield {
                "level": "error",
                "message": {"text": _message(f"{file.file}: {each.written}: {each.text}")},
            }
        if file.problem is not None:
            yield {"level": "error", "message": {"text": _message(f"{file.file}: {file.problem}")}}
