"""V8's sampling heap profiles; ``test_replays.py`` holds a recording to an independent reading."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.profile_reading import FIXTURES, damage, load, value

from memlens.formats.errors import DamagedSnapshotError

FILE = FIXTURES / "words.heapprofile"


def _call(
    name: str, line: int, *children: dict[str, Any], size: float = 0, url: str = "/app/a.js"
) -> dict[str, Any]:
    frame = {"functionName": name, "scriptId": "1", "url": url, "lineNumber": line, "columnNumber": 0}
    return {"callFrame": frame, "selfSize": size, "id": 10 * line + len(name), "children": list(children)}


def _load(tmp_path: Path, head: dict[str, Any], **more: Any) -> Any:
    path = tmp_path / "x.heapprofile"
    path.write_text(json.dumps({"head": head, **more}), "utf-8")
    return load(path, only_folders=False)


def test_stacks_are_those_of_the_tree(tmp_path: Path) -> None:
    grown, other = _call("grow", 4, size=300), _call("", 8, size=5, url="file:///app/b%20c.js")
    found = _load(tmp_path, _call("(root)", -1, _call("main", 0, grown, other)))
    parents, frames = found.tree
    stacks = []
    for node in found.stacks.tolist():
        stack, at = [], node
        while at:
            stack.append(found.frames.frames[frames[at]])
            at = parents[at]
        stacks.append([(frame.function, frame.file, frame.line) for frame in stack])
    assert stacks == [
        [("grow", "/app/a.js", 5), ("main", "/app/a.js", 1)],
        [("(anonymous)", "/app/b c.js", 9), ("main", "/app/a.js", 1)],
    ]
    # without samples there is nothing to count
    assert [kind.name for kind in found.value_types] == ["selfSize"]
    assert (value(found, "selfSize"), [each.code for each in found.warnings]) == (305, ["sampled"])
    assert [each.code for each in _load(tmp_path, _call("(root)", -1)).warnings] == ["no-samples"]


def test_rules_about_objects_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V8 has dumps as well, whose rules ask for objects that a profile hasn't."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    _load(tmp_path, _call("(root)", -1, _call("main", 0, _call("(V8 API)", -1, size=3 << 20), size=1 << 20)))
    said = memlens("findings", tmp_path / "x.heapprofile").stdout
    assert "Held by a.js:1 main() 4 MiB (100%)." in said


def test_a_source_map_leads_to_the_original_line(tmp_path: Path) -> None:
    script = tmp_path / "bundle.js"
    script.write_text("function a(){}\n//# sourceMappingURL=bundle.js.map\n", "utf-8")
    # column 0 of line 1 is line 3 of the source
    mapped = {"version": 3, "sources": ["words.ts"], "names": [], "mappings": "AAEA"}
    (tmp_path / "bundle.js.map").write_text(json.dumps(mapped), "utf-8")
    found = _load(tmp_path, _call("(root)", -1, _call("a", 0, size=10, url=script.as_uri())))
    (frame,) = found.frames.frames
    assert (Path(frame.file).name, frame.line) == ("words.ts", 3)


@pytest.mark.parametrize(
    "text",
    [
        '{"head":{"callFrame":{},"selfSize":-1}}',
        '{"head":{"callFrame":{},"selfSize":1e300}}',
        '{"head":{"callFrame":{"lineNumber":-2}}}',
        '{"head":{"callFrame":{"functionName":7}}}',
        '{"head":{"selfSize":0}}',
        '{"head":{"callFrame":{},"children":[' + '{"callFrame":{},"children":[' * 50_000,
        '{"head":{"callFrame":{},"selfSize":4e18,"children":[{"callFrame":{},"selfSize":4e18}]}}',
    ],
    ids=range(7),
)
def test_impossible_profiles_are_damaged(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.heapprofile"
    path.write_text(text, "utf-8")
    with pytest.raises(DamagedSnapshotError):
        load(path)


def test_damage(tmp_path: Path) -> None:
    errors, read = damage(FILE.read_bytes(), tmp_path / "x.heapprofile", 60, 7)
    assert errors > 25
    assert errors + read == 60
