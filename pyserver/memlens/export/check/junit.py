"""Limits as JUnit's XML, a test case for each, which every CI system shows."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from memlens.units import plain
from memlens.views.check.answers import CheckedFile, LimitResult

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(files: Sequence[CheckedFile]) -> bytes:
    """The XML of all files, a suite for each."""
    root = ET.Element("testsuites", name="memlens check")
    for file in files:
        suite = ET.SubElement(root, "testsuite", name=_text(file.file))
        for each in file.results:
            _add_case(suite, file, each)
        if file.problem is not None:
            case = ET.SubElement(suite, "testcase", classname=_text(file.file), name="open the file")
            ET.SubElement(case, "error", message=_text(file.problem.text), type="unchecked")
        for element in (suite, root):
            for attribute, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
                element.set(attribute, str(len(list(element.iter(tag)))))
    ET.indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "utf-8") + b"\n"


def _add_case(suite: ET.Element, file: CheckedFile, result: LimitResult) -> None:
    device = "" if result.device is None else f" (device {result.device})"
    case = ET.SubElement(
        suite, "testcase", classname=_text(file.file), name=_text(f"{result.written}{device}")
    )
    if result.status == "kept":
        return
    tag = "failure" if result.status == "exceeded" else "error"
    problem = ET.SubElement(case, tag, message=_text(result.text.text), type=result.status)
    # one line for each, in which a name can't end the line
    problem.text = "\n".join(
        _text(each) for each in (result.text.text, *(f"{line.shown}  {line.place}" for line in result.lines))
    )


def _text(text: str) -> str:
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", plain(text))
